//===- ReversalProgram.cpp - The best reversal of a chain, to the byte ----------------===//

#include "ReversalProgram.h"
#include "llvm/ADT/DenseMap.h"
#include <algorithm>

using namespace llmmem::planning;

ReversalProgram::ReversalProgram(const ReversalStages &stages, int64_t mostBytes, int64_t work)
    : stages(stages), mostBytes(mostBytes), nothing(0, 0) {
  mostSteps = static_cast<size_t>(work / std::max<int64_t>(1, numberChains(work)));
  if (mostSteps == 0) {
    this->mostBytes = -1;
    return;
  }
  fillRows();
  const StageRun &tail = stages.tail();
  lowerBySum(result, of({0, stages.count(), true, -1, stages.keepsInput()}), 0, nothing,
             stages.keepsInput() ? tail.peakKeeping : tail.peakTaking, 0, {Move::Alone});
}

/// Gives one number to all sub-chains of equal stages.
int64_t ReversalProgram::numberChains(int64_t work) {
  const int32_t count = stages.count();
  llvm::DenseMap<std::pair<int32_t, int32_t>, int32_t> known; // (one stage less, last stage)
  int64_t compared = 0;
  size_t numRows = 0;
  chainNumber.resize(count + 1);
  for (int32_t from = 0; from < count && compared <= work; ++from) {
    stages.poll();
    int64_t passes = 0;
    for (int32_t to = from + 1, before = -1; to <= count; ++to) {
      const auto ends = static_cast<int64_t>(stages[to].farSaves.size()) + 1;
      passes += ends;
      auto [it, isNew] =
          known.try_emplace({before, stages.kinds()[to]}, static_cast<int32_t>(firstRow.size()));
      if (isNew) {
        firstRow.push_back(numRows);
        numRows += 2 * (stages[to].saves.size() + 1);
        compared += 2 * ends * (passes + static_cast<int64_t>(stages[from + 1].saves.size()));
      }
      before = it->second;
      chainNumber[from].push_back(before);
    }
  }
  rows.resize(numRows);
  return compared;
}

void ReversalProgram::fillRows() {
  const int32_t count = stages.count();
  std::vector<bool> isFilled(firstRow.size(), false);
  for (int32_t length = 1; length <= count; ++length)
    for (int32_t from = 0; from + length <= count; ++from) {
      const int32_t number = chainNumber[from][length - 1];
      if (isFilled[number])
        continue;
      isFilled[number] = true;
      stages.poll();
      for (bool keepsStart : {false, true}) {
        for (int32_t end : stages[from + length].farSaves)
          fill({from, from + length, false, end, keepsStart});
        fill({from, from + length, false, -1, keepsStart});
      }
    }
  originalRows.resize(2 * size_t(count + 1));
  for (int32_t from = count - 1; from >= 0; --from)
    for (bool keepsStart : {false, true})
      fill({from, count, true, -1, keepsStart});
}

const CostSteps &ReversalProgram::of(const State &state) const {
  if (state.from == state.to)
    return nothing;
  if (state.isOriginal)
    return originalRows[2 * size_t(state.from) + state.keepsStart];
  const int32_t number = chainNumber[state.from][state.to - state.from - 1];
  return rows[firstRow[number] + 2 * size_t(state.end + 1) + state.keepsStart];
}

void ReversalProgram::fill(const State &state) {
  CostSteps &row = of(state);
  tryAlone(state, row);
  tryConsume(state, row);
  trySaves(state, row);
  tryPasses(state, row);
  if (row.all().size() > mostSteps) {
    // All functions hold what they say below this step. Dropping steps would leave no such bound.
    mostBytes = std::min(mostBytes, row.all()[mostSteps].bytes - 1);
    row.truncate(mostSteps);
  }
}

