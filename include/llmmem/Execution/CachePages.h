//===- CachePages.h - Pages of caches for sequences ------------------------===//
//
// Gives the pages of caches to sequences as they grow (Kwon et al. 2023, "PagedAttention"): no page
// before a token needs it, so that what a sequence wastes is less than a page. All caches of a step
// have as many pages and one table. Example: 3 tokens in pages of 2 hold 2 pages, of which one row
// is wasted.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_CACHEPAGES_H
#define LLMMEM_EXECUTION_CACHEPAGES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace llmmem {

/// Rows of a cache, of all sequences together.
struct CacheUse {
  int64_t reserved = 0; ///< that the cache has
  int64_t used = 0;     ///< that hold a token
  int64_t wasted = 0;   ///< that are given to a sequence and hold none
};

class CachePages {
public:
  /// `pages` of `page` tokens each, for `batch` sequences of at most `most` pages.
  CachePages(int64_t pages, int64_t page, int64_t batch, int64_t most);

  /// Gives `sequence` the pages for so many tokens. Fails where there are none left.
  llvm::Error reach(int64_t sequence, int64_t tokens);
  /// The pages of each sequence in turn, -1 where it has none: [batch, most].
  llvm::ArrayRef<int32_t> table() const { return numbers; }
  CacheUse use() const;

private:
  int64_t pages, page, most, next = 0;
  std::vector<int32_t> numbers;
  std::vector<int64_t> tokensOf, pagesOf;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_CACHEPAGES_H
