//===- PipelineExchanges.cpp - Messages between stages --------------------------===//

#include "llmmem/Planning/Pipeline/PipelineExchanges.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>

using namespace llmmem::planning;

namespace {
/// One message, and the places of its ends: the number of the task that they stand before.
struct Placed {
  PipelineMessage message;
  size_t sent, received;
};

class Placement {
public:
  Placement(const PipelineShape &shape, const std::vector<std::vector<PipelineTask>> &schedule)
      : shape(shape), schedule(schedule) {}

  std::vector<std::vector<PipelineExchange>> run();

private:
  void findMessages();
  void receiveInOrder();
  void receiveWhatIsWaitedFor();
  size_t placeOf(const PipelineTask &task) const;
  std::vector<std::vector<PipelineExchange>> exchanges() const;

  const PipelineShape &shape;
  const std::vector<std::vector<PipelineTask>> &schedule;
  std::vector<Placed> messages; // those of two stages in the order in which they are sent
};
} // namespace

size_t Placement::placeOf(const PipelineTask &task) const {
  const std::vector<PipelineTask> &tasks = schedule[shape.stageOf(task.chunk)];
  return std::find(tasks.begin(), tasks.end(), task) - tasks.begin();
}

void Placement::findMessages() {
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    for (size_t place = 0; place < schedule[stage].size(); ++place) {
      PipelineTask writer = schedule[stage][place], reader = writer;
      if (writer.kind == TaskKind::WeightGradient)
        continue;
      reader.chunk += writer.kind == TaskKind::Forward ? 1 : -1;
      if (reader.chunk < 0 || reader.chunk >= shape.numChunks() ||
          shape.stageOf(reader.chunk) == stage)
        continue;
      messages.push_back(
          {{writer, stage, shape.stageOf(reader.chunk)}, place + 1, placeOf(reader)});
    }
}

/// None is received behind one that was sent after it.
void Placement::receiveInOrder() {
  std::map<std::pair<int64_t, int64_t>, size_t> next;
  for (Placed &placed : llvm::reverse(messages)) {
    auto [it, isLast] = next.try_emplace({placed.message.from, placed.message.to}, placed.received);
    if (!isLast)
      placed.received = it->second = std::min(it->second, placed.received);
  }
}

std::vector<std::vector<PipelineExchange>> Placement::exchanges() const {
  std::vector<std::vector<PipelineExchange>> stages;
  for (const std::vector<PipelineTask> &tasks : schedule)
    stages.emplace_back(tasks.size() + 1);
  for (const Placed &placed : messages) {
    stages[placed.message.from][placed.sent].sends.push_back(placed.message);
    stages[placed.message.to][placed.received].receives.push_back(placed.message);
  }
  return stages;
}

static std::vector<std::vector<Rendezvous>>
meetingsOf(const std::vector<std::vector<PipelineExchange>> &stages) {
  std::vector<std::vector<Rendezvous>> meetings;
  for (const std::vector<PipelineExchange> &exchanges : stages) {
    meetings.emplace_back();
    for (const PipelineExchange &exchange : exchanges) {
      Rendezvous meeting;
      for (const PipelineMessage &message : exchange.sends)
        meeting.sends.push_back(message.to);
      for (const PipelineMessage &message : exchange.receives)
        meeting.receives.push_back(message.from);
      meetings.back().push_back(std::move(meeting));
    }
  }
  return meetings;
}

/// Where a sender waits for a receiver that waits for something else, the receiver takes the
/// message there. Tasks form no cycle, so every message is taken at last.
void Placement::receiveWhatIsWaitedFor() {
  while (std::optional<Deadlock> found = findDeadlock(meetingsOf(exchanges()))) {
    // One of the two sends what the other would receive later.
    bool moved = false;
    for (auto [sender, at, receiver, place] :
         {std::tuple(found->stage, found->op, found->other, found->otherOp),
          std::tuple(found->other, found->otherOp.value_or(-1), found->stage,
                     std::optional<int64_t>(found->op))})
      for (Placed &placed : messages)
        if (place && placed.message.from == sender && placed.message.to == receiver &&
            static_cast<int64_t>(placed.sent) == at &&
            static_cast<int64_t>(placed.received) > *place) {
          placed.received = *place;
          moved = true;
        }
    receiveInOrder();
    if (!moved)
      return; // no order of receives helps
  }
}

std::vector<std::vector<PipelineExchange>> Placement::run() {
  findMessages();
  receiveInOrder();
  receiveWhatIsWaitedFor();
  return exchanges();
}

std::vector<std::vector<PipelineExchange>>
llmmem::planning::placeExchanges(const PipelineShape &shape,
                                 const std::vector<std::vector<PipelineTask>> &schedule) {
  return Placement(shape, schedule).run();
}
