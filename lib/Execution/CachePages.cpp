//===- CachePages.cpp - Pages of caches for sequences ----------------------===//

#include "llmmem/Execution/CachePages.h"

using namespace llmmem;

CachePages::CachePages(int64_t pages, int64_t page, int64_t batch, int64_t most)
    : pages(pages), page(page), most(most), numbers(batch * most, -1), tokensOf(batch),
      pagesOf(batch) {}

llvm::Error CachePages::reach(int64_t sequence, int64_t tokens) {
  while (pagesOf[sequence] * page < tokens) {
    if (next == pages)
      return llvm::createStringError(
          "all " + llvm::Twine(pages) + " pages of " + llvm::Twine(page) +
          " tokens are given, and sequence " + llvm::Twine(sequence) +
          " needs one more; import with more --pages, or give shorter prompts");
    numbers[sequence * most + pagesOf[sequence]++] = static_cast<int32_t>(next++);
  }
  tokensOf[sequence] = tokens;
  return llvm::Error::success();
}

CacheUse CachePages::use() const {
  CacheUse use{pages * page, 0, next * page};
  for (int64_t tokens : tokensOf)
    use.used += tokens;
  use.wasted -= use.used;
  return use;
}
