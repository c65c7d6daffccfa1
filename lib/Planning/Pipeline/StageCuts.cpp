//===- StageCuts.cpp - Where a model is cut into the stages of a pipeline -------===//

#include "llmmem/Planning/Pipeline/StageCuts.h"
#include <algorithm>
#include <tuple>

using namespace llmmem::planning;

namespace {
/// The most expensive and the largest part of the blocks before some block, cut into some parts.
struct Cut {
  int64_t excess = INT64_MAX, ns = INT64_MAX, bytes = INT64_MAX;
  int64_t lastFirst = -1; // the first block of the last part

  bool isBetterThan(const Cut &other) const {
    return std::tie(excess, ns, bytes) < std::tie(other.excess, other.ns, other.bytes);
  }
};
} // namespace

std::vector<int64_t> llmmem::planning::cutStages(llvm::ArrayRef<std::vector<BlockSize>> blocks,
                                                 llvm::ArrayRef<int64_t> memory) {
  const int64_t parts = static_cast<int64_t>(blocks.size());
  const int64_t count = parts > 0 ? static_cast<int64_t>(blocks.front().size()) : 0;
  if (parts < 1 || count < parts)
    return {};
  // cuts[k][n] is the best cut of the first n blocks into k parts.
  std::vector<std::vector<Cut>> cuts(parts + 1, std::vector<Cut>(count + 1));
  cuts[0][0] = {0, 0, 0, -1};
  for (int64_t k = 1; k <= parts; ++k)
    for (int64_t n = k; n <= count - (parts - k); ++n) {
      BlockSize last;
      for (int64_t first = n - 1; first >= k - 1; --first) {
        last.ns += blocks[k - 1][first].ns;
        last.bytes += blocks[k - 1][first].bytes;
        const Cut &before = cuts[k - 1][first];
        if (before.ns == INT64_MAX)
          continue;
        const int64_t excess = std::max<int64_t>(0, last.bytes - memory[k - 1]);
        Cut cut{std::max(before.excess, excess), std::max(before.ns, last.ns),
                std::max(before.bytes, last.bytes), first};
        if (cut.isBetterThan(cuts[k][n]))
          cuts[k][n] = cut;
      }
    }
  std::vector<int64_t> firsts(parts);
  for (int64_t k = parts, n = count; k > 0; --k)
    n = firsts[k - 1] = cuts[k][n].lastFirst;
  return firsts;
}