void ReversalProgram::lowerBySum(CostSteps &row, const CostSteps &first, int64_t less,
                                 const CostSteps &second, int64_t least, int64_t cost,
                                 Decision decision) {
  if (first.isEmpty() || second.isEmpty())
    return;
  const llvm::ArrayRef<CostStep> one = first.all(), other = second.all();
  int64_t bytes = std::max({least, one.front().bytes + less, other.front().bytes});
  const CostStep *known = row.at(mostBytes);
  if (bytes > mostBytes)
    return;
  // Even the lowest cost of both may be no better than what the row has with the fewest bytes.
  if (const CostStep *there = row.at(bytes);
      known && there && one.back().cost + other.back().cost + cost >= there->cost)
    return;
  scratch.clear();
  size_t at = 0, otherAt = 0;
  while (bytes <= mostBytes) {
    while (at + 1 < one.size() && one[at + 1].bytes + less <= bytes)
      ++at;
    while (otherAt + 1 < other.size() && other[otherAt + 1].bytes <= bytes)
      ++otherAt;
    scratch.push_back({bytes, one[at].cost + other[otherAt].cost + cost, decision.packed()});
    bytes = INT64_MAX;
    if (at + 1 < one.size())
      bytes = one[at + 1].bytes + less;
    if (otherAt + 1 < other.size())
      bytes = std::min(bytes, other[otherAt + 1].bytes);
  }
  row.lower(scratch);
}

void ReversalProgram::trySplit(const State &state, int32_t split, int32_t choice, int64_t cost,
                               int64_t peak, CostSteps &row) {
  const int64_t held = stages[state.from].boundaryBytes + heldAt(split, choice);
  const State tail{split, state.to, state.isOriginal, state.end, keepsBoundary(split, choice)};
  lowerBySum(row, of(tail), held, of({state.from, split, false, choice, state.keepsStart}), peak,
             cost, {Move::Split, choice, split - state.from});
}

void ReversalProgram::tryReach(const State &state, int32_t choice, int64_t cost, int64_t peak,
                               CostSteps &row) {
  if (state.end < 0 && choice >= 0)
    lowerBySum(row, of({state.from, state.to, false, choice, state.keepsStart}), 0, nothing, peak,
               cost, {Move::Reach, choice});
}

/// Tries the splits before each stage of the sub-chain, and the pass to its end.
void ReversalProgram::tryPasses(const State &state, CostSteps &row) {
  const int64_t start = stages[state.from].boundaryBytes, around = beside(state);
  int64_t cost = 0, peak = 0;
  auto peakOf = [&](const StageRun &run, int32_t stage) {
    return std::max(peak,
                    around + (stage == state.from + 1 ? run.peakKeeping : start + run.peakTaking));
  };
  auto tryChoice = [&](int32_t stage, int32_t choice) {
    const StageRun &run = passOf(stage, choice, state.isOriginal);
    const int64_t most = peakOf(run, stage);
    if (!run.isPossible || most > mostBytes)
      return;
    if (stage < state.to)
      trySplit(state, stage, choice, cost + run.cost, most, row);
    else
      tryReach(state, choice, cost + run.cost, most, row);
  };
  for (int32_t stage = state.from + 1; stage <= state.to; ++stage) {
    for (int32_t choice : stages[stage].farSaves)
      tryChoice(stage, choice);
    tryChoice(stage, -1);
    const StageRun &run = passOf(stage, -1, state.isOriginal);
    peak = peakOf(run, stage);
    cost += run.cost;
    if (!run.isPossible || peak > mostBytes)
      return;
  }
}

void ReversalProgram::tryConsume(const State &state, CostSteps &row) {
  if (state.end < 0)
    return;
  const StageRun &run = stages[state.to].saves[state.end].segment;
  if (run.needsInput)
    return;
  const bool holdsStart = state.to - 1 > state.from || state.keepsStart;
  lowerBySum(row, of({state.from, state.to - 1, false, -1, state.keepsStart}), 0, nothing,
             run.peakTaking + (holdsStart ? stages[state.from].boundaryBytes : 0), run.cost,
             {Move::Consume});
}

void ReversalProgram::tryAlone(const State &state, CostSteps &row) {
  const ReversalStage &stage = stages[state.to];
  const StageRun &run = state.end < 0 ? stage.alone : stage.saves[state.end].segment;
  if (state.isOriginal || state.from + 1 != state.to || !run.isPossible)
    return;
  const int64_t start = state.keepsStart && !run.needsInput ? stages[state.from].boundaryBytes : 0;
  lowerBySum(row, nothing, 0, nothing,
             (state.keepsStart ? run.peakKeeping : run.peakTaking) + start, run.cost,
             {Move::Alone});
}

