//===- EvictionSearcher.h - Eviction from orders, capacity by capacity ------------===//
//
// From an order, eviction to one capacity begins where eviction to a higher one ended: at the next
// of fixed levels, which are an eighth of the bytes apart. The levels depend on the order alone, so
// the answer at one capacity does not depend on another.
//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_EVICTIONSEARCHER_H
#define LLMMEM_LIB_PLANNING_BUDGET_EVICTIONSEARCHER_H

#include "Schedulers/Eviction.h"
#include "Searcher.h"

namespace llmmem::planning {

class EvictionSearcher final : public Searcher {
public:
  using Searcher::Searcher;
  llvm::StringRef name() const override { return "eviction"; }
  int64_t search(const SearchRequest &request, Candidates &found) override;

private:
  /// The eviction from one order, to lower and lower capacities.
  struct Ladder {
    int64_t peak; // peak of the order
    int64_t left; // work that is left for its levels
    std::vector<EvictionPath> levels;
  };
  void makeLadders();
  EvictionPath &levelAbove(Ladder &ladder, int64_t capacity);
  bool searchFrom(EvictionPath &path, int64_t capacity, Candidates &found, int64_t &spent);

  std::vector<Ladder> ladders;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_EVICTIONSEARCHER_H
