//===- ChooseToken.cpp - A token from its logits ----------------------------===//

#include "llmmem/Execution/ChooseToken.h"
#include "llmmem/Runtime/Parallel.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <numeric>
#include <vector>

using namespace llmmem;

/// Returns the tokens that may be chosen: all in order, or the most likely ones, most likely first.
static std::vector<int32_t> candidates(llvm::ArrayRef<double> logits, const Sampling &sampling) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  bool isCut = sampling.topK > 0 && sampling.topK < static_cast<int64_t>(ids.size());
  if (!isCut && sampling.topP >= 1.0)
    return ids;
  auto likelier = [&](int32_t a, int32_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  };
  size_t count = isCut ? sampling.topK : ids.size();
  std::partial_sort(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(count), ids.end(), likelier);
  ids.resize(count);
  return ids;
}

/// Calls `body` with 0 to count - 1, on the threads that run steps.
static void forParts(int64_t count, llvm::function_ref<void(int64_t)> body) {
  constexpr int64_t kPart = 2048; // About 10 us.
  struct Parts {
    int64_t count;
    llvm::function_ref<void(int64_t)> body;
  } parts{count, body};
  llmmem_parallel_for((count + kPart - 1) / kPart,
                      [](void *context, int64_t begin, int64_t end) {
                        auto *parts = static_cast<Parts *>(context);
                        for (int64_t number = begin * kPart;
                             number < std::min(end * kPart, parts->count); ++number)
                          parts->body(number);
                      },
                      &parts);
}

int32_t llmmem::chooseToken(llvm::ArrayRef<double> logits, const Sampling &sampling,
                            double uniform) {
  double highest = *llvm::max_element(logits);
  if (sampling.temperature == 0.0)
    return static_cast<int32_t>(llvm::find(logits, highest) - logits.begin());
  std::vector<int32_t> ids = candidates(logits, sampling);
  std::vector<double> sums(ids.size());
  // Powers take longer than everything else after a step, so threads share them.
  forParts(static_cast<int64_t>(ids.size()), [&](int64_t number) {
    sums[number] = std::exp((logits[ids[number]] - highest) / sampling.temperature);
  });
  double sum = 0.0;
  for (double &power : sums)
    power = sum += power;
  if (sampling.topP < 1.0) {
    size_t kept = llvm::lower_bound(sums, sampling.topP * sum) - sums.begin() + 1;
    sums.resize(std::min(kept, sums.size()));
  }
  size_t place = llvm::upper_bound(sums, uniform * sums.back()) - sums.begin();
  return ids[std::min(place, sums.size() - 1)];
}
