//===- OffloadBound.cpp - What no plan with copies can beat -------------------------===//

#include "OffloadBound.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace llmmem::planning;

OffloadBound::OffloadBound(const Problem &problem, const OffloadShape &shape, const Graph &device)
    : problem(problem), shape(shape), device(device) {}

/// Returns the most bytes that are moved in `duration`.
__int128 OffloadBound::Rate::in(__int128 duration) const {
  if (duration < 0 || bytes == 0)
    return 0;
  return time == 0 ? INT64_MAX : std::min<__int128>(duration * bytes / time, INT64_MAX);
}

OffloadBound::ProgramPoint OffloadBound::programPointAt(OpIndex op) const {
  ProgramPoint programPoint;
  programPoint.op = op;
  std::vector<bool> before(device.numOps()), after(device.numOps());
  markAncestors(device, op, before);
  markDescendants(device, op, after);
  programPoint.after = device.op(op).cost;
  for (OpIndex other = 0; other < device.numOps(); ++other) {
    programPoint.before += before[other] ? device.op(other).cost : 0;
    programPoint.after += after[other] ? device.op(other).cost : 0;
  }
  programPoint.first = programPoint.last = INT64_MAX;
  Rate onHost; // bytes of the device per byte of the host
  for (const CopyPair &copy : shape.copies) {
    const OpIndex writer = device.writer(copy.value);
    if (!before[writer])
      continue; // the relaxation does not count in H what other ops write
    const int64_t bytes = device.bytes(copy.value);
    programPoint.up = std::max(programPoint.up, Rate{bytes, problem.ops[copy.up].cost});
    programPoint.down = std::max(programPoint.down, Rate{bytes, problem.ops[copy.down].cost});
    onHost = std::max(onHost, Rate{bytes, static_cast<int64_t>(llvm::alignTo(
                                              problem.values[copy.host].bytes,
                                              static_cast<uint64_t>(problem.alignmentOf(1))))});
    programPoint.first = std::min(programPoint.first, device.op(writer).cost);
    int64_t last = device.isKept(copy.value) ? 0 : INT64_MAX;
    for (OpIndex reader : device.readers(copy.value))
      last = std::min(last, device.op(reader).cost);
    programPoint.last = std::min(programPoint.last, last);
  }
  if (programPoint.first == INT64_MAX) // nothing may leave
    return programPoint;
  // The topmost buffer of the host needs no padding.
  const std::optional<int64_t> budget = problem.budgetOf(1);
  programPoint.ofHost = budget ? onHost.in(static_cast<__int128>(*budget) -
                                           problem.residentBytes(1) + problem.alignmentOf(1) - 1)
                               : INT64_MAX;
  return programPoint;
}

/// Returns the most bytes of H in a plan of this time that recomputes for `again` after the op
/// starts. The bytes that the host can have received grow with tau, and those that it can still
/// send back shrink. So the best tau is where they meet, or the end of its interval on that side.
int64_t OffloadBound::movedWithin(const ProgramPoint &programPoint, int64_t time,
                                  int64_t again) const {
  const __int128 least = programPoint.before,
                 most = static_cast<__int128>(time) - programPoint.after - again;
  if (least > most)
    return 0;
  auto movedAt = [&](__int128 tau) {
    return std::min(programPoint.up.in(tau - programPoint.first),
                    programPoint.down.in(time - tau - programPoint.last));
  };
  __int128 low = least, high = most; // the last tau at which the first of the two is the smaller
                                     // one is `low` or larger
  while (low < high) {
    const __int128 middle = low + (high - low + 1) / 2;
    if (programPoint.up.in(middle - programPoint.first) <=
        programPoint.down.in(time - middle - programPoint.last))
      low = middle;
    else
      high = middle - 1;
  }
  const __int128 moved = std::max(movedAt(low), movedAt(std::min(low + 1, most)));
  return static_cast<int64_t>(std::min({moved, programPoint.ofHost, __int128(INT64_MAX)}));
}

/// Returns what the start of one op proves about plans that take at most `time`, and nothing where
/// there are none.
std::optional<int64_t> OffloadBound::leastTime(const ProgramPoint &programPoint,
                                               CutRelaxation &relaxation, int64_t time,
                                               int64_t &moved) const {
  const int64_t budget = *problem.budget;
  int64_t again = 0;
  // The first round proves some recomputation, which leaves less time for copies.
  constexpr int rounds = 2;
  for (int round = 0; round < rounds; ++round) {
    moved = movedWithin(programPoint, time, again);
    const int64_t enlarged = moved > INT64_MAX - budget ? INT64_MAX : budget + moved;
    const std::optional<int64_t> proved = relaxation.costLowerBound(enlarged);
    if (!proved)
      return std::nullopt;
    again = std::max(again, *proved);
    if (again == 0)
      break;
  }
  return device.baseCost() + again;
}

OffloadBound::OfTime OffloadBound::timeBound(llvm::ArrayRef<OpIndex> ops, int64_t known,
                                             int64_t precision) const {
  OfTime best{device.baseCost(), 0, -1};
  for (OpIndex op : ops) {
    device.poll();
    const ProgramPoint programPoint = programPointAt(op);
    CutRelaxation relaxation(device, op);
    int64_t moved = 0;
    auto allows = [&](int64_t time) {
      const std::optional<int64_t> least = leastTime(programPoint, relaxation, time, moved);
      return least && *least <= time;
    };
    // Most ops prove no more than the best one so far.
    if (best.time >= known || allows(best.time))
      continue;
    int64_t low = best.time, high = known; // no plan takes as little as `low`
    while (high - low > precision) {
      const int64_t middle = low + (high - low) / 2;
      (allows(middle) ? high : low) = middle;
    }
    (void)allows(low);
    best = {low + 1, moved, op};
  }
  return best;
}

bool OffloadBound::takesAtLeast(llvm::ArrayRef<OpIndex> ops, int64_t time) const {
  if (time <= device.baseCost())
    return true;
  return llvm::any_of(ops, [&](OpIndex op) {
    device.poll();
    CutRelaxation relaxation(device, op);
    int64_t moved = 0;
    const std::optional<int64_t> least = leastTime(programPointAt(op), relaxation, time - 1, moved);
    return !least || *least >= time;
  });
}

OffloadBound::OfBytes OffloadBound::peakBound(llvm::ArrayRef<OpIndex> ops) const {
  OfBytes best{peakOfOneOp()};
  const bool isEvenlyAligned = problem.alignment == problem.alignmentOf(1);
  for (OpIndex op : ops) {
    device.poll();
    CutRelaxation relaxation(device, op);
    const __int128 fixed = relaxation.fixedBytesAt();
    const __int128 needed = fixed + relaxation.chooseFewestBytes().bytes;
    const __int128 onDevice = std::max(fixed, needed - programPointAt(op).ofHost);
    if (onDevice > best.device.bytes)
      best.device = {static_cast<int64_t>(onDevice), op};
    if (problem.budget && isEvenlyAligned)
      best.host = std::max(best.host, static_cast<int64_t>(needed - *problem.budget));
  }
  return best;
}
