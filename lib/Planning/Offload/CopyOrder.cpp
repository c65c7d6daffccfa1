//===- CopyOrder.cpp - When the copies of a schedule of the device run ------------===//

#include "CopyOrder.h"
#include "Schedulers/Editor.h"
#include <algorithm>
#include <map>
#include <set>

using namespace llmmem::planning;

namespace {

constexpr int64_t never = INT64_MAX;

class CopyScheduler {
public:
  CopyScheduler(const OffloadShape &shape, const Problem &problem, const AbsentValues &values,
                const std::vector<int32_t> &chosen, const CopyLimits &limits);

  std::optional<CopyOrder> run();

private:
  /// A device-to-host copy, which the idle intervals of one instance share.
  struct Up {
    OpIndex op;
    int32_t written, leaves; // the step of its writer, and the start of its first idle interval
    int64_t cost;
    int32_t users = 0;   // number of idle intervals that need it
    int64_t there = 0;   // the time at which its value is written
    int64_t end = never; // the time at which it ends, once it has started
  };
  /// A host-to-device copy, which ends one idle interval.
  struct Down {
    Gap gap;
    int32_t up;
    OpIndex op;
    int64_t cost, latest; // the latest start with which the value is back in time
    int64_t end = never;  // the time at which it ends, once it has started
    bool isDropped = false;
    bool isStarted() const { return end != never; }
  };

  void setLatest();
  void startUps();
  bool hasLeft(const Down &it) const { return ups[it.up].end <= now; }
  int64_t stillLeaving(int32_t step);
  bool makeRoom(int32_t step);
  void bringBack(int32_t step);
  void fetchAhead(int32_t step);
  void start(Down &it, int32_t step);
  void listUps();

  const OffloadShape &shape;
  const AbsentValues &values;
  const CopyLimits limits;
  const int32_t count;
  std::vector<Up> ups;
  std::vector<Down> downs; // sorted by the step that needs them
  MaxTree held;            // bytes at each step, with the values that came back early
  std::vector<std::vector<int32_t>> written, leaving; // by step: ups, downs
  std::vector<int32_t> open; // downs whose value had not left yet at the last look
  std::set<std::pair<int32_t, int32_t>> ready; // ups whose value is written, sorted by `leaves`
  std::vector<int32_t> queue;                  // ups in the order in which they run
  size_t listed = 0, nextDown = 0;             // positions in `queue` and in `downs`
  int64_t now = 0, upFree = 0, downFree = 0;
  CopyOrder order;
};

} // namespace

/// Returns the bytes that each step holds where the chosen values are evicted.
static std::vector<int64_t> bytesWithout(const AbsentValues &values,
                                         const std::vector<int32_t> &chosen) {
  std::vector<int64_t> change(values.steps().size() + 2, 0), bytes = values.bytes();
  for (int32_t gap : chosen) {
    change[values.gaps()[gap].leaves + 1] -= values.gaps()[gap].bytes;
    change[values.gaps()[gap].back] += values.gaps()[gap].bytes;
  }
  int64_t sum = 0;
  for (size_t step = 0; step < bytes.size(); ++step)
    bytes[step] += sum += change[step];
  return bytes;
}

CopyScheduler::CopyScheduler(const OffloadShape &shape, const Problem &problem,
                             const AbsentValues &values, const std::vector<int32_t> &chosen,
                             const CopyLimits &limits)
    : shape(shape), values(values), limits(limits),
      count(static_cast<int32_t>(values.steps().size())), held(bytesWithout(values, chosen)),
      written(count), leaving(count) {
  std::map<int32_t, int32_t> upOf; // by instance
  for (int32_t number : chosen) {
    const Gap &gap = values.gaps()[number];
    const HostCopy &copy = shape.copies[gap.copy];
    const auto [at, isNew] = upOf.try_emplace(gap.instance, static_cast<int32_t>(ups.size()));
    if (isNew)
      ups.push_back({copy.up, gap.written, gap.leaves, problem.ops[copy.up].cost});
    ups[at->second].leaves = std::min(ups[at->second].leaves, gap.leaves);
    ++ups[at->second].users;
    downs.push_back({gap, at->second, copy.down, problem.ops[copy.down].cost, 0});
  }
  llvm::stable_sort(downs, [](const Down &a, const Down &b) {
    return std::pair(a.gap.back, a.gap.leaves) < std::pair(b.gap.back, b.gap.leaves);
  });
  for (size_t up = 0; up < ups.size(); ++up)
    written[ups[up].written].push_back(static_cast<int32_t>(up));
  for (size_t down = 0; down < downs.size(); ++down)
    leaving[downs[down].gap.leaves].push_back(static_cast<int32_t>(down));
  setLatest();
}

