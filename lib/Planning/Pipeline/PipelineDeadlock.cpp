//===- PipelineDeadlock.cpp - Whether the exchanges of stages all end ----------===//

#include "llmmem/Planning/Pipeline/PipelineExchanges.h"
#include <algorithm>
#include <map>

using namespace llmmem::planning;

namespace {
/// An op of a stage, or none where a sequence has no op that would match.
struct StageOp {
  int64_t stage;
  std::optional<int64_t> op;
};

/// For each op of each stage, the ops that it waits for.
using Waits = std::vector<std::vector<std::vector<StageOp>>>;

/// The ends of the messages from one stage to another, in order.
struct Channel {
  std::vector<MessageEnd> sends, receives;
};
using Channels = std::map<std::pair<int64_t, int64_t>, Channel>;
} // namespace

static Channels findChannels(llvm::ArrayRef<std::vector<Rendezvous>> stages) {
  Channels channels;
  for (int64_t stage = 0; stage < static_cast<int64_t>(stages.size()); ++stage)
    for (int64_t op = 0; op < static_cast<int64_t>(stages[stage].size()); ++op) {
      const Rendezvous &meeting = stages[stage][op];
      for (size_t number = 0; number < meeting.sends.size(); ++number)
        channels[{stage, meeting.sends[number]}].sends.push_back(
            {stage, op, static_cast<int64_t>(number)});
      for (size_t number = 0; number < meeting.receives.size(); ++number)
        channels[{meeting.receives[number], stage}].receives.push_back(
            {stage, op, static_cast<int64_t>(number)});
    }
  return channels;
}

static void addWaits(Waits &waits, const std::vector<MessageEnd> &ends,
                     const std::vector<MessageEnd> &others, int64_t otherStage) {
  for (size_t k = 0; k < ends.size(); ++k) {
    StageOp place{otherStage, std::nullopt};
    if (k < others.size())
      place.op = others[k].op;
    waits[ends[k].stage][ends[k].op].push_back(place);
  }
}

/// The k-th op of all stages on one is the k-th on every other.
static void addWaitsOfAll(Waits &waits, llvm::ArrayRef<std::vector<Rendezvous>> stages) {
  std::vector<std::vector<int64_t>> ofAll(stages.size());
  for (size_t stage = 0; stage < stages.size(); ++stage)
    for (size_t op = 0; op < stages[stage].size(); ++op)
      if (stages[stage][op].isOfAll)
        ofAll[stage].push_back(static_cast<int64_t>(op));
  for (size_t stage = 0; stage < stages.size(); ++stage)
    for (size_t k = 0; k < ofAll[stage].size(); ++k)
      for (size_t other = 0; other < stages.size(); ++other) {
        StageOp place{static_cast<int64_t>(other), std::nullopt};
        if (k < ofAll[other].size())
          place.op = ofAll[other][k];
        if (other != stage)
          waits[stage][ofAll[stage][k]].push_back(place);
      }
}

static Waits findWaits(llvm::ArrayRef<std::vector<Rendezvous>> stages) {
  Waits waits;
  for (const std::vector<Rendezvous> &stage : stages)
    waits.emplace_back(stage.size());
  for (auto &[ends, channel] : findChannels(stages)) {
    addWaits(waits, channel.sends, channel.receives, ends.second);
    addWaits(waits, channel.receives, channel.sends, ends.first);
  }
  addWaitsOfAll(waits, stages);
  return waits;
}

namespace {
/// Tracks how far each stage comes.
class Progress {
public:
  explicit Progress(llvm::ArrayRef<std::vector<Rendezvous>> stages)
      : waits(findWaits(stages)), at(stages.size(), 0) {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t stage = 0; stage < at.size(); ++stage)
        for (; !hasEnded(stage) && !missing(stage); ++at[stage])
          moved = true;
    }
  }

  bool hasEnded(size_t stage) const { return at[stage] >= waits[stage].size(); }

  /// Returns what the current op of a stage waits for.
  const StageOp *missing(size_t stage) const {
    for (const StageOp &place : waits[stage][at[stage]])
      if (!place.op || static_cast<int64_t>(at[place.stage]) < *place.op)
        return &place;
    return nullptr;
  }

  std::optional<Deadlock> find() const {
    size_t stage = 0;
    while (stage < at.size() && hasEnded(stage))
      ++stage;
    if (stage == at.size())
      return std::nullopt;
    // The walk goes from a stage that waits to what it waits for, until one comes again: those two
    // block each other.
    std::vector<bool> seen(at.size(), false);
    while (true) {
      seen[stage] = true;
      int64_t other = missing(stage)->stage;
      Deadlock found{static_cast<int64_t>(stage), static_cast<int64_t>(at[stage]), other,
                     std::nullopt};
      if (!hasEnded(other))
        found.otherOp = static_cast<int64_t>(at[other]);
      if (hasEnded(other) || seen[other])
        return found;
      stage = other;
    }
  }

  Waits waits;
  std::vector<size_t> at;
};
} // namespace

