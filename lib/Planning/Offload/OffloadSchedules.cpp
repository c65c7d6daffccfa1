//===- OffloadSchedules.cpp - Schedules of the device to which copies are added ---===//

#include "OffloadSchedules.h"
#include "Schedulers/ExactSearch.h"
#include <algorithm>

using namespace llmmem::planning;

static constexpr int64_t unbounded = INT64_MAX / 4;

OffloadSchedules::OffloadSchedules(const Problem &problem, const OffloadShape &shape,
                                   const Graph &device, BudgetSearch &search, Frontier &frontier,
                                   int64_t work)
    : problem(problem), shape(shape), device(device), search(search), frontier(frontier),
      work(work) {}

OffloadSchedules::Placed OffloadSchedules::at(int64_t budget) {
  auto [it, isNew] = placed.try_emplace(budget);
  if (isNew)
    it->second = frontier.at(budget);
  return it->second;
}

int64_t OffloadSchedules::footprintWithoutRecomputation() {
  const Placed free = at(unbounded);
  return device.residentBytes() + (free ? free->arena : 0);
}

/// Returns the most bytes that the link copies to the host in half of the time of every op once.
/// The other half of the time is for bringing them back.
int64_t OffloadSchedules::linkBytes() const {
  __int128 most = 0;
  for (const CopyPair &copy : shape.copies) {
    const __int128 slower = std::max(problem.ops[copy.up].cost, problem.ops[copy.down].cost);
    const __int128 half = device.baseCost() / 2;
    most = std::max(most, slower ? half * device.bytes(copy.value) / slower : unbounded);
  }
  return static_cast<int64_t>(std::min<__int128>(most, unbounded));
}

/// Returns by how much a schedule may exceed a budget and still be worth trying with copies: by
/// what the host can hold, and by what the link can move.
int64_t OffloadSchedules::mostAbove() {
  return std::min({footprintWithoutRecomputation() - device.residentBytes(), linkBytes(),
                   problem.budgetOf(1).value_or(unbounded)});
}

/// Adds the schedules of this budget. Those of a small problem are searched exhaustively.
void OffloadSchedules::addAt(CopySearch &copies, int64_t budget) {
  if (isSmall(device)) {
    auto [it, isNew] = exact.try_emplace(budget);
    if (isNew) {
      ExactAnswer answer =
          cheapestUnder(device, budget + device.topPadding(), {.repeats = true, .work = work});
      if (answer.kind == ExactAnswer::Kind::Found)
        it->second = std::move(answer.steps);
    }
    if (!it->second.empty())
      copies.add(it->second);
  }
  if (const Placed plan = at(budget))
    copies.add(plan->steps);
}

/// Adds the given order. Where there are few ops, it adds up to `mostOrders` orders without
/// repeats, depth first.
void OffloadSchedules::addOrdersTo(CopySearch &copies) const {
  copies.add(givenOrder(device));
  constexpr int32_t mostOps = 12;
  if (device.numOps() > mostOps)
    return;
  constexpr size_t mostOrders = 200;
  std::vector<int32_t> unread(device.numOps(), 0); // operands that are not written yet
  for (OpIndex op = 0; op < device.numOps(); ++op)
    unread[op] = static_cast<int32_t>(
        llvm::count_if(device.op(op).reads, [&](ValueIndex v) { return device.writer(v) >= 0; }));
  std::vector<OpIndex> order;
  std::vector<bool> ran(device.numOps(), false);
  size_t found = 0;
  auto run = [&](OpIndex op, int32_t sign) {
    ran[op] = sign > 0;
    for (ValueIndex value : device.op(op).writes)
      for (OpIndex reader : device.readers(value))
        unread[reader] -= sign;
  };
  auto extend = [&](auto &&self) -> void {
    if (static_cast<int32_t>(order.size()) == device.numOps()) {
      ++found;
      copies.add(order);
    }
    for (OpIndex op = 0; op < device.numOps() && found < mostOrders; ++op) {
      if (ran[op] || unread[op] > 0)
        continue;
      run(op, 1);
      order.push_back(op);
      self(self);
      order.pop_back();
      run(op, -1);
    }
  };
  extend(extend);
}

void OffloadSchedules::addTo(CopySearch &copies, int64_t budget) {
  addOrdersTo(copies);
  addAt(copies, budget);
  // The grid starts at the budget where nothing is recomputed, and goes down.
  constexpr int64_t parts = 16, near = 4;
  const int64_t free = footprintWithoutRecomputation(), most = mostAbove(),
                step = std::max<int64_t>(1, most / parts);
  if (free <= budget || most <= 0)
    return;
  const int64_t highest = (free - budget - 1) / step; // of the lowest budget above `budget`
  for (int64_t number = highest, at = 0; number > 0 && at < parts; --number, ++at)
    if (at < near || number % 2 == 0) {
      search.context().progress.announce("schedules that keep more than the device holds");
      addAt(copies, free - number * step);
    }
  addAt(copies, free);
  if (!at(budget)) // otherwise its schedule takes at least as long as one that was found
    if (const Placed least = frontier.least())
      copies.add(least->steps);
}

void OffloadSchedules::addLeastMemoryTo(CopySearch &copies) {
  addOrdersTo(copies);
  addAt(copies, unbounded);
  if (const Placed least = frontier.least())
    copies.add(least->steps);
  constexpr int64_t parts = 16;
  const int64_t most = mostAbove();
  for (int64_t part : {1, 2, 3, 4, 6, 8, 10, 12, 14, 16})
    if (const int64_t more = static_cast<int64_t>(static_cast<__int128>(most) * part / parts);
        more > 0)
      addAt(copies, device.residentBytes() + more);
  addAt(copies, footprintWithoutRecomputation());
}
