//===- RelativePositions.h - Ranges of distances that share a bias --------===//
//
// This is Raffel et al. 2020, section 2.1, with the rounding of the public implementation. Of n
// distances from a query, those below e = n' / 2 of the n' buckets of a side have a bucket each,
// and a distance x from there on has bucket
//
//   e + floor(log(x / e) / log(max_distance / e) (n' - e)), at most n' - 1,
//
// with each operation in f32. Two-sided attention has half of the buckets for keys up to the query
// and half for later keys. One-sided attention has all of them for the former, and the latter are
// in the bucket of distance 0.
//
// Example: with 8 buckets up to a distance of 16, two-sided, and 12 queries and keys, the distances
// of bucket 2 are -5 to -2, [-5, -1) as begin and end.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_RELATIVEPOSITIONS_H
#define LLMMEM_DIALECT_RELATIVEPOSITIONS_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace llmmem::llm {

struct RelativePositions {
  int64_t buckets = 0; ///< Even where `bidirectional`.
  int64_t maxDistance = 0;
  bool bidirectional = false;
  int64_t queries = 0, keys = 0;

  /// Returns the number of distances between a query and a key.
  int64_t distances() const { return queries + keys - 1; }
  /// `distance` is the key's position less the query's.
  int64_t bucketOf(int64_t distance) const;

  /// Describes a range of distances from `begin` up to but excluding `end`, counted from the least,
  /// 1 - queries.
  struct Range {
    int64_t begin = 0, end = 0;
  };
  /// Returns the range of each bucket, which is empty where no distance is in it.
  llvm::SmallVector<Range> ranges() const;
};

} // namespace llmmem::llm

#endif // LLMMEM_DIALECT_RELATIVEPOSITIONS_H
