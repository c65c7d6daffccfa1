//===- VerifyTime.cpp - When the last step ends ------------------------------===//
//
// Resources run concurrently, each in the order of the plan. The offsets follow from the live
// ranges in the plan's order, so a step also waits for earlier steps that used the bytes which it
// overwrites. With that, buffers that share bytes do not overlap in time, either.
//
//===----------------------------------------------------------------------===//

#include "VerifyParts.h"
#include <algorithm>
#include <map>

namespace llmmem::planning {
namespace {

/// Tracks until when the bytes of one arena are in use.
class BusyBytes {
public:
  Wide until(int64_t begin, int64_t end) const {
    Wide latest = 0;
    for (auto at = firstEndingAfter(begin); at != ranges.end() && at->first < end; ++at)
      latest = std::max(latest, at->second.until);
    return latest;
  }

  void raise(int64_t begin, int64_t end, Wide until) {
    splitAt(begin);
    splitAt(end);
    for (int64_t from = begin; from < end;) {
      auto at = ranges.lower_bound(from);
      const int64_t next = at == ranges.end() ? end : std::min(at->first, end);
      if (from < next) {
        ranges.emplace(from, Range{next, until});
        from = next;
        continue;
      }
      at->second.until = std::max(at->second.until, until);
      from = at->second.end;
    }
  }

private:
  struct Range {
    int64_t end;
    Wide until;
  };

  std::map<int64_t, Range>::const_iterator firstEndingAfter(int64_t begin) const {
    auto at = ranges.upper_bound(begin);
    if (at != ranges.begin() && std::prev(at)->second.end > begin)
      --at;
    return at;
  }

  void splitAt(int64_t place) {
    auto at = ranges.lower_bound(place);
    if (at == ranges.begin())
      return;
    Range &before = std::prev(at)->second;
    if (before.end <= place)
      return;
    ranges.emplace(place, Range{before.end, before.until});
    before.end = place;
  }

  std::map<int64_t, Range> ranges; // sorted by begin; no two overlap
};

} // namespace

Wide makespan(const std::vector<TimedStep> &steps) {
  std::map<Resource, Wide> freeAt;
  std::map<MemoryIndex, BusyBytes> busy;
  std::vector<Wide> ends;
  Wide last = 0;
  for (const TimedStep &step : steps) {
    Wide start = freeAt[step.resource];
    for (int32_t writer : step.after)
      if (writer >= 0)
        start = std::max(start, ends[writer]);
    for (const ByteUse &use : step.bytes)
      if (use.writes)
        start = std::max(start, busy[use.memory].until(use.begin, use.end));
    const Wide end = start + step.cost;
    for (const ByteUse &use : step.bytes)
      busy[use.memory].raise(use.begin, use.end, end);
    freeAt[step.resource] = end;
    ends.push_back(end);
    last = std::max(last, end);
  }
  return last;
}

Wide baseTime(const Problem &problem) {
  std::vector<int32_t> writer(problem.values.size(), -1);
  std::vector<TimedStep> steps;
  for (const Op &op : problem.ops) {
    if (op.optional)
      continue;
    TimedStep step;
    step.resource = op.resource;
    step.cost = op.cost;
    for (ValueIndex value : op.reads)
      if (!problem.values[value].orderOnly)
        step.after.push_back(writer[value]);
    for (ValueIndex value : op.writes)
      writer[value] = static_cast<int32_t>(steps.size());
    steps.push_back(std::move(step));
  }
  return makespan(steps);
}

} // namespace llmmem::planning
