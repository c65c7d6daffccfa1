//===- GrowingSchedule.cpp - A schedule into which repeats are inserted ---------------===//

#include "GrowingSchedule.h"
#include <utility>

using namespace llmmem::planning;

GrowingSchedule::GrowingSchedule(const Graph &graph, std::vector<OpIndex> steps, Profile usage)
    : graph(graph), list(std::move(steps)), held(std::move(usage)),
      keptBytes(graph.residentBytes()), readsOf(graph.numValues()),
      lastRange(graph.numValues(), -1), touchedAt(graph.numValues(), -1) {
  for (std::vector<int32_t> *each : {&runs, &positionOf, &firstResult})
    each->reserve(list.size());
  for (std::vector<int32_t> *each : {&froms, &tos, &previous})
    each->reserve(graph.numValues() + list.size());
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    if (graph.isKept(value))
      keptBytes += graph.bytes(value);
    if (graph.writer(value) >= 0 || (graph.readers(value).empty() && !graph.isKept(value)))
      continue;
    inputs.push_back(value);
    addRange(value, -1);
  }
  for (OpIndex op : list)
    addRun(op);
  for (ValueIndex value : graph.problem().keep)
    if (lastRange[value] >= 0)
      tos[lastRange[value]] = numSteps();
}

/// Adds a run after all others.
void GrowingSchedule::addRun(OpIndex op) {
  const auto step = static_cast<int32_t>(runs.size());
  positionOf.push_back(step);
  runs.push_back(step);
  hasInPlace |= graph.hasInPlace(op);
  for (ValueIndex value : graph.reads(op)) {
    readsOf[value].push_back(step);
    if (lastRange[value] >= 0)
      tos[lastRange[value]] = step;
  }
  firstResult.push_back(static_cast<int32_t>(froms.size()));
  for (ValueIndex value : graph.writes(op))
    addRange(value, step);
}

/// Adds a live range from `step` on, without a reader.
void GrowingSchedule::addRange(ValueIndex value, int32_t step) {
  int32_t *later = &lastRange[value]; // the link that is to lead to the new one
  while (*later >= 0 && froms[*later] > step)
    later = &previous[*later];
  const int32_t before = std::exchange(*later, static_cast<int32_t>(froms.size()));
  froms.push_back(step);
  tos.push_back(step);
  previous.push_back(before);
}

int32_t GrowingSchedule::nextRead(ValueIndex value, int32_t step) const {
  const auto *next =
      llvm::partition_point(readsOf[value], [&](Run run) { return positionOf[run] <= step; });
  return next == readsOf[value].end() ? -1 : positionOf[*next];
}

/// Returns the last read before `step` of what is written at `from`, or `from` itself without one.
int32_t GrowingSchedule::lastReadBefore(ValueIndex value, int32_t from, int32_t step) const {
  const auto *next =
      llvm::partition_point(readsOf[value], [&](Run run) { return positionOf[run] < step; });
  return next == readsOf[value].begin() ? from : std::max(from, positionOf[*std::prev(next)]);
}

/// Returns the bytes of what is written before the place and read there or later.
int64_t GrowingSchedule::heldOver() const {
  if (place == numSteps())
    return keptBytes;
  return held.bytes[place] - graph.writtenBytes(list[place]) + sharedBefore(place);
}

GrowingSchedule::Touched &GrowingSchedule::touch(ValueIndex value) {
  if (touchedAt[value] < 0) {
    touchedAt[value] = static_cast<int32_t>(touched.size());
    const Instance current = *currentBefore(value, place);
    touched.push_back(
        {{value, current.from, lastReadBefore(value, current.from, place)}, grown(current.to)});
  }
  return touched[touchedAt[value]];
}

void GrowingSchedule::hold(int32_t from, int32_t to, int64_t bytes) {
  const int32_t last = std::min(to, numGrown() - 1);
  if (bytes == 0 || from > last)
    return;
  addChanged(from, last);
  for (int32_t step = from; step <= last; ++step)
    then[step] += bytes;
}