ReversalProgram::State ReversalProgram::afterSave(const State &state, const StageSave &save) const {
  return {state.from + 1, state.to, state.isOriginal, state.end, save.keepsBoundary};
}

/// Returns the bytes that a choice holds while the stages after it are reversed.
int64_t ReversalProgram::heldBySave(const State &state, const StageSave &save) const {
  const bool holdsStart = save.segment.needsInput || state.keepsStart;
  return save.held + (holdsStart ? stages[state.from].boundaryBytes : 0);
}

void ReversalProgram::trySaves(const State &state, CostSteps &row) {
  const llvm::ArrayRef<StageSave> saves = stages[state.from + 1].saves;
  // A stage that runs alone does not use the values that it saved before.
  if (state.from + 1 == state.to && state.end >= 0)
    return;
  for (size_t number = 0; number < saves.size(); ++number) {
    const StageSave &save = saves[number];
    const StageRun &forward = state.isOriginal ? save.first : save.again;
    if (!forward.isPossible)
      continue;
    const bool holdsStart = save.segment.needsInput || state.keepsStart;
    const int64_t start = stages[state.from].boundaryBytes;
    const int64_t onTheWay =
        (holdsStart ? forward.peakKeeping : forward.peakTaking) + beside(state);
    const int64_t atSegment =
        (state.keepsStart ? save.segment.peakKeeping : save.segment.peakTaking) +
        (state.keepsStart && !save.segment.needsInput ? start : 0);
    lowerBySum(row, of(afterSave(state, save)), heldBySave(state, save), nothing,
               std::max(onTheWay, atSegment), forward.cost + save.segment.cost,
               {Move::Save, static_cast<int32_t>(number)});
  }
}

void ReversalProgram::pass(const State &state, int32_t end, int32_t choice,
                           std::vector<OpIndex> &ops) const {
  for (int32_t stage = state.from + 1; stage < end; ++stage)
    llvm::append_range(ops, passOf(stage, -1, state.isOriginal).ops);
  llvm::append_range(ops, passOf(end, choice, state.isOriginal).ops);
}

void ReversalProgram::expandSave(const State &state, int64_t bytes, const StageSave &save,
                                 std::vector<OpIndex> &ops) const {
  llvm::append_range(ops, (state.isOriginal ? save.first : save.again).ops);
  expand(afterSave(state, save), bytes - heldBySave(state, save), ops);
  llvm::append_range(ops, save.segment.ops);
}

void ReversalProgram::expand(const State &state, int64_t bytes, std::vector<OpIndex> &ops) const {
  if (state.from == state.to)
    return;
  const CostStep *step = of(state).at(bytes);
  const auto [move, choice, before] = Decision::unpacked(step->decision);
  const ReversalStage &last = stages[state.to];
  const int32_t split = state.from + before;
  switch (move) {
  case Move::Split:
    pass(state, split, choice, ops);
    expand({split, state.to, state.isOriginal, state.end, keepsBoundary(split, choice)},
           step->bytes - stages[state.from].boundaryBytes - heldAt(split, choice), ops);
    return expand({state.from, split, false, choice, state.keepsStart}, step->bytes, ops);
  case Move::Reach:
    pass(state, state.to, choice, ops);
    return expand({state.from, state.to, false, choice, state.keepsStart}, step->bytes, ops);
  case Move::Consume:
    llvm::append_range(ops, last.saves[state.end].segment.ops);
    return expand({state.from, state.to - 1, false, -1, state.keepsStart}, step->bytes, ops);
  case Move::Save:
    return expandSave(state, step->bytes, stages[state.from + 1].saves[choice], ops);
  case Move::Alone:
    llvm::append_range(ops, state.end < 0 ? last.alone.ops : last.saves[state.end].segment.ops);
  }
}

std::vector<OpIndex> ReversalProgram::realize(const CostStep &step) const {
  std::vector<OpIndex> ops;
  expand({0, stages.count(), true, -1, stages.keepsInput()}, step.bytes, ops);
  llvm::append_range(ops, stages.tail().ops);
  return ops;
}
