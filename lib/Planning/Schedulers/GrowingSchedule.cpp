//===- GrowingSchedule.cpp - A schedule into which repeats are inserted ---------------===//

#include "GrowingSchedule.h"
#include <numeric>
#include <utility>

using namespace llmmem::planning;

LiveRanges::LiveRanges(size_t numValues, size_t numSteps) : lastRange(numValues, -1) {
  firstResult.reserve(numSteps);
  for (std::vector<int32_t> *each : {&froms, &tos, &previous})
    each->reserve(numValues + numSteps);
}

void LiveRanges::addInput(ValueIndex value) {
  inputs.push_back(value);
  add(value, -1);
}

void LiveRanges::addResults(int32_t step, llvm::ArrayRef<ValueIndex> results) {
  if (step == static_cast<int32_t>(firstResult.size()))
    firstResult.push_back(0);
  firstResult[step] = static_cast<int32_t>(froms.size());
  for (ValueIndex value : results)
    add(value, step);
}

/// Adds a live range from `step` on, without a reader.
void LiveRanges::add(ValueIndex value, int32_t step) {
  int32_t *later = &lastRange[value]; // the link that is to lead to the new one
  while (*later >= 0 && froms[*later] > step)
    later = &previous[*later];
  const int32_t before = std::exchange(*later, static_cast<int32_t>(froms.size()));
  froms.push_back(step);
  tos.push_back(step);
  previous.push_back(before);
}

void LiveRanges::insertSteps(int32_t place, int32_t count) {
  for (std::vector<int32_t> *each : {&froms, &tos})
    for (int32_t &step : *each)
      step += step >= place ? count : 0;
  firstResult.insert(firstResult.begin() + place, count, 0);
}

ReadSteps::ReadSteps(size_t numValues, size_t numSteps) : readsOf(numValues) {
  for (std::vector<int32_t> *each : {&runs, &positionOf})
    each->reserve(numSteps);
}

void ReadSteps::add(llvm::ArrayRef<ValueIndex> operands) {
  const auto step = static_cast<int32_t>(runs.size());
  positionOf.push_back(step);
  runs.push_back(step);
  for (ValueIndex value : operands)
    readsOf[value].push_back(step);
}

void ReadSteps::insert(const Graph &graph, int32_t place, llvm::ArrayRef<OpIndex> ops) {
  const auto first = static_cast<Run>(positionOf.size());
  runs.insert(runs.begin() + place, ops.size(), 0);
  std::iota(runs.begin() + place, runs.begin() + place + ops.size(), first);
  positionOf.resize(first + ops.size());
  for (size_t step = place; step < runs.size(); ++step)
    positionOf[runs[step]] = static_cast<int32_t>(step);
  for (size_t at = 0; at < ops.size(); ++at) {
    const int32_t step = place + static_cast<int32_t>(at);
    auto isEarlier = [&](Run other) { return positionOf[other] < step; };
    for (ValueIndex value : graph.reads(ops[at]))
      readsOf[value].insert(llvm::partition_point(readsOf[value], isEarlier), runs[step]);
  }
}

int32_t ReadSteps::nextAfter(ValueIndex value, int32_t step) const {
  const auto *next =
      llvm::partition_point(readsOf[value], [&](Run run) { return positionOf[run] <= step; });
  return next == readsOf[value].end() ? -1 : positionOf[*next];
}

int32_t ReadSteps::lastBefore(ValueIndex value, int32_t from, int32_t step) const {
  const auto *next =
      llvm::partition_point(readsOf[value], [&](Run run) { return positionOf[run] < step; });
  return next == readsOf[value].begin() ? from : std::max(from, positionOf[*std::prev(next)]);
}

void Growth::start(const Graph &graph, const std::vector<int64_t> &held, int64_t over) {
  changedFrom = place;
  changedTo = place + numAdded() - 1;
  bytes.resize(held.size() + added.size());
  std::copy(held.begin(), held.begin() + place, bytes.begin());
  std::copy(held.begin() + place, held.end(), bytes.begin() + grown(place));
  for (size_t at = 0; at < added.size(); ++at)
    bytes[place + at] = over + graph.workspace(added[at]);
}

void Growth::hold(int32_t from, int32_t to, int64_t more) {
  const int32_t last = std::min(to, numSteps() - 1);
  if (more == 0 || from > last)
    return;
  addChanged(from, last);
  for (int32_t step = from; step <= last; ++step)
    bytes[step] += more;
}

GrowingSchedule::GrowingSchedule(const Graph &graph, std::vector<OpIndex> steps, Profile usage)
    : graph(graph), list(std::move(steps)), held(std::move(usage)),
      keptBytes(graph.residentBytes()), ranges(graph.numValues(), list.size()),
      reads(graph.numValues(), list.size()), touchedAt(graph.numValues(), -1) {
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    if (graph.isKept(value))
      keptBytes += graph.bytes(value);
    if (graph.writer(value) < 0 && (!graph.readers(value).empty() || graph.isKept(value)))
      ranges.addInput(value);
  }
  for (int32_t step = 0; step < numSteps(); ++step) {
    const OpIndex op = list[step];
    hasInPlace |= graph.hasInPlace(op);
    reads.add(graph.reads(op));
    for (ValueIndex value : graph.reads(op))
      ranges.extendLast(value, step);
    ranges.addResults(step, graph.writes(op));
  }
  for (ValueIndex value : graph.problem().keep)
    ranges.extendLast(value, numSteps());
}

