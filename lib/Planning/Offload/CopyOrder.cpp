//===- CopyOrder.cpp - When the copies of a schedule of the device run ------------===//

#include "CopyOrder.h"
#include "Schedulers/Editor.h"
#include <algorithm>
#include <map>
#include <set>

using namespace llmmem::planning;

namespace {

constexpr int64_t never = INT64_MAX;

/// The device-to-host copies, and the link that carries them.
class DeviceToHostCopies {
public:
  explicit DeviceToHostCopies(int32_t numSteps) : writtenAt(numSteps) {}

  /// Adds a copy that the idle intervals of one instance share, and returns its number. `leaves` is
  /// the start of the first interval that waits for it, once all have called `addUser`.
  int32_t add(OpIndex op, int64_t cost, int32_t written) {
    const auto number = static_cast<int32_t>(copies.size());
    copies.push_back({op, INT32_MAX, cost});
    writtenAt[written].push_back(number);
    return number;
  }
  void addUser(int32_t up, int32_t leaves) {
    copies[up].leaves = std::min(copies[up].leaves, leaves);
    ++copies[up].users;
  }
  /// One interval fewer needs it. A copy that no interval needs does not start.
  void removeUser(int32_t up) {
    if (--copies[up].users == 0)
      ready.erase({copies[up].leaves, up});
  }

  /// Returns when it ends; `never` where it has not started.
  int64_t endOf(int32_t up) const { return copies[up].end; }
  bool anyWaits() const { return !ready.empty(); }
  int64_t busyUntil() const { return free; }
  /// The values that `step` wrote are there.
  void write(int32_t step, int64_t now);
  /// Starts copies until the link is busy beyond `now`.
  void start(int64_t now);
  /// Appends those that have ended to `steps`.
  void list(int64_t now, std::vector<OpIndex> &steps);

private:
  struct Up {
    OpIndex op;
    int32_t leaves;
    int64_t cost;
    int32_t users = 0;   // number of idle intervals that need it
    int64_t there = 0;   // the time at which its value is written
    int64_t end = never; // the time at which it ends, once it has started
  };
  std::vector<Up> copies;
  std::vector<std::vector<int32_t>> writtenAt; // by step
  std::set<std::pair<int32_t, int32_t>> ready; // those whose value is written, sorted by `leaves`
  std::vector<int32_t> queue;                  // in the order in which they run
  size_t listed = 0;                           // of `queue`
  int64_t free = 0;                            // when the link is
};

class CopyScheduler {
public:
  CopyScheduler(const OffloadShape &shape, const Problem &problem, const EvictedValues &values,
                const std::vector<int32_t> &chosen, const CopyLimits &limits);

  std::optional<CopyOrder> run();

private:
  struct Down {
    IdleInterval interval;
    int32_t up;
    OpIndex op;
    int64_t cost, latest; // the latest start with which the value is back in time
    int64_t end = never;  // the time at which it ends, once it has started
    bool isDropped = false;
    bool isStarted() const { return end != never; }
  };

  void setLatest();
  bool hasLeft(const Down &it) const { return ups.endOf(it.up) <= now; }
  int64_t stillLeaving(int32_t step);
  bool makeRoom(int32_t step);
  void bringBack(int32_t step);
  void fetchAhead(int32_t step);
  void start(Down &it, int32_t step);

  const OffloadShape &shape;
  const EvictedValues &values;
  const CopyLimits limits;
  DeviceToHostCopies ups;
  std::vector<Down> downs; // sorted by the step that needs them
  MaxTree held;            // bytes at each step, with the values that came back early
  std::vector<std::vector<int32_t>> leaving; // downs by step
  std::vector<int32_t> open;                 // downs whose value had not left yet at the last look
  size_t nextDown = 0;                       // of `downs`
  int64_t now = 0, downFree = 0;
  CopyOrder order;
};

} // namespace

/// Returns the bytes that each step holds where the chosen values are evicted.
static std::vector<int64_t> bytesWithout(const EvictedValues &values,
                                         const std::vector<int32_t> &chosen) {
  std::vector<int64_t> change(values.steps().size() + 2, 0), bytes = values.bytes();
  for (int32_t interval : chosen) {
    change[values.intervals()[interval].leaves + 1] -= values.intervals()[interval].bytes;
    change[values.intervals()[interval].back] += values.intervals()[interval].bytes;
  }
  int64_t sum = 0;
  for (size_t step = 0; step < bytes.size(); ++step)
    bytes[step] += sum += change[step];
  return bytes;
}

CopyScheduler::CopyScheduler(const OffloadShape &shape, const Problem &problem,
                             const EvictedValues &values, const std::vector<int32_t> &chosen,
                             const CopyLimits &limits)
    : shape(shape), values(values), limits(limits),
      ups(static_cast<int32_t>(values.steps().size())), held(bytesWithout(values, chosen)),
      leaving(values.steps().size()) {
  std::map<int32_t, int32_t> upOf; // by instance
  for (int32_t number : chosen) {
    const IdleInterval &interval = values.intervals()[number];
    const CopyPair &copy = shape.copies[interval.copy];
    const auto [at, isNew] = upOf.try_emplace(interval.instance, -1);
    if (isNew)
      at->second = ups.add(copy.up, problem.ops[copy.up].cost, interval.written);
    ups.addUser(at->second, interval.leaves);
    downs.push_back({interval, at->second, copy.down, problem.ops[copy.down].cost, 0});
  }
  llvm::stable_sort(downs, [](const Down &a, const Down &b) {
    return std::pair(a.interval.back, a.interval.leaves) <
           std::pair(b.interval.back, b.interval.leaves);
  });
  for (size_t down = 0; down < downs.size(); ++down)
    leaving[downs[down].interval.leaves].push_back(static_cast<int32_t>(down));
  setLatest();
}

