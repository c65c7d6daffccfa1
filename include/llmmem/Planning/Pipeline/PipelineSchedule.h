//===- PipelineSchedule.h - What each stage of a pipeline does, in order -------===//
//
// A model is cut into stages * chunks consecutive *chunks*, and chunk c belongs to stage c mod
// stages. In a V (zero-bubble-v) the stages have the chunks forth and back: stage i has chunk i
// and, of 2p chunks, chunk 2p - 1 - i. In dualpipe a stage has chunk i for the first half of the
// micro-batches and chunk p - 1 - i for the others, so that both ends begin at once and two stages
// have the parameters of each chunk. A stage runs the forward and the backward of each of its
// chunks for each micro-batch, in an order that is fixed before anything runs. F3 is the forward of
// micro-batch 3, B3 its backward, W3 its part that gives the gradients of weights, where that
// part is a task of its own. Of 2 stages and 4 micro-batches:
//
//   gpipe        stage 0: F0 F1 F2 F3 B0 B1 B2 B3
//   1f1b         stage 0: F0 F1 B0 F2 B1 F3 B2 B3             stage 1: F0 B0 F1 B1 F2 B2 F3 B3
//   zero-bubble  stage 0: F0 F1 B0 W0 F2 B1 W1 F3 B2 W2 B3 W3 stage 1: F0 B0 F1 B1 W0 F2 B2 W1 ...
//   dualpipe     stage 0: F0 F2 F1 B2 W2 F3 B0 W0 B3 W3 B1 W1 stage 1: F2 F0 F3 B0 W0 F1 B2 W2 ...
//
// Sources: GPipe (Huang et al. 2019), PipeDream-Flush as 1F1B (Narayanan et al. 2021, section 2.2),
// interleaved (the same, section 2.2), ZB-H1 (Qi et al. 2024, section 2.2), ZB-V (Qi et al. 2024,
// "Pipeline parallelism with controllable memory"; the warm-up, steady state and end of PyTorch's
// ScheduleZBVZeroBubble), DualPipe (DeepSeek-V3 technical report 2024, section 3.2.1; the eight
// steps of deepseek-ai/DualPipe).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_PIPELINE_PIPELINESCHEDULE_H
#define LLMMEM_PLANNING_PIPELINE_PIPELINESCHEDULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llmmem::planning {

enum class PipelineKind {
  GPipe,
  OneForwardOneBackward,
  Interleaved,
  ZeroBubble,
  ZeroBubbleV,
  DualPipe
};

/// Parses one of the names of schedules. Returns nothing for another word.
std::optional<PipelineKind> parsePipelineKind(llvm::StringRef name);
llvm::StringRef nameOf(PipelineKind kind);

/// Returns "gpipe, 1f1b, interleaved, zero-bubble, zero-bubble-v or dualpipe".
std::string pipelineKindNames();

/// Returns how many chunks a stage of this kind has, where the user asks for `asked` of them.
int64_t chunksOf(PipelineKind kind, int64_t asked);

struct PipelineShape {
  PipelineKind kind = PipelineKind::OneForwardOneBackward;
  int64_t stages = 1;
  int64_t microBatches = 1;
  int64_t chunks = 1; // chunks of a stage; `interleaved` and `zero-bubble-v` have more than one

  int64_t numChunks() const { return stages * chunks; }
  int64_t stageOf(int64_t chunk, int64_t microBatch = 0) const;
  /// Returns the chunks that a stage runs for some micro-batch, in the order of the model.
  std::vector<int64_t> chunksOfStage(int64_t stage) const;
  /// Says whether gradients of weights have tasks of their own.
  bool splitsBackward() const {
    return kind == PipelineKind::ZeroBubble || kind == PipelineKind::ZeroBubbleV ||
           kind == PipelineKind::DualPipe;
  }
};

/// Says what is wrong with a shape, and what would be right. Returns nothing where there is a
/// schedule.
std::optional<std::string> checkShape(const PipelineShape &shape);

enum class TaskKind { Forward, Backward, WeightGradient };

struct PipelineTask {
  TaskKind kind = TaskKind::Forward;
  int64_t microBatch = 0;
  int64_t chunk = 0; // chunk of the whole model

  bool operator==(const PipelineTask &other) const = default;
};

/// Returns "F3", or "F3.1" for chunk 1 where the model has more chunks than stages.
std::string describe(const PipelineTask &task, const PipelineShape &shape);

/// Returns the tasks of each stage. `checkShape` must hold.
std::vector<std::vector<PipelineTask>> makeSchedule(const PipelineShape &shape);

/// Returns the largest number of micro-batches of one chunk whose forward a stage has run and whose
/// backward, the gradients of weights included, it has not ended. It is at most min(m, p - stage)
/// for 1f1b.
int64_t countInFlight(llvm::ArrayRef<PipelineTask> tasks, bool splitsBackward);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_PIPELINE_PIPELINESCHEDULE_H
