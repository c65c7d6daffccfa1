//===- MicroBatchSearch.cpp - Schedules of steps with micro-batches ---------------===//

#include "MicroBatchSearch.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>

using namespace llmmem::planning;

static bool isCheaper(const Candidate &a, const Candidate &b) {
  return std::tie(a.cost, a.peak) < std::tie(b.cost, b.peak);
}

/// Whether the whole graph is searched as well, which takes long where it is large.
bool MicroBatchSearch::searchesWhole() const {
  constexpr int32_t smallSize = 2000;
  return graph.numOps() <= smallSize;
}

MicroBatchSearch::MicroBatchSearch(const Graph &graph, MicroBatches microBatches, int64_t work)
    : BudgetSearch(graph, givenOrder(graph), work), found(std::move(microBatches)),
      problemOfOne(graph, found), graphOfOne(problemOfOne.problem(), graph.cancellation()),
      one(graphOfOne, work) {}

MicroBatchSearch::~MicroBatchSearch() = default;

/// An empty schedule where there is none.
Candidate MicroBatchSearch::forAll(llvm::ArrayRef<llvm::ArrayRef<OpIndex>> schedules) const {
  std::vector<OpIndex> steps = problemOfOne.forAll(schedules);
  if (steps.empty())
    return {{}, INT64_MAX, INT64_MAX};
  dropUselessRepeats(graph, steps);
  return measured(std::move(steps));
}

void MicroBatchSearch::addMember(const Candidate &ofOne) {
  if (llvm::any_of(members, [&](const Member &other) { return other.steps == ofOne.steps; }))
    return;
  Candidate all = forAll({llvm::ArrayRef(ofOne.steps)});
  if (!all.steps.empty())
    members.push_back({ofOne.steps, std::move(all)});
}

/// Schedules of one micro-batch at evenly spaced capacities, down to the last that has one.
void MicroBatchSearch::addMembers(BudgetSearch &search) {
  constexpr int64_t levels = 48;
  constexpr size_t mostOfLevel = 2;
  const int64_t top = search.given().peak;
  addMember(search.given());
  for (int64_t level = levels; level-- > 1;) {
    std::vector<Candidate> candidates = search.under(top / levels * level, /*deeply=*/false);
    spent += search.workOfLast();
    if (candidates.empty())
      return;
    for (const Candidate &candidate : llvm::ArrayRef(candidates).take_front(mostOfLevel))
      addMember(candidate);
  }
}

/// A schedule that holds less between its forward and its backward, and as much as before while it
/// runs: what it costs is one price, what it saves is so for each in flight.
void MicroBatchSearch::addMembersThatHoldLess() {
  if (found.mostInFlight < 2)
    return;
  for (int64_t part : {4, 8, 16, 32}) {
    const Problem less = problemOfOne.problemWithLess(one.given().peak / part);
    const Graph graphOfLess(less, graph.cancellation());
    BudgetSearch search(graphOfLess, workInAll());
    addMembers(search);
  }
}

const std::vector<MicroBatchSearch::Member> &MicroBatchSearch::family() {
  if (hasFamily)
    return members;
  hasFamily = true;
  announce("schedules of one of " + llvm::Twine(found.count()) + " micro-batches");
  addMembers(one);
  if (std::unique_ptr<BudgetSearch> other = one.deferred())
    addMembers(*other);
  addMembersThatHoldLess();
  llvm::stable_sort(members,
                    [](const Member &a, const Member &b) { return isCheaper(a.all, b.all); });
  return members;
}

const Candidate &MicroBatchSearch::ordered() {
  if (!orderedOfAll) {
    orderedOfAll = forAll({llvm::ArrayRef(one.ordered().steps)});
    if (orderedOfAll->peak >= given().peak)
      orderedOfAll = given();
  }
  return *orderedOfAll;
}

const Candidate &MicroBatchSearch::leanestFlat() {
  if (!flatOfAll) {
    flatOfAll = forAll({llvm::ArrayRef(one.leanestFlat().steps)});
    if (flatOfAll->steps.empty())
      flatOfAll = given();
  }
  return *flatOfAll;
}

const std::vector<Candidate> &MicroBatchSearch::leanest() {
  if (!leanOfAll.empty())
    return leanOfAll;
  constexpr size_t mostOfOne = 16;
  leanOfAll = {given(), ordered(), leanestFlat()};
  for (const Candidate &candidate : llvm::ArrayRef(one.leanest()).take_front(mostOfOne))
    if (Candidate all = forAll({one.improved(candidate.steps, candidate.peak).steps});
        !all.steps.empty())
      leanOfAll.push_back(std::move(all));
  for (const Member &member : family())
    leanOfAll.push_back(member.all);
  if (searchesWhole())
    llvm::append_range(leanOfAll, BudgetSearch::leanest());
  llvm::stable_sort(leanOfAll, [](const Candidate &a, const Candidate &b) {
    return std::tie(a.peak, a.cost) < std::tie(b.peak, b.cost);
  });
  return leanOfAll;
}

/// As many micro-batches of those in flight run as `cheaper` as the capacity allows.
void MicroBatchSearch::addMixed(const Member &fitting, const Member &cheaper, int64_t capacity,
                                std::vector<Candidate> &candidates) {
  constexpr int32_t mostInTurn = 16;
  const int32_t inTurn = std::min(found.mostInFlight, mostInTurn);
  llvm::SmallVector<llvm::ArrayRef<OpIndex>, 8> schedules(inTurn, cheaper.steps);
  for (int32_t number = 0; number + 1 < inTurn; ++number) {
    schedules[number] = fitting.steps;
    Candidate mixed = forAll(schedules);
    if (mixed.peak > capacity)
      continue;
    candidates.push_back(improved(std::move(mixed.steps), capacity));
    return;
  }
}

std::vector<Candidate> MicroBatchSearch::under(int64_t capacity, bool deeply, int64_t known) {
  lastSpent = 0;
  if (given().peak <= capacity)
    return {given()};
  if (ordered().peak <= capacity)
    return {ordered()};
  family();
  const int64_t before = spent; // the family is the same for all capacities
  std::vector<Candidate> candidates;
  auto fits = llvm::find_if(members, [&](const Member &m) { return m.all.peak <= capacity; });
  if (fits != members.end()) {
    candidates.push_back(improved(fits->all.steps, capacity));
    constexpr std::ptrdiff_t mostMixed = 2; // the next cheaper ones
    for (auto it = fits; it != members.begin() && fits - it < mostMixed;)
      addMixed(*fits, *--it, capacity, candidates);
  }
  if (deeply && candidates.empty())
    for (const Candidate &candidate : leanest())
      if (candidate.peak <= capacity)
        candidates.push_back(improved(candidate.steps, capacity));
  const int64_t ownSpent = spent - before;
  if (searchesWhole()) {
    llvm::append_range(candidates, BudgetSearch::under(capacity, deeply, known));
    lastSpent += ownSpent;
  } else {
    lastSpent = ownSpent;
  }
  llvm::erase_if(candidates, [&](const Candidate &candidate) { return candidate.peak > capacity; });
  llvm::stable_sort(candidates, isCheaper);
  return candidates;
}

std::unique_ptr<BudgetSearch> llmmem::planning::makeBudgetSearch(const Graph &graph, int64_t work) {
  if (std::optional<MicroBatches> found = findMicroBatches(graph))
    return std::make_unique<MicroBatchSearch>(graph, *std::move(found), work);
  return std::make_unique<BudgetSearch>(graph, work);
}
