//===- InPlace.cpp - Which results take which operands' bytes --------------------===//
//
// The choice is a matching between results and dying operands. The bytes it shares depend on the
// matched results alone, so the results that some matching covers form a transversal matroid
// (Edmonds & Fulkerson 1965), and taking them greedily by size, with augmenting paths, is optimal.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Planning/Model/InPlace.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace llmmem::planning {
namespace {

/// Looks for an augmenting path from the unmatched result `start`, breadth first, and flips it.
void augment(ValueIndex start, llvm::ArrayRef<InPlace> allowed,
             llvm::DenseMap<ValueIndex, ValueIndex> &reusedBy) {
  llvm::DenseMap<ValueIndex, ValueIndex> reachedFrom; // operand -> result
  std::vector<ValueIndex> queue = {start};
  for (size_t head = 0; head < queue.size(); ++head)
    for (const InPlace &pair : allowed) {
      if (pair.write != queue[head] || !reachedFrom.try_emplace(pair.read, pair.write).second)
        continue;
      auto taken = reusedBy.find(pair.read);
      if (taken != reusedBy.end()) {
        queue.push_back(taken->second);
        continue;
      }
      for (ValueIndex read = pair.read;;) {
        const ValueIndex result = reachedFrom.lookup(read);
        ValueIndex released = -1;
        for (auto &[operand, reuser] : reusedBy)
          if (reuser == result)
            released = operand;
        if (released >= 0)
          reusedBy.erase(released);
        reusedBy[read] = result;
        if (result == start)
          return;
        read = released;
      }
    }
}

} // namespace

llvm::SmallVector<InPlace, 4> chooseInPlace(llvm::SmallVector<InPlace, 4> allowed,
                                            llvm::function_ref<int64_t(ValueIndex)> bytesOf) {
  // A single result takes the first operand that it may. This case is fast because the function is
  // called for every step of every schedule that is tried.
  if (llvm::all_of(allowed, [&](const InPlace &pair) { return pair.write == allowed[0].write; })) {
    allowed.truncate(std::min<size_t>(allowed.size(), 1));
    return allowed;
  }

  std::vector<ValueIndex> results;
  for (const InPlace &pair : allowed)
    if (!llvm::is_contained(results, pair.write))
      results.push_back(pair.write);
  llvm::stable_sort(results, [&](ValueIndex a, ValueIndex b) { return bytesOf(a) > bytesOf(b); });
  llvm::DenseMap<ValueIndex, ValueIndex> reusedBy; // operand -> result
  for (ValueIndex result : results)
    augment(result, allowed, reusedBy);

  llvm::SmallVector<InPlace, 4> chosen;
  for (const InPlace &pair : allowed) {
    auto taken = reusedBy.find(pair.read);
    if (taken != reusedBy.end() && taken->second == pair.write) {
      chosen.push_back(pair);
      reusedBy.erase(taken); // a pair may be given twice
    }
  }
  return chosen;
}

llvm::SmallVector<InPlace, 4> chooseInPlace(const Problem &problem, const Op &op,
                                            llvm::function_ref<bool(ValueIndex)> dies) {
  llvm::SmallVector<InPlace, 4> allowed;
  for (const InPlace &pair : op.inPlace) {
    const Value &read = problem.values[pair.read];
    const int64_t bytes = problem.values[pair.write].bytes;
    if (bytes > 0 && bytes <= read.bytes && !read.resident && dies(pair.read))
      allowed.push_back(pair);
  }
  return chooseInPlace(std::move(allowed),
                       [&](ValueIndex value) { return problem.values[value].bytes; });
}

} // namespace llmmem::planning