/// Sets the latest start of each host-to-device copy, from the last one to the first: it ends when
/// its reader starts, and before the latest start of the copy that follows.
void CopyScheduler::setLatest() {
  int64_t next = INT64_MAX / 2;
  for (Down &it : llvm::reverse(downs)) {
    next = std::min(next, values.startOf(it.gap.back)) - it.cost;
    it.latest = next;
  }
}

/// Starts device-to-host copies until the link is busy beyond the current time.
void CopyScheduler::startUps() {
  while (!ready.empty() && upFree <= now) {
    const int32_t up = ready.begin()->second;
    ready.erase(ready.begin());
    upFree = std::max(upFree, ups[up].there) + ups[up].cost;
    ups[up].end = upFree;
    queue.push_back(up);
  }
}

/// Returns the bytes of the values that are to be evicted at `step` and have not left yet.
int64_t CopyScheduler::stillLeaving(int32_t step) {
  llvm::erase_if(open, [&](int32_t down) { return hasLeft(downs[down]) || downs[down].isDropped; });
  int64_t bytes = 0;
  for (int32_t down : open)
    bytes += step < downs[down].gap.back ? downs[down].gap.bytes : 0;
  return bytes;
}

/// Waits until `step` has room in addition to what is still leaving. Returns false where waiting
/// does not help.
bool CopyScheduler::makeRoom(int32_t step) {
  startUps();
  while (held.max(step, step) > limits.capacity - stillLeaving(step)) {
    int64_t next = never;
    for (int32_t down : open)
      next = std::min(next, ups[downs[down].up].end);
    if (next == never && ready.empty())
      return false;
    now = next == never ? upFree : next;
    startUps();
  }
  return true;
}

void CopyScheduler::listUps() {
  for (; listed < queue.size() && ups[queue[listed]].end <= now; ++listed) {
    if (ups[queue[listed]].users > 0)
      order.steps.push_back(ups[queue[listed]].op);
  }
}

void CopyScheduler::start(Down &it, int32_t step) {
  downFree = it.end = std::max(now, downFree) + it.cost;
  held.add(step, it.gap.back - 1, it.gap.bytes);
  order.steps.push_back(it.op);
}

/// Waits until the operands of `step` are back. A value that has not left by now stays.
void CopyScheduler::bringBack(int32_t step) {
  for (; nextDown < downs.size() && downs[nextDown].gap.back == step; ++nextDown) {
    Down &it = downs[nextDown];
    if (!it.isStarted() && hasLeft(it))
      start(it, step);
    if (it.isStarted()) {
      now = std::max(now, it.end);
      continue;
    }
    it.isDropped = true;
    if (--ups[it.up].users == 0)
      ready.erase({ups[it.up].leaves, it.up});
  }
}

/// Starts the host-to-device copies that begin while `step` runs.
void CopyScheduler::fetchAhead(int32_t step) {
  const int64_t end = now + values.startOf(step + 1) - values.startOf(step);
  for (size_t at = nextDown; at < downs.size(); ++at) {
    Down &it = downs[at];
    if (it.isStarted())
      continue;
    if (std::max(now, downFree) >= end || it.gap.leaves >= step || !hasLeft(it) ||
        values.startOf(step + 1) <= it.latest - limits.ahead)
      return;
    const int64_t room = limits.capacity - it.gap.bytes;
    if (held.max(step, step) > room - stillLeaving(step) ||
        held.max(step + 1, it.gap.back - 1) > room)
      return;
    start(it, step);
  }
}

std::optional<CopyOrder> CopyScheduler::run() {
  for (int32_t step = 0; step < count; ++step) {
    if (!makeRoom(step))
      return std::nullopt;
    listUps();
    bringBack(step);
    if (now > limits.time - (values.cost() - values.startOf(step)))
      return std::nullopt;
    startUps();
    listUps();
    fetchAhead(step);
    order.steps.push_back(shape.opOf[values.steps()[step]]);
    now += values.startOf(step + 1) - values.startOf(step);
    startUps(); // with what was written before the step ran
    for (int32_t up : written[step]) {
      ups[up].there = now;
      ready.insert({ups[up].leaves, up});
    }
    for (int32_t down : leaving[step])
      open.push_back(down);
  }
  startUps();
  listUps();
  bringBack(count);
  if (now > limits.time)
    return std::nullopt;
  order.time = now;
  return std::move(order);
}

std::optional<CopyOrder> llmmem::planning::orderCopies(const OffloadShape &shape,
                                                       const Problem &problem,
                                                       const AbsentValues &values,
                                                       const std::vector<int32_t> &gaps,
                                                       const CopyLimits &limits) {
  return CopyScheduler(shape, problem, values, gaps, limits).run();
}
