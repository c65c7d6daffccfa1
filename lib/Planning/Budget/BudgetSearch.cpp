//===- BudgetSearch.cpp - Schedules under a capacity, by all searchers ------------===//

#include "BudgetSearch.h"
#include "Schedulers/DeferredOrder.h"
#include "Searchers.h"
#include "Structure/StepChain.h"
#include "Tuning/Constants.h"

using namespace llmmem;
using namespace llmmem::planning;

BudgetSearch::BudgetSearch(const Graph &graph, Chain chain, Candidate given, int64_t work)
    : shared(graph, std::move(chain), std::move(given), work), tables(shared),
      leastSchedules(shared, tables) {
  for (const SearcherEntry &entry : searcherTable())
    searchers.push_back(entry.make(shared, tables));
}

BudgetSearch::BudgetSearch(const Graph &graph, int64_t work)
    : BudgetSearch(graph, chooseChain(graph), work) {}

BudgetSearch::BudgetSearch(const Graph &graph, Chain chain, int64_t work)
    : BudgetSearch(graph, std::move(chain), measured(graph, givenOrder(graph), "given order"),
                   work) {}

BudgetSearch::BudgetSearch(const Graph &graph, std::vector<OpIndex> order, llvm::StringRef name,
                           int64_t work)
    : BudgetSearch(graph, findChain(graph, order), measured(graph, order, name), work) {
  shared.replaceSources({[this] { return shared.given(); }, nullptr});
}

BudgetSearch::~BudgetSearch() = default;

std::unique_ptr<BudgetSearch> BudgetSearch::deferred() {
  std::vector<OpIndex> order = deferFullest(shared.graph, shared.chain);
  if (order.empty() || tuning::isOff("deferred gradient"))
    return nullptr;
  return std::make_unique<BudgetSearch>(shared.graph, std::move(order), "deferred gradient",
                                        shared.work);
}

Candidates BudgetSearch::improvedBy(const ImprovingSearcher &searcher,
                                    const SearchRequest &request) {
  Candidates found;
  lastSpent = tuning::isOff(searcher.name) ? 0 : searcher.search(shared, request, found);
  return found;
}

Candidates BudgetSearch::under(int64_t capacity, bool deeply, int64_t known) {
  lastSpent = 0;
  // A better order costs nothing, so it is tried first.
  if (shared.given().peak <= capacity)
    return {shared.given()};
  if (shared.ordered().peak <= capacity)
    return {shared.ordered()};
  SearchRequest request{capacity};
  if (deeply)
    request.leastMemory = leastMemory();
  Candidates found;
  for (auto [entry, searcher] : llvm::zip_equal(searcherTable(), searchers))
    if (!tuning::isOff(searcher->name()) && entry.isDue({shared, request, found, known}))
      lastSpent += searcher->search(request, found);
  llvm::erase_if(found, [&](const Candidate &candidate) { return candidate.peak > capacity; });
  llvm::stable_sort(found, isCheaper);
  return found;
}
