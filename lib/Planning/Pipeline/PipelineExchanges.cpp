//===- PipelineExchanges.cpp - Messages between stages --------------------------===//

#include "llmmem/Planning/Pipeline/PipelineExchanges.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <tuple>

using namespace llmmem::planning;

namespace {
/// One message, and the places of its ends: the number of the task before which each comes.
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
  void indexMessages();
  void receiveAt(size_t number, size_t place);
  void receiveInOrder();
  std::optional<int64_t> waitsFor(int64_t stage) const;
  bool takeFrom(int64_t sender, int64_t receiver);
  std::pair<int64_t, int64_t> findCycle() const;
  void receiveWhatIsWaitedFor();
  std::vector<std::vector<PipelineExchange>> exchanges() const;

  const PipelineShape &shape;
  const std::vector<std::vector<PipelineTask>> &schedule;
  std::vector<Placed> messages; // the messages of two stages, in the order in which they are sent
  std::map<std::pair<int64_t, int64_t>, std::vector<size_t>> channels; // by sender and receiver
  std::vector<size_t> placeInChannel;                                  // by message
  std::vector<std::vector<std::vector<size_t>>> sentAt, receivedAt;    // by stage and place
  std::vector<size_t> reached; // by stage: its current place
};
} // namespace

void Placement::findMessages() {
  std::map<std::tuple<TaskKind, int64_t, int64_t>, size_t> places;
  auto keyOf = [](const PipelineTask &task) {
    return std::tuple(task.kind, task.microBatch, task.chunk);
  };
  for (const std::vector<PipelineTask> &tasks : schedule)
    for (size_t place = 0; place < tasks.size(); ++place)
      places[keyOf(tasks[place])] = place;
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    for (size_t place = 0; place < schedule[stage].size(); ++place) {
      PipelineTask writer = schedule[stage][place], reader = writer;
      if (writer.kind == TaskKind::WeightGradient)
        continue;
      reader.chunk += writer.kind == TaskKind::Forward ? 1 : -1;
      if (reader.chunk < 0 || reader.chunk >= shape.numChunks() ||
          shape.stageOf(reader.chunk, reader.microBatch) == stage)
        continue;
      messages.push_back({{writer, stage, shape.stageOf(reader.chunk, reader.microBatch)},
                          place + 1,
                          places.at(keyOf(reader))});
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

/// Indexes the messages before each task, and those of each pair of stages in the order of sending.
void Placement::indexMessages() {
  for (const std::vector<PipelineTask> &tasks : schedule) {
    sentAt.emplace_back(tasks.size() + 1);
    receivedAt.emplace_back(tasks.size() + 1);
  }
  for (size_t number = 0; number < messages.size(); ++number) {
    const Placed &placed = messages[number];
    std::vector<size_t> &channel = channels[{placed.message.from, placed.message.to}];
    placeInChannel.push_back(channel.size());
    channel.push_back(number);
    sentAt[placed.message.from][placed.sent].push_back(number);
    receivedAt[placed.message.to][placed.received].push_back(number);
  }
}

/// Receives a message. None is received after one that was sent later.
void Placement::receiveAt(size_t number, size_t place) {
  const std::vector<size_t> &channel =
      channels[{messages[number].message.from, messages[number].message.to}];
  for (size_t at = placeInChannel[number] + 1; at-- > 0;) {
    Placed &placed = messages[channel[at]];
    if (placed.received <= place)
      return;
    std::vector<std::vector<size_t>> &received = receivedAt[placed.message.to];
    llvm::erase(received[placed.received], channel[at]);
    received[place].push_back(channel[at]);
    placed.received = place;
  }
}

void Placement::receiveInOrder() {
  for (const auto &[stages, channel] : channels)
    for (size_t at = channel.size(); at-- > 1;)
      receiveAt(channel[at - 1], messages[channel[at]].received);
}

/// Returns the stage that `stage` waits for at its current place, or nothing where it may go on.
std::optional<int64_t> Placement::waitsFor(int64_t stage) const {
  for (size_t number : sentAt[stage][reached[stage]])
    if (reached[messages[number].message.to] < messages[number].received)
      return messages[number].message.to;
  for (size_t number : receivedAt[stage][reached[stage]])
    if (reached[messages[number].message.from] < messages[number].sent)
      return messages[number].message.from;
  return std::nullopt;
}

/// Lets `receiver` take, at its current place, what `sender` sends at its own.
bool Placement::takeFrom(int64_t sender, int64_t receiver) {
  bool isTaken = false;
  for (size_t number : sentAt[sender][reached[sender]])
    if (messages[number].message.to == receiver && messages[number].received > reached[receiver]) {
      receiveAt(number, reached[receiver]);
      isTaken = true;
    }
  return isTaken;
}

/// Walks from a stage that waits to what it waits for, until one comes again. Those two block each
/// other.
std::pair<int64_t, int64_t> Placement::findCycle() const {
  int64_t stage = 0;
  while (!waitsFor(stage))
    ++stage;
  for (std::vector<bool> seen(schedule.size(), false);;) {
    seen[stage] = true;
    const int64_t other = *waitsFor(stage);
    if (seen[other] || !waitsFor(other))
      return {stage, other};
    stage = other;
  }
}

/// Resolves the deadlocks. Where a sender waits for a receiver that waits for something else, the
/// receiver takes the message there. Tasks form no cycle, so every message is taken at last. What
/// the stages have done up to there stays as it was, so they go on from there.
void Placement::receiveWhatIsWaitedFor() {
  reached.assign(schedule.size(), 0);
  auto hasEnded = [&](int64_t stage) { return reached[stage] == schedule[stage].size(); };
  while (true) {
    for (bool moved = true; moved;) {
      moved = false;
      for (int64_t stage = 0; stage < shape.stages; ++stage)
        for (; !hasEnded(stage) && !waitsFor(stage); ++reached[stage])
          moved = true;
    }
    bool isStuck = false;
    for (int64_t stage = 0; stage < shape.stages; ++stage)
      isStuck |= waitsFor(stage).has_value();
    if (!isStuck)
      return;
    auto [stage, other] = findCycle();
    const bool isTaken = takeFrom(stage, other), isGiven = takeFrom(other, stage);
    if (!isTaken && !isGiven)
      return; // no order of receives helps
  }
}

std::vector<std::vector<PipelineExchange>> Placement::run() {
  findMessages();
  indexMessages();
  receiveInOrder();
  receiveWhatIsWaitedFor();
  return exchanges();
}

std::vector<std::vector<PipelineExchange>>
llmmem::planning::placeExchanges(const PipelineShape &shape,
                                 const std::vector<std::vector<PipelineTask>> &schedule) {
  return Placement(shape, schedule).run();
}