/// Sets the latest start of each host-to-device copy, from the last one to the first: it ends when
/// its reader starts, and before the latest start of the copy that follows.
void CopyScheduler::setLatest() {
  int64_t next = INT64_MAX / 2;
  for (Down &it : llvm::reverse(downs)) {
    next = std::min(next, values.startOf(it.interval.back)) - it.cost;
    it.latest = next;
  }
}

void DeviceToHostCopies::write(int32_t step, int64_t now) {
  for (int32_t up : writtenAt[step]) {
    copies[up].there = now;
    ready.insert({copies[up].leaves, up});
  }
}

void DeviceToHostCopies::start(int64_t now) {
  while (!ready.empty() && free <= now) {
    const int32_t up = ready.begin()->second;
    ready.erase(ready.begin());
    free = std::max(free, copies[up].there) + copies[up].cost;
    copies[up].end = free;
    queue.push_back(up);
  }
}

void DeviceToHostCopies::list(int64_t now, std::vector<OpIndex> &steps) {
  for (; listed < queue.size() && copies[queue[listed]].end <= now; ++listed)
    if (copies[queue[listed]].users > 0)
      steps.push_back(copies[queue[listed]].op);
}

/// Returns the bytes of the values that are to be evicted at `step` and have not left yet.
int64_t CopyScheduler::stillLeaving(int32_t step) {
  llvm::erase_if(open, [&](int32_t down) { return hasLeft(downs[down]) || downs[down].isDropped; });
  int64_t bytes = 0;
  for (int32_t down : open)
    bytes += step < downs[down].interval.back ? downs[down].interval.bytes : 0;
  return bytes;
}

/// Waits until `step` has room in addition to what is still leaving. Returns false where waiting
/// does not help.
bool CopyScheduler::makeRoom(int32_t step) {
  ups.start(now);
  while (held.max(step, step) > limits.capacity - stillLeaving(step)) {
    int64_t next = never;
    for (int32_t down : open)
      next = std::min(next, ups.endOf(downs[down].up));
    if (next == never && !ups.anyWaits())
      return false;
    now = next == never ? ups.busyUntil() : next;
    ups.start(now);
  }
  return true;
}

void CopyScheduler::start(Down &it, int32_t step) {
  downFree = it.end = std::max(now, downFree) + it.cost;
  held.add(step, it.interval.back - 1, it.interval.bytes);
  order.steps.push_back(it.op);
}

/// Waits until the operands of `step` are back. A value that has not left by now stays.
void CopyScheduler::bringBack(int32_t step) {
  for (; nextDown < downs.size() && downs[nextDown].interval.back == step; ++nextDown) {
    Down &it = downs[nextDown];
    if (!it.isStarted() && hasLeft(it))
      start(it, step);
    if (it.isStarted()) {
      now = std::max(now, it.end);
      continue;
    }
    it.isDropped = true;
    ups.removeUser(it.up);
  }
}

/// Starts the host-to-device copies that begin while `step` runs.
void CopyScheduler::fetchAhead(int32_t step) {
  const int64_t end = now + values.startOf(step + 1) - values.startOf(step);
  for (size_t at = nextDown; at < downs.size(); ++at) {
    Down &it = downs[at];
    if (it.isStarted())
      continue;
    if (std::max(now, downFree) >= end || it.interval.leaves >= step || !hasLeft(it) ||
        values.startOf(step + 1) <= it.latest - limits.ahead)
      return;
    const int64_t room = limits.capacity - it.interval.bytes;
    if (held.max(step, step) > room - stillLeaving(step) ||
        held.max(step + 1, it.interval.back - 1) > room)
      return;
    start(it, step);
  }
}

std::optional<CopyOrder> CopyScheduler::run() {
  const auto count = static_cast<int32_t>(values.steps().size());
  for (int32_t step = 0; step < count; ++step) {
    if (!makeRoom(step))
      return std::nullopt;
    ups.list(now, order.steps);
    bringBack(step);
    if (now > limits.time - (values.cost() - values.startOf(step)))
      return std::nullopt;
    ups.start(now);
    ups.list(now, order.steps);
    fetchAhead(step);
    order.steps.push_back(shape.opOf[values.steps()[step]]);
    now += values.startOf(step + 1) - values.startOf(step);
    ups.start(now); // with what was written before the step ran
    ups.write(step, now);
    for (int32_t down : leaving[step])
      open.push_back(down);
  }
  ups.start(now);
  ups.list(now, order.steps);
  bringBack(count);
  if (now > limits.time)
    return std::nullopt;
  order.time = now;
  return std::move(order);
}

std::optional<CopyOrder> llmmem::planning::orderCopies(const OffloadShape &shape,
                                                       const Problem &problem,
                                                       const EvictedValues &values,
                                                       const std::vector<int32_t> &intervals,
                                                       const CopyLimits &limits) {
  return CopyScheduler(shape, problem, values, intervals, limits).run();
}
