//===- TimedSchedule.h - The time of a schedule, for many costs of its chunks -----===//
//
// A schedule with the exchanges that placeExchanges puts between its tasks, prepared once and timed
// for the chunks of many models. Stages that exchange wait for each other
// (PipelineExchanges.h), so this takes at least as long as messages that arrive by themselves
// (PipelineTime.h).
//
// Units: ns.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_PIPELINE_TIMEDSCHEDULE_H
#define LLMMEM_PLANNING_PIPELINE_TIMEDSCHEDULE_H

#include "llmmem/Planning/Pipeline/PipelineExchanges.h"
#include "llvm/ADT/SmallVector.h"

namespace llmmem::planning {

class TimedSchedule {
public:
  explicit TimedSchedule(const PipelineShape &shape);

  const std::vector<PipelineTask> &tasksOf(int64_t stage) const { return schedule[stage]; }
  /// Returns the time of the schedule. `costs` holds the cost of each chunk. An exchange takes as
  /// long as the messages of one direction.
  PipelineTime time(llvm::ArrayRef<ChunkCost> costs) const;
  /// Returns the time where exchanges overlap the tasks: each starts after the task before it, and
  /// where it receives something it is waited for before the next task.
  PipelineTime timeOfStarted(llvm::ArrayRef<ChunkCost> costs) const;

private:
  struct Peer {
    int32_t stage, meeting;
  };
  struct Sent {
    int32_t chunk; // the chunk that has written it
    int32_t to;    // a stage
  };
  /// An exchange of a stage, the tasks before it, and the exchanges that it is done with. There is
  /// one for each task of many schedules, so it allocates nothing for the few messages that most
  /// have.
  struct Meeting {
    size_t endOfTasks;
    llvm::SmallVector<Sent, 2> sends;
    llvm::SmallVector<int32_t, 2> receives; // the stages that it receives from
    llvm::SmallVector<Peer, 2> peers;
  };
  int64_t sendingTime(const Peer &at, llvm::ArrayRef<ChunkCost> costs) const;
  std::vector<std::vector<Rendezvous>> rendezvous() const;
  void addPeers();

  PipelineShape shape;
  std::vector<std::vector<PipelineTask>> schedule;
  std::vector<std::vector<Meeting>> meetings; // by stage
};

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_PIPELINE_TIMEDSCHEDULE_H
