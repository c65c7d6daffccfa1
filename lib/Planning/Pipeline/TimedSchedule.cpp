//===- TimedSchedule.cpp - The time of a schedule, for many costs -----------------===//

#include "llmmem/Planning/Pipeline/TimedSchedule.h"
#include <algorithm>

using namespace llmmem::planning;

TimedSchedule::TimedSchedule(const PipelineShape &shape)
    : shape(shape), schedule(makeSchedule(shape)), meetings(shape.stages) {
  const std::vector<std::vector<PipelineExchange>> exchanges = placeExchanges(shape, schedule);
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    for (size_t number = 0; number < exchanges[stage].size(); ++number) {
      const PipelineExchange &exchange = exchanges[stage][number];
      if (exchange.empty())
        continue;
      Meeting &meeting = meetings[stage].emplace_back();
      meeting.endOfTasks = number;
      for (const PipelineMessage &message : exchange.sends)
        meeting.sends.push_back(
            {static_cast<int32_t>(message.writer.chunk), static_cast<int32_t>(message.to)});
      for (const PipelineMessage &message : exchange.receives)
        meeting.receives.push_back(static_cast<int32_t>(message.from));
    }
  addPeers();
}

std::vector<std::vector<Rendezvous>> TimedSchedule::rendezvous() const {
  std::vector<std::vector<Rendezvous>> stages(shape.stages);
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    for (const Meeting &meeting : meetings[stage]) {
      Rendezvous &ends = stages[stage].emplace_back();
      for (const Sent &sent : meeting.sends)
        ends.sends.push_back(sent.to);
      ends.receives.assign(meeting.receives.begin(), meeting.receives.end());
    }
  return stages;
}

void TimedSchedule::addPeers() {
  auto place = [](const MessageEnd &end) {
    return Peer{static_cast<int32_t>(end.stage), static_cast<int32_t>(end.op)};
  };
  for (auto [send, receive] : matchMessages(rendezvous())) {
    meetings[send.stage][send.op].peers.push_back(place(receive));
    meetings[receive.stage][receive.op].peers.push_back(place(send));
  }
}

int64_t TimedSchedule::sendingTime(const Peer &at, llvm::ArrayRef<ChunkCost> costs) const {
  int64_t ns = 0;
  for (const Sent &sent : meetings[at.stage][at.meeting].sends)
    ns += costs[sent.chunk].message;
  return ns;
}

PipelineTime TimedSchedule::time(llvm::ArrayRef<ChunkCost> costs) const {
  PipelineTime time;
  time.busy.assign(shape.stages, 0);
  std::vector<int64_t> now(shape.stages, 0);
  std::vector<size_t> nextTask(shape.stages, 0);
  std::vector<std::vector<int64_t>> reached(shape.stages); // when a stage came to each meeting
  auto work = [&](int64_t stage, int64_t ns) {
    now[stage] += ns;
    time.busy[stage] += ns;
  };
  auto runTasks = [&](int64_t stage, size_t end) {
    for (; nextTask[stage] < end; ++nextTask[stage])
      work(stage, costOf(schedule[stage][nextTask[stage]], shape, costs));
  };
  auto goOn = [&](int64_t stage) {
    const size_t next = reached[stage].size();
    const bool isLast = next == meetings[stage].size();
    runTasks(stage, isLast ? schedule[stage].size() : meetings[stage][next].endOfTasks);
    reached[stage].push_back(now[stage]);
  };
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    goOn(stage);
  auto meet = [&](int64_t stage) {
    const size_t number = reached[stage].size() - 1;
    if (number == meetings[stage].size())
      return false;
    int64_t begin = now[stage];
    int64_t ns = sendingTime({static_cast<int32_t>(stage), static_cast<int32_t>(number)}, costs);
    for (const Peer &peer : meetings[stage][number].peers) {
      if (reached[peer.stage].size() <= static_cast<size_t>(peer.meeting))
        return false;
      begin = std::max(begin, reached[peer.stage][peer.meeting]);
      ns = std::max(ns, sendingTime(peer, costs));
    }
    now[stage] = begin;
    work(stage, ns);
    goOn(stage);
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t stage = 0; stage < shape.stages; ++stage)
      while (meet(stage))
        moved = true;
  }
  time.ns = *std::max_element(now.begin(), now.end());
  return time;
}

PipelineTime TimedSchedule::timeOfStarted(llvm::ArrayRef<ChunkCost> costs) const {
  using Kind = StageEvent::Kind;
  std::vector<std::vector<StageEvent>> events(shape.stages);
  for (int64_t stage = 0; stage < shape.stages; ++stage) {
    size_t task = 0;
    int64_t notAwaited = 0;
    auto runTasks = [&](size_t end) {
      for (; task < end; ++task)
        events[stage].push_back({Kind::Work, costOf(schedule[stage][task], shape, costs)});
    };
    for (size_t number = 0; number < meetings[stage].size(); ++number) {
      runTasks(meetings[stage][number].endOfTasks);
      const Peer here{static_cast<int32_t>(stage), static_cast<int32_t>(number)};
      events[stage].push_back({Kind::Meeting, sendingTime(here, costs), /*isStarted=*/true});
      ++notAwaited;
      if (meetings[stage][number].receives.empty())
        continue;
      for (; notAwaited > 0; --notAwaited)
        events[stage].push_back({Kind::Wait});
    }
    runTasks(schedule[stage].size());
  }
  return modelTime(rendezvous(), events);
}