/// Returns the bytes of what is written before the place and read there or later.
int64_t GrowingSchedule::heldOver() const {
  if (growth.place == numSteps())
    return keptBytes;
  return held.bytes[growth.place] - graph.writtenBytes(list[growth.place]) +
         sharedBefore(growth.place);
}

GrowingSchedule::Touched &GrowingSchedule::touch(ValueIndex value) {
  if (touchedAt[value] < 0) {
    touchedAt[value] = static_cast<int32_t>(touched.size());
    const Instance current = *ranges.currentBefore(value, growth.place);
    touched.push_back({{value, current.from, reads.lastBefore(value, current.from, growth.place)},
                       growth.grown(current.to)});
  }
  return touched[touchedAt[value]];
}

/// Closes a range: what is held beyond the old range is held in addition.
void GrowingSchedule::close(const Touched &it) {
  pieces.push_back(it.piece);
  growth.hold(std::max(it.piece.from, it.oldTo + 1), it.piece.to, graph.bytes(it.piece.value));
}

void GrowingSchedule::makePieces() {
  for (const Touched &each : touched)
    touchedAt[each.piece.value] = -1;
  touched.clear();
  pieces.clear();
  int32_t step = growth.place;
  for (OpIndex op : growth.added) {
    for (ValueIndex value : graph.reads(op))
      touch(value).piece.to = step;
    for (ValueIndex value : graph.writes(op)) {
      Touched &it = touch(value);
      close(it);
      growth.hold(it.piece.to + 1, std::min(step - 1, it.oldTo), -graph.bytes(value));
      it.piece.from = it.piece.to = step;
    }
    ++step;
  }
  for (Touched &it : touched) {
    if (it.oldTo >= step)
      it.piece.to = it.oldTo;
    close(it);
  }
}

int64_t GrowingSchedule::sharedBefore(int32_t step) const {
  if (!graph.hasInPlace(list[step]))
    return 0;
  return sharedBytes(graph, graph.op(list[step]), [&](ValueIndex value) {
    const std::optional<Instance> read = ranges.currentBefore(value, step);
    return read && read->to == step;
  });
}

/// Returns the bytes shared in place at a step of the grown schedule.
int64_t GrowingSchedule::sharedThen(int32_t step) const {
  const int32_t old = growth.ungrown(step);
  const OpIndex op = growth.isAdded(step) ? growth.added[step - growth.place] : list[old];
  if (!graph.hasInPlace(op))
    return 0;
  return sharedBytes(graph, graph.op(op), [&](ValueIndex value) {
    for (const Piece &piece : pieces)
      if (piece.value == value && piece.from < step && step <= piece.to)
        return piece.to == step;
    const std::optional<Instance> read = ranges.currentBefore(value, old);
    return read && read->to == old;
  });
}

/// Shares other bytes in place where another operand dies than before.
void GrowingSchedule::shareBytes() {
  llvm::SmallVector<int32_t, 16> changed;
  for (const Piece &piece : pieces)
    changed.push_back(piece.to);
  for (const Touched &it : touched)
    changed.push_back(it.oldTo);
  for (int32_t step = growth.place; step < growth.place + growth.numAdded(); ++step)
    changed.push_back(step);
  llvm::sort(changed);
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  for (int32_t step : changed) {
    if (step < 0 || step >= growth.numSteps())
      continue;
    growth.addChanged(step, step);
    growth.bytes[step] -= sharedThen(step);
    growth.bytes[step] += growth.isAdded(step) ? 0 : sharedBefore(growth.ungrown(step));
  }
}

const std::vector<int64_t> &GrowingSchedule::bytesWith(llvm::ArrayRef<OpIndex> ops, int32_t place) {
  growth.added.assign(ops.begin(), ops.end());
  growth.place = place;
  growth.start(graph, held.bytes, heldOver());
  makePieces();
  if (hasInPlace)
    shareBytes();
  return growth.bytes;
}

void GrowingSchedule::use(std::vector<int64_t> &bytes) {
  std::swap(held.bytes, bytes);
  held.peak = 0;
  held.peakStep = -1;
  for (int32_t step = 0; step < numSteps(); ++step)
    if (held.bytes[step] > held.peak) { // the first of the fullest steps
      held.peak = held.bytes[step];
      held.peakStep = step;
    }
  held.peak = std::max(held.peak, graph.residentBytes());
}

void GrowingSchedule::insert() {
  const std::vector<OpIndex> &added = growth.added;
  list.insert(list.begin() + growth.place, added.begin(), added.end());
  ranges.insertSteps(growth.place, growth.numAdded());
  reads.insert(graph, growth.place, added);
  for (int32_t at = 0; at < growth.numAdded(); ++at)
    ranges.addResults(growth.place + at, graph.writes(added[at]));
  for (const Piece &piece : pieces)
    ranges.setEnd(piece.value, piece.from, piece.to);
  for (OpIndex op : added)
    held.cost += graph.cost(op);
  use(growth.bytes);
  growth.added.clear();
}