/// Closes a range: what is held beyond the old range is held in addition.
void GrowingSchedule::close(const Touched &it) {
  pieces.push_back(it.piece);
  hold(std::max(it.piece.from, it.oldTo + 1), it.piece.to, graph.bytes(it.piece.value));
}

void GrowingSchedule::makePieces() {
  for (const Touched &each : touched)
    touchedAt[each.piece.value] = -1;
  touched.clear();
  pieces.clear();
  int32_t step = place;
  for (OpIndex op : added) {
    for (ValueIndex value : graph.reads(op))
      touch(value).piece.to = step;
    for (ValueIndex value : graph.writes(op)) {
      Touched &it = touch(value);
      close(it);
      hold(it.piece.to + 1, std::min(step - 1, it.oldTo), -graph.bytes(value));
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
    const std::optional<Instance> read = currentBefore(value, step);
    return read && read->to == step;
  });
}

/// Returns the bytes shared in place at a step of the grown schedule.
int64_t GrowingSchedule::sharedThen(int32_t step) const {
  const int32_t old = ungrown(step);
  const OpIndex op = isAdded(step) ? added[step - place] : list[old];
  if (!graph.hasInPlace(op))
    return 0;
  return sharedBytes(graph, graph.op(op), [&](ValueIndex value) {
    for (const Piece &piece : pieces)
      if (piece.value == value && piece.from < step && step <= piece.to)
        return piece.to == step;
    const std::optional<Instance> read = currentBefore(value, old);
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
  for (int32_t step = place; step < place + numAdded(); ++step)
    changed.push_back(step);
  llvm::sort(changed);
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  for (int32_t step : changed) {
    if (step < 0 || step >= numGrown())
      continue;
    addChanged(step, step);
    then[step] -= sharedThen(step);
    then[step] += isAdded(step) ? 0 : sharedBefore(ungrown(step));
  }
}

const std::vector<int64_t> &GrowingSchedule::bytesWith(llvm::ArrayRef<OpIndex> ops,
                                                       int32_t before) {
  added.assign(ops.begin(), ops.end());
  place = before;
  changedFrom = place;
  changedTo = place + numAdded() - 1;
  then.resize(numGrown());
  std::copy(held.bytes.begin(), held.bytes.begin() + place, then.begin());
  std::copy(held.bytes.begin() + place, held.bytes.end(), then.begin() + grown(place));
  const int64_t over = heldOver();
  for (size_t at = 0; at < added.size(); ++at)
    then[place + at] = over + graph.workspace(added[at]);
  makePieces();
  if (hasInPlace)
    shareBytes();
  return then;
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

/// Moves what is at the place and after it.
void GrowingSchedule::moveLater() {
  const int32_t from = place, by = numAdded();
  for (std::vector<int32_t> *each : {&froms, &tos})
    for (int32_t &step : *each)
      step += step >= from ? by : 0;
}

void GrowingSchedule::insert() {
  const auto first = static_cast<Run>(positionOf.size());
  moveLater();
  list.insert(list.begin() + place, added.begin(), added.end());
  for (std::vector<int32_t> *each : {&runs, &firstResult})
    each->insert(each->begin() + place, added.size(), 0);
  positionOf.resize(first + added.size());
  for (size_t at = 0; at < added.size(); ++at)
    runs[place + at] = first + static_cast<Run>(at);
  for (int32_t step = place; step < numSteps(); ++step)
    positionOf[runs[step]] = step;
  for (size_t at = 0; at < added.size(); ++at) {
    const int32_t step = place + static_cast<int32_t>(at);
    auto isEarlier = [&](Run other) { return positionOf[other] < step; };
    for (ValueIndex value : graph.reads(added[at]))
      readsOf[value].insert(llvm::partition_point(readsOf[value], isEarlier), runs[step]);
    firstResult[step] = static_cast<int32_t>(froms.size());
    for (ValueIndex value : graph.writes(added[at]))
      addRange(value, step);
  }
  for (const Piece &piece : pieces)
    tos[indexBefore(piece.value, piece.from + 1)] = piece.to;
  for (OpIndex op : added)
    held.cost += graph.cost(op);
  use(then);
  added.clear();
}