std::optional<Deadlock>
llmmem::planning::findDeadlock(llvm::ArrayRef<std::vector<Rendezvous>> stages) {
  return Progress(stages).find();
}

std::vector<std::pair<MessageEnd, MessageEnd>>
llmmem::planning::matchMessages(llvm::ArrayRef<std::vector<Rendezvous>> stages) {
  std::vector<std::pair<MessageEnd, MessageEnd>> pairs;
  for (auto &[ends, channel] : findChannels(stages))
    for (size_t k = 0; k < std::min(channel.sends.size(), channel.receives.size()); ++k)
      pairs.push_back({channel.sends[k], channel.receives[k]});
  return pairs;
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

namespace {
/// Runs the events of all stages, each as far as the others let it.
class StageClocks {
public:
  StageClocks(llvm::ArrayRef<std::vector<Rendezvous>> stages,
              llvm::ArrayRef<std::vector<StageEvent>> events)
      : waits(findWaits(stages)), events(events), clocks(events.size()) {
    for (size_t stage = 0; stage < events.size(); ++stage)
      for (const StageEvent &event : events[stage])
        if (event.kind == StageEvent::Kind::Meeting)
          clocks[stage].meetingNs.push_back(event.ns);
  }

  PipelineTime run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t stage = 0; stage < clocks.size(); ++stage)
        while (clocks[stage].next < events[stage].size() && mayRun(stage)) {
          ++clocks[stage].next;
          moved = true;
        }
    }
    PipelineTime time;
    for (const Clock &clock : clocks) {
      time.busy.push_back(clock.busy);
      time.ns = std::max({time.ns, clock.compute, clock.link});
    }
    return time;
  }

private:
  struct Clock {
    size_t next = 0;                      // event
    int64_t compute = 0, link = 0;        // until when they are busy
    int64_t busy = 0;                     // the time in which compute works or stands still
    std::vector<int64_t> reached;         // by meeting, when the stage came to it
    std::vector<int64_t> meetingNs;       // by meeting
    std::vector<int64_t> started;         // by started event, when it is done
    size_t numWaits = 0, numMeetings = 0; // those that are over
  };

  /// Runs the next event of `stage`. Returns false where it waits for other stages.
  bool mayRun(size_t stage) {
    Clock &clock = clocks[stage];
    const StageEvent &event = events[stage][clock.next];
    switch (event.kind) {
    case StageEvent::Kind::Work:
      clock.compute += event.ns;
      clock.busy += event.ns;
      return true;
    case StageEvent::Kind::Wait:
      if (clock.numWaits < clock.started.size())
        clock.compute = std::max(clock.compute, clock.started[clock.numWaits++]);
      return true;
    case StageEvent::Kind::Transfer:
      occupyLink(clock, event, std::max(clock.compute, clock.link), event.ns);
      return true;
    case StageEvent::Kind::Meeting:
      return meet(stage, event);
    }
    return true;
  }

  void occupyLink(Clock &clock, const StageEvent &event, int64_t at, int64_t ns) {
    clock.link = at + ns;
    if (event.isStarted) {
      clock.started.push_back(clock.link);
      return;
    }
    clock.compute = clock.link;
    clock.busy += ns;
  }

  bool meet(size_t stage, const StageEvent &event) {
    Clock &clock = clocks[stage];
    const size_t meeting = clock.numMeetings;
    if (clock.reached.size() == meeting)
      clock.reached.push_back(std::max(clock.compute, clock.link));
    int64_t begin = clock.reached.back(), ns = event.ns;
    for (const StageOp &place : waits[stage][meeting]) {
      const Clock &other = clocks[place.stage];
      if (!place.op || *place.op >= static_cast<int64_t>(other.reached.size()))
        return false;
      begin = std::max(begin, other.reached[*place.op]);
      ns = std::max(ns, other.meetingNs[*place.op]);
    }
    ++clock.numMeetings;
    occupyLink(clock, event, begin, ns);
    return true;
  }

  Waits waits;
  llvm::ArrayRef<std::vector<StageEvent>> events;
  std::vector<Clock> clocks;
};
} // namespace

PipelineTime llmmem::planning::modelTime(llvm::ArrayRef<std::vector<Rendezvous>> stages,
                                         llvm::ArrayRef<std::vector<StageEvent>> events) {
  return StageClocks(stages, events).run();
}
