//===- MicroBatchSearch.cpp - Schedules of steps with micro-batches ---------------===//

#include "MicroBatchSearch.h"
#include "Tuning/Constants.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>

using namespace llmmem::planning;

/// Says whether the whole graph is searched as well, which takes long where it is large.
bool MicroBatchSearch::searchesWhole() const {
  return graph.numOps() <= tuning::mostOpsSearchedWhole;
}

MicroBatchSearch::MicroBatchSearch(const Graph &graph, MicroBatches microBatches, int64_t work)
    : BudgetSearch(graph, givenOrder(graph), "given order", work), graph(graph),
      found(std::move(microBatches)), problemOfOne(graph, found),
      graphOfOne(problemOfOne.problem(), graph.cancellation()), one(graphOfOne, work) {
  context().replaceSources(
      {[this] { return orderedOfAll(); }, [this] { return stageInputsOfAll(); }});
}

MicroBatchSearch::~MicroBatchSearch() = default;

/// Returns an empty schedule where there is none.
Candidate MicroBatchSearch::forAll(llvm::ArrayRef<llvm::ArrayRef<OpIndex>> schedules) const {
  std::vector<OpIndex> steps = problemOfOne.forAll(schedules);
  if (steps.empty())
    return {{}, INT64_MAX, INT64_MAX};
  dropUselessRepeats(graph, steps);
  return measured(graph, std::move(steps), "micro-batches");
}

void MicroBatchSearch::addMember(const Candidate &ofOne) {
  if (llvm::any_of(members, [&](const Member &other) { return other.steps == ofOne.steps; }))
    return;
  Candidate all = forAll({llvm::ArrayRef(ofOne.steps)});
  if (!all.steps.empty())
    members.push_back({ofOne.steps, std::move(all)});
}

/// Adds schedules of one micro-batch at evenly spaced capacities, down to the last that has one.
void MicroBatchSearch::addMembers(BudgetSearch &search) {
  const int64_t top = search.context().given().peak;
  addMember(search.context().given());
  for (int64_t level = tuning::microBatchLevels; level-- > 1;) {
    const Candidates candidates =
        search.under(top / tuning::microBatchLevels * level, /*deeply=*/false);
    if (candidates.empty())
      return;
    for (const Candidate &candidate :
         llvm::ArrayRef(candidates).take_front(tuning::mostMembersOfLevel))
      addMember(candidate);
  }
}

/// Adds schedules that hold less between their forward and their backward, and as much as before
/// while they run. The cost of such a schedule is paid once, and its saving counts for each
/// micro-batch in flight.
void MicroBatchSearch::addMembersThatHoldLess() {
  if (found.mostInFlight < 2)
    return;
  for (int64_t part : {4, 8, 16, 32}) {
    const Problem less = problemOfOne.problemWithLess(one.context().given().peak / part);
    const Graph graphOfLess(less, graph.cancellation());
    BudgetSearch search(graphOfLess, context().work);
    addMembers(search);
  }
}

const std::vector<MicroBatchSearch::Member> &MicroBatchSearch::family() {
  if (hasFamily)
    return members;
  hasFamily = true;
  context().progress.announce("schedules of one of " + llvm::Twine(found.count()) +
                              " micro-batches");
  addMembers(one);
  if (std::unique_ptr<BudgetSearch> other = one.deferred())
    addMembers(*other);
  addMembersThatHoldLess();
  llvm::stable_sort(members,
                    [](const Member &a, const Member &b) { return isCheaper(a.all, b.all); });
  return members;
}

Candidate MicroBatchSearch::orderedOfAll() {
  return forAll({llvm::ArrayRef(one.context().ordered().steps)});
}

Candidate MicroBatchSearch::stageInputsOfAll() {
  Candidate all = forAll({llvm::ArrayRef(one.context().stageInputs().steps)});
  return all.steps.empty() ? context().given() : all;
}

const Candidates &MicroBatchSearch::leastMemory() {
  if (!leastOfAll.empty())
    return leastOfAll;
  leastOfAll = {context().given(), context().ordered(), context().stageInputs()};
  int64_t spent = 0; // not counted anywhere: it is the same for all capacities
  for (const Candidate &candidate :
       llvm::ArrayRef(one.leastMemory()).take_front(tuning::mostLeastOfOne)) {
    const Candidate improved =
        one.context().improved(candidate.steps, candidate.peak, candidate.searcher, spent);
    if (Candidate all = forAll({improved.steps}); !all.steps.empty())
      leastOfAll.push_back(std::move(all));
  }
  for (const Member &member : family())
    leastOfAll.push_back(member.all);
  if (searchesWhole())
    llvm::append_range(leastOfAll, BudgetSearch::leastMemory());
  llvm::stable_sort(leastOfAll, holdsLess);
  return leastOfAll;
}

/// Adds schedules in which as many of the micro-batches in flight run as `cheaper` as the capacity
/// allows.
void MicroBatchSearch::addMixed(const Member &fitting, const Member &cheaper, int64_t capacity,
                                Candidates &candidates, int64_t &spent) {
  const int32_t inTurn = std::min(found.mostInFlight, tuning::mostMixedInTurn);
  llvm::SmallVector<llvm::ArrayRef<OpIndex>, 8> schedules(inTurn, cheaper.steps);
  for (int32_t number = 0; number + 1 < inTurn; ++number) {
    schedules[number] = fitting.steps;
    Candidate mixed = forAll(schedules);
    if (mixed.peak > capacity)
      continue;
    candidates.push_back(
        context().improved(std::move(mixed.steps), capacity, mixed.searcher, spent));
    return;
  }
}

Candidates MicroBatchSearch::under(int64_t capacity, bool deeply, int64_t known) {
  lastSpent = 0;
  if (context().given().peak <= capacity)
    return {context().given()};
  if (context().ordered().peak <= capacity)
    return {context().ordered()};
  family();
  int64_t spent = 0;
  Candidates candidates;
  auto improve = [&](const Candidate &candidate) {
    candidates.push_back(context().improved(candidate.steps, capacity, candidate.searcher, spent));
  };
  auto fits = llvm::find_if(members, [&](const Member &m) { return m.all.peak <= capacity; });
  if (fits != members.end()) {
    improve(fits->all);
    for (auto it = fits; it != members.begin() && fits - it < tuning::mostMixed;)
      addMixed(*fits, *--it, capacity, candidates, spent);
  }
  if (deeply && candidates.empty())
    for (const Candidate &candidate : leastMemory())
      if (candidate.peak <= capacity)
        improve(candidate);
  if (searchesWhole())
    llvm::append_range(candidates, BudgetSearch::under(capacity, deeply, known));
  lastSpent += spent;
  llvm::erase_if(candidates, [&](const Candidate &candidate) { return candidate.peak > capacity; });
  llvm::stable_sort(candidates, isCheaper);
  return candidates;
}

std::unique_ptr<BudgetSearch> llmmem::planning::makeBudgetSearch(const Graph &graph, int64_t work) {
  if (std::optional<MicroBatches> found = findMicroBatches(graph))
    return std::make_unique<MicroBatchSearch>(graph, *std::move(found), work);
  return std::make_unique<BudgetSearch>(graph, work);
}
