//===- FlowSum.h - Whether amounts are a flow --------------------------------===//
//
// Any cut between source and sink carries at least what flows, as long as no arc carries more than
// it may and nothing is lost or made on the way. So a flow proves a bound on every cut, and adding
// up is all it takes to check.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_PROOFS_FLOWSUM_H
#define LLMMEM_LIB_PLANNING_PROOFS_FLOWSUM_H

#include "Facts.h"
#include <functional>

namespace llmmem::planning::proofs {

class FlowSum {
public:
  static constexpr size_t source = 0, sink = 1;

  explicit FlowSum(size_t nodes) : balance(nodes, 0) {}

  /// Moves `amount` along an arc that carries any amount. Returns false where it is negative.
  bool move(size_t from, size_t to, int64_t amount) {
    balance[from] -= amount;
    balance[to] += amount;
    return amount >= 0;
  }
  /// Moves it along an arc that carries at most `most`. `used` has what it carries already.
  bool move(size_t from, size_t to, int64_t amount, Wide &used, Wide most) {
    return move(from, to, amount) && (used += amount) <= most;
  }
  /// Returns what leaves the source.
  Wide total() const { return -balance[source]; }
  /// Returns a node into which another amount flows than out of it, or nothing where the amounts
  /// are a flow.
  std::optional<size_t> findLeak() const {
    for (size_t node = 2; node < balance.size(); ++node)
      if (balance[node] != 0)
        return node;
    return std::nullopt;
  }

private:
  std::vector<Wide> balance;
};

} // namespace llmmem::planning::proofs

#endif // LLMMEM_LIB_PLANNING_PROOFS_FLOWSUM_H
