//===- PipelineExchanges.h - Messages between stages, and whether they deadlock -===//
//
// Between its tasks a stage exchanges: it sends what it has computed and receives what its next
// task reads, all at once, and goes on when all of it is done. A message is done when both sides
// have come to it (nothing is buffered on the way), and messages from one stage to another match in
// the order in which they are sent and received. Of two stages that run 1F1B:
//
//   stage 0:  F0 [send F0] F1 [send F1, receive B0] B0 F2 [send F2, receive B1] B1 ...
//   stage 1:  [receive F0] F0 B0 [send B0, receive F1] F1 B1 [send B1, receive F2] ...
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_PIPELINE_PIPELINEEXCHANGES_H
#define LLMMEM_PLANNING_PIPELINE_PIPELINEEXCHANGES_H

#include "llmmem/Planning/Pipeline/PipelineTime.h"

namespace llmmem::planning {

/// What one task sends to another of a neighbouring chunk on another stage: a forward sends its
/// activations, a backward the gradient of what its chunk has read.
struct PipelineMessage {
  PipelineTask writer;
  int64_t from = 0, to = 0; // stages

  bool operator==(const PipelineMessage &other) const = default;
};

struct PipelineExchange {
  std::vector<PipelineMessage> sends, receives;
  bool empty() const { return sends.empty() && receives.empty(); }
};

/// Returns for each stage what it exchanges before each of its tasks, and after the last: one
/// exchange more than tasks. A message is sent after the task that writes it and received before
/// the task that reads it. It is sent or received earlier only where the sender would wait for
/// ever, or where another message of the same two stages comes before it.
std::vector<std::vector<PipelineExchange>>
placeExchanges(const PipelineShape &shape, const std::vector<std::vector<PipelineTask>> &schedule);

//===----------------------------------------------------------------------===//
// Deadlocks
//===----------------------------------------------------------------------===//

/// What a stage does with others at one op: it exchanges messages, or takes part in something that
/// all stages do together.
struct Rendezvous {
  std::vector<int64_t> sends, receives; // stages
  bool isOfAll = false;
};

/// An op that never completes, and the one that blocks it: the op at which the other stage waits,
/// or nothing where that stage has ended without it.
struct Deadlock {
  int64_t stage = 0, op = 0;
  int64_t other = 0;
  std::optional<int64_t> otherOp;
};

/// Runs the sequences of all stages as above. Returns nothing where all of them end.
std::optional<Deadlock> findDeadlock(llvm::ArrayRef<std::vector<Rendezvous>> stages);

/// Returns the pairs of a send and a receive that match, as (stage, op, number in the op's list).
struct MessageEnd {
  int64_t stage = 0, op = 0, number = 0;
};
std::vector<std::pair<MessageEnd, MessageEnd>>
matchMessages(llvm::ArrayRef<std::vector<Rendezvous>> stages);

/// One of the things that a stage does, in their order.
struct StageEvent {
  enum class Kind : uint8_t {
    Work,     // occupies compute
    Transfer, // occupies the link, among the ranks of the stage
    Meeting,  // occupies the link: the stage's next Rendezvous
    Wait      // waits for the first started event that nothing has waited for
  };
  Kind kind = Kind::Work;
  int64_t ns = 0;         // a meeting, once all have come to it, takes the longest that any says
  bool isStarted = false; // whether it occupies the link while what follows it runs
};

/// Returns how long the stages take that meet so. What is on a stage's link runs one after another.
/// An event that is not started asynchronously stops the stage's compute, too. A stage comes to a
/// meeting when it has started it and its link is free. Where stages wait for ever, the result is
/// the time until then.
PipelineTime modelTime(llvm::ArrayRef<std::vector<Rendezvous>> stages,
                       llvm::ArrayRef<std::vector<StageEvent>> events);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_PIPELINE_PIPELINEEXCHANGES_H
