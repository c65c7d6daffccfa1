//===- PlanTimeline.h - What a plan holds, step by step ------------------------===//
//
// A plan says which op runs at each step and where each instance lies. A timeline says what
// follows from it, for pictures and for other programs: when each step runs, what its memory holds
// then, and for each buffer from when to when, at which bytes of the arena, and why. It describes
// the device's memory.
//
// At every step, `live` is the resident bytes and the bytes of the buffers that count there: `from`
// to `to`, both included. Bytes that a result takes over from an operand count once: as the
// result's from the step that writes it, and where the operand is larger, as the operand's until
// that step is over. The largest `live` is the peak of the plan.
//
// Times are in the unit of the problem's costs (llmmem: ns) and follow PlanTime (Plan.h).
//
// Example: x(1024, input) -> up -> y(2048) -> down -> z(1024, kept): live 3072 at `up`, 3072 at
// `down`; y is from 0 to 1.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_FORMATS_PLANTIMELINE_H
#define LLMMEM_PLANNING_FORMATS_PLANTIMELINE_H

#include "llmmem/Planning/Formats/Explain.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace llmmem::planning {

/// `Saved` is a saved value, or what brings it back. `Gradient` is another value that the backward
/// writes. `Input` is an input of the program that is not resident. `Temporary` is any other value.
enum class BufferKind : uint8_t { Saved, Gradient, Temporary, Workspace, Input };
inline constexpr BufferKind allBufferKinds[] = {BufferKind::Saved, BufferKind::Gradient,
                                                BufferKind::Temporary, BufferKind::Workspace,
                                                BufferKind::Input};
/// Returns `saved`, `gradient`, `temporary`, `workspace` or `input`.
std::string_view nameOf(BufferKind kind);

struct TimelineBuffer {
  ValueIndex value; // -1: the workspace of the step
  BufferKind kind;
  int32_t from, to; // steps at which its bytes count
  int64_t bytes;
  int64_t offset;       // in the arena
  int32_t writtenAt;    // the step that writes it, -1 for an input
  ValueIndex takesOver; // the operand whose bytes it takes, or -1
};

struct TimelineStep {
  OpIndex op;
  int32_t run; // 0: the first run of the op
  int64_t start, end;
  int64_t live; // resident bytes and workspace included
};

/// What the plan does with a saved value. `kept` is the decision of the plan (Model/Decisions.h);
/// in a problem without phases, it says that the value's writer runs once.
struct TimelineSaved {
  ExplainedValue value;
  bool kept;
};

struct PlanTimeline {
  int64_t resident = 0;
  int64_t peak = 0;
  int64_t arena = 0;
  int32_t peakStep = -1;   // the first at which it is reached
  bool isMeasured = false; // whether the times of the steps are measured
  std::vector<TimelineStep> steps;
  std::vector<TimelineBuffer> buffers; // sorted by the step that writes them
  std::vector<TimelineSaved> saved;    // sorted by bytes, largest first
};

/// Returns the name of the first value that `op` writes, which tells ops of one kind apart. The
/// name may be empty.
std::string nameOfResult(const Problem &problem, const Op &op);

/// Returns the timeline of a plan in which `verify` finds no violation.
PlanTimeline timelineOf(const Problem &problem, const Plan &plan);

/// Replaces the times by those of a llmmem-profile of this very step (llmmem-run --profile-json):
/// one call after another, each as long as its median in ns. Refuses, with the step, a profile of
/// anything else, such as one with collectives that overlap other steps.
llvm::Error takeMeasuredTimes(const Problem &problem, PlanTimeline &timeline,
                              llvm::StringRef profile);

/// Returns the JSON of a llmmem-timeline (docs/Design/Study.md has its keys).
std::string timelineJson(const Problem &problem, const PlanTimeline &timeline);

/// Returns the Trace Event Format, for Perfetto and chrome://tracing. It has a thread for each
/// resource, on which phases hold blocks and blocks hold steps, and a counter of live bytes by
/// kind. Costs are taken as ns.
std::string traceJson(const Problem &problem, const PlanTimeline &timeline);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_FORMATS_PLANTIMELINE_H
