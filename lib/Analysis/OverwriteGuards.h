//===- OverwriteGuards.h - When arguments may be overwritten ---------------===//
//
// An op that overwrites an argument must not come before a recomputation that reads it. Let the
// *tail* be what runs only for the overwritten arguments: the overwriting ops, what depends on
// them, and what nothing else reads. Then it is enough that
//
//   - no op of the tail runs twice, nor an op whose result the tail reads or the step returns;
//   - an op that overwrites A runs after every op outside of the tail that depends on A.
//
// For then only ops of the tail are left once A is overwritten, and what they read is never
// recomputed. An optimizer's state, which nothing but the tail reads, may be overwritten at any
// time.
//
// Example: y = f(w, x); g = df(w, y); m' = a m + g over m; w' = w - m' over w. Tail: m', w'. Only
// w' waits, for df; g is kept.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_ANALYSIS_OVERWRITEGUARDS_H
#define LLMMEM_LIB_ANALYSIS_OVERWRITEGUARDS_H

#include "llmmem/Planning/Model/Problem.h"
#include "llvm/ADT/ArrayRef.h"
#include <utility>
#include <vector>

namespace llmmem {

struct Overwrite {
  planning::OpIndex op;
  planning::ValueIndex argument;
};

struct OverwriteGuards {
  std::vector<planning::OpIndex> once;                                // may not run again
  std::vector<std::pair<planning::OpIndex, planning::OpIndex>> order; // (later, earlier)
};

/// `problem` lists ops in an order in which they can run, and has no order tokens for overwrites
/// yet.
OverwriteGuards guardOverwrites(const planning::Problem &problem,
                                llvm::ArrayRef<Overwrite> overwrites);

} // namespace llmmem

#endif // LLMMEM_LIB_ANALYSIS_OVERWRITEGUARDS_H
