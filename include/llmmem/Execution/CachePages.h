//===- CachePages.h - Pages of caches for sequences ------------------------===//
//
// Gives the pages of caches to sequences as they grow (Kwon et al. 2023, "PagedAttention"). A page
// is given only when a token needs it, so a sequence wastes less than a page. All caches of a step
// have the same number of pages and share one table. Example: 3 tokens in pages of 2 hold 2 pages,
// and one row is wasted.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_CACHEPAGES_H
#define LLMMEM_EXECUTION_CACHEPAGES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace llmmem {

/// Counts the rows of a cache, over all sequences.
struct CacheUse {
  int64_t reserved = 0; ///< Rows that the cache has.
  int64_t used = 0;     ///< Rows that hold a token.
  int64_t wasted = 0;   ///< Rows that belong to a sequence and hold no token.
};

class CachePages {
public:
  /// Manages `pages` of `page` tokens each, for `batch` sequences of at most `most` pages.
  CachePages(int64_t pages, int64_t page, int64_t batch, int64_t most);

  /// Gives `sequence` the pages for this number of tokens. Fails where none are left.
  llvm::Error reach(int64_t sequence, int64_t tokens);
  /// Returns the pages of each sequence in order, -1 where it has none: [batch, most].
  llvm::ArrayRef<int32_t> table() const { return numbers; }
  CacheUse use() const;

private:
  int64_t pages, page, most, next = 0;
  std::vector<int32_t> numbers;
  std::vector<int64_t> tokensOf, pagesOf;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_CACHEPAGES_H
