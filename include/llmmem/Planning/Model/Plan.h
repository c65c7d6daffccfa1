//===- Plan.h - The planner's output ---------------------------------------===//
//
// A Plan is an execution order with repeats, and a byte offset in one arena for every value
// instance. `steps[i]` is the op that runs at step i. An instance is named by the step that wrote
// it (inputs: step -1).
//
// A feasible plan claims that residentBytes + arena <= budget, that its peak and cost are as
// stated, and that costLowerBound and peakLowerBound are proved (docs/Design/Planning.md says how).
// `Verify.h` checks each of these claims with code that shares nothing with the solvers. It cannot
// prove a bound, but refutes one that the plan itself, or the program order, contradicts.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_MODEL_PLAN_H
#define LLMMEM_PLANNING_MODEL_PLAN_H

#include "llmmem/Planning/Model/Problem.h"

namespace llmmem::planning {

enum class Status : uint8_t {
  Feasible,
  Infeasible,
  Unknown
}; // Infeasible is only reported with a proof

/// Returns `feasible`, `infeasible` or `unknown`.
LLMMEM_EXPORT std::string_view nameOf(Status status);

struct InstanceOffset {
  int32_t step; // the step that writes the instance, -1 for an input
  ValueIndex value;
  int64_t offset; // bytes from the arena's start
};

struct WorkspaceOffset {
  int32_t step;
  int64_t offset;
};

/// Why there is no plan: the footprint of one op (`proved`), or the step that the search could not
/// lower.
struct Witness {
  std::optional<OpIndex> op;
  std::vector<ValueIndex> values; // largest first
  int64_t bytes = 0;              // lower bound on the bytes needed there, resident included
  bool proved = false;
  std::string why;
  MemoryIndex memory = 0; // the memory that `bytes` belong to
};

/// What a plan uses of a memory other than the device's.
struct MemoryUse {
  int64_t peak = 0;
  int64_t arena = 0;
  int64_t peakLowerBound = 0;
};

/// The time at which the last step ends. A step starts as soon as
///  - the step before it on its own resource has ended,
///  - those that wrote the instances which it reads have ended (values that only order ops take no
///    time), and
///  - every earlier step that used bytes which it writes, or takes as workspace, has ended.
/// Where there is one resource this is the cost.
struct PlanTime {
  int64_t time = 0;
  int64_t base = 0; // time of the program order without optional ops, alternatives and shared bytes
  int64_t lowerBound = 0; // proved
};

/// A value that leaves the device and comes back. This repeats what the steps and the offsets say,
/// for readers of the plan. A value that comes back twice has two of them.
struct PlannedCopy {
  ValueIndex value;
  int32_t leaves;     // the step of the device-to-host copy
  int32_t back;       // the step of the host-to-device copy
  int64_t hostOffset; // bytes from the start of the other memory's arena
};

struct ChosenAlternative {
  OpIndex op;
  int32_t number; // from 1 on
};

/// The argument for a bound, in as much detail as Bounds/Prove.h needs to prove it.
struct BoundBasis {
  enum class Kind : uint8_t {
    EveryOpOnce,
    OneOp,     // its own footprint; no op: the resident bytes
    OneCut,    // the best price at the first run of one op
    TwoOrders, // one cut for each order of two ops, each at its best price
    Together,  // several ops in this order, at `prices`
    LastRuns,  // the last run of a set of ops, whichever of them runs last
    Rounds,    // first runs of `ops` in this order, and `chains` of ops that run again in between
    OpenCut,
    SomeRepeat, // no order without repeats fits, by an open cut
    EverySchedule,
    EveryPlacement
  };
  Kind kind = Kind::EveryOpOnce;
  std::vector<OpIndex> ops;
  std::vector<int64_t> prices;
  std::vector<std::vector<OpIndex>> chains = {};
};

/// The number of one variant of a step (VariantSet.h): an alternative, and one of its tilings.
struct VariantNumber {
  int32_t alternative = 0;
  int32_t tiling = 0;
};

/// Many fields: a plan is the record that its JSON is (toJson below), whose keys are flat as well.
/// Tools and both C interfaces read it by these names; groups would give each number a second one.
struct Plan {
  Status status = Status::Unknown;
  std::vector<OpIndex> steps;
  std::vector<InstanceOffset> offsets; // sorted by step, then by value; resident values have none
  std::vector<WorkspaceOffset> workspaces;
  std::vector<ChosenAlternative> alternatives; // ops that do not run as themselves
  std::vector<PlannedCopy> copies; // sorted by `back`: all round trips of the steps, or none
  int64_t peak = 0;                // largest sum of live bytes, resident and workspaces included
  int64_t arena = 0;               // end of the highest offset or workspace
  int64_t cost = 0;
  int64_t baseCost = 0; // every op once that is not optional
  int64_t costLowerBound = 0;
  int64_t peakLowerBound = 0;
  std::string bound;    // name of the bound that held, for reports; it is not part of the JSON
  std::string searcher; // name of the searcher that made the schedule, for reports; it is not part
                        // of the JSON
  BoundBasis costBasis, peakBasis,
      infeasibilityBasis; // not part of the JSON; the last one where the plan is infeasible
  double seconds = 0;
  std::optional<Witness> witness;
  std::vector<MemoryUse> moreMemories; // memories 1 and up; `peak`, `arena` and `peakLowerBound`
                                       // are those of the device
  std::optional<PlanTime> time;        // set where the problem needs version 2
  /// The variant that the plan is for, where the step has several (VariantSet.h). Without a number,
  /// the plan is for the problem as it is stated.
  std::optional<VariantNumber> variant;

  /// The time of the step that this plan makes, where the caller models it (`PlanOptions::timeOf`).
  /// It is not part of the JSON.
  std::optional<int64_t> stepTime;

  /// Returns the number by which plans of a problem are compared: the time of the step if it is
  /// modelled, else the time at which the last step of the plan ends, else the cost.
  int64_t duration() const { return stepTime.value_or(time ? time->time : cost); }
};

/// Returns the JSON of a plan, in version 2 where the problem needs it, else in version 1.
LLMMEM_EXPORT std::string toJson(const Problem &problem, const Plan &plan);
LLMMEM_EXPORT Result<Plan> parsePlan(const Problem &problem, std::string_view json);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_PLAN_H
