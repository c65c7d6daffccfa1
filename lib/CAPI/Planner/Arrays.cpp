//===- Arrays.cpp - From plain arrays to the planner's data ---------------------===//

#include "Arrays.h"
#include "llmmem/CAPI/Boundary.h"
#include <algorithm>
#include <limits>

using namespace llmmem;
using namespace llmmem::planning;

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

namespace {

/// Reads the arrays in turn; the first that is wrong ends it.
class ArrayProblemReader {
public:
  explicit ArrayProblemReader(const llmmem_problem &given) : given(given) {}

  Result<Problem> run() {
    if (!takeHeader() || !takeValues() || !takeOps() || !takeKeep())
      return Failure{message};
    if (std::optional<std::string> wrong = validateProblem(problem))
      return Failure{*wrong};
    return std::move(problem);
  }

private:
  bool fail(std::string what) {
    message = std::move(what);
    return false;
  }

  static constexpr int64_t most = std::numeric_limits<int32_t>::max();

  bool checkCount(int64_t count, const char *name) {
    return (count >= 0 && count < most) ||
           fail(std::string(name) + ": is " + std::to_string(count) + "; expected 0 to 2^31 - 2");
  }

  bool checkArray(const void *array, int64_t count, const char *name) {
    return array || count == 0 || fail(std::string(name) + ": is NULL");
  }

  bool takeHeader() {
    if (given.budget < 0)
      return fail("budget: must not be negative; 0 is none");
    if (given.alignment < 0)
      return fail("alignment: must not be negative; 0 is 1");
    if (given.budget > 0)
      problem.budget = given.budget;
    problem.alignment = std::max<int64_t>(given.alignment, 1);
    return checkCount(given.num_values, "num_values") && checkCount(given.num_ops, "num_ops") &&
           checkCount(given.num_keep, "num_keep");
  }

  bool takeValues() {
    if (!checkArray(given.value_bytes, given.num_values, "value_bytes"))
      return false;
    problem.values.resize(given.num_values);
    for (int64_t i = 0; i < given.num_values; ++i) {
      Value &value = problem.values[i];
      value.id = i;
      value.bytes = given.value_bytes[i];
      value.resident = given.value_resident && given.value_resident[i];
      if (given.value_names && given.value_names[i])
        value.name = given.value_names[i];
    }
    return true;
  }

  /// Checks a list of lists; afterwards each of its lists can be read.
  bool checkLists(const int64_t *begin, const int32_t *items, const char *name) {
    const std::string beginName = std::string(name) + "_begin";
    if (!checkArray(begin, given.num_ops, beginName.c_str()))
      return false;
    if (!begin)
      return true;
    if (begin[0] != 0)
      return fail(beginName + "[0]: is " + std::to_string(begin[0]) + "; expected 0");
    for (int64_t i = 0; i < given.num_ops; ++i)
      if (begin[i + 1] < begin[i])
        return fail(beginName + "[" + std::to_string(i + 1) + "]: is less than the one before it");
    return checkArray(items, begin[given.num_ops], name);
  }

  /// The op f(x, x) reads x once.
  static std::vector<ValueIndex> distinct(const int32_t *first, const int32_t *last) {
    std::vector<ValueIndex> values;
    for (; first != last; ++first)
      if (std::find(values.begin(), values.end(), *first) == values.end())
        values.push_back(*first);
    return values;
  }

  bool takeInPlace(int64_t i) {
    const int64_t *begin = given.op_in_place_begin;
    if (!begin)
      return true;
    if ((begin[i + 1] - begin[i]) % 2 != 0)
      return fail("op_in_place_begin[" + std::to_string(i + 1) + "]: op " + std::to_string(i) +
                  " has half a pair; expected a value written and a value read each");
    for (int64_t at = begin[i]; at < begin[i + 1]; at += 2)
      problem.ops[i].inPlace.push_back({given.op_in_place[at], given.op_in_place[at + 1]});
    return true;
  }

  bool takeLabels(int64_t i) {
    Op &op = problem.ops[i];
    if (given.op_names && given.op_names[i])
      op.name = given.op_names[i];
    if (given.op_blocks && given.op_blocks[i] < -1)
      return fail("op_blocks[" + std::to_string(i) + "]: must be -1 or a number from 0 up");
    if (given.op_blocks && given.op_blocks[i] >= 0)
      op.block = given.op_blocks[i];
    if (given.op_micro_batches && given.op_micro_batches[i] < -1)
      return fail("op_micro_batches[" + std::to_string(i) + "]: must be -1 or a number from 0 up");
    if (given.op_micro_batches && given.op_micro_batches[i] >= 0)
      op.microBatch = given.op_micro_batches[i];
    if (!given.op_phases)
      return true;
    if (given.op_phases[i] > LLMMEM_UPDATE)
      return fail("op_phases[" + std::to_string(i) + "]: expected LLMMEM_NO_PHASE, " +
                  "LLMMEM_FORWARD, LLMMEM_BACKWARD or LLMMEM_UPDATE");
    op.phase = static_cast<Phase>(given.op_phases[i]);
    return true;
  }

  bool takeOps() {
    if (!checkLists(given.op_reads_begin, given.op_reads, "op_reads") ||
        !checkLists(given.op_writes_begin, given.op_writes, "op_writes") ||
        (given.op_in_place_begin &&
         !checkLists(given.op_in_place_begin, given.op_in_place, "op_in_place")))
      return false;
    problem.ops.resize(given.num_ops);
    for (int64_t i = 0; i < given.num_ops; ++i) {
      Op &op = problem.ops[i];
      op.id = i;
      op.cost = given.op_costs ? given.op_costs[i] : 0;
      op.workspace = given.op_workspaces ? given.op_workspaces[i] : 0;
      op.recompute = !given.op_recompute || given.op_recompute[i];
      op.reads = distinct(given.op_reads + given.op_reads_begin[i],
                          given.op_reads + given.op_reads_begin[i + 1]);
      op.writes.assign(given.op_writes + given.op_writes_begin[i],
                       given.op_writes + given.op_writes_begin[i + 1]);
      if (!takeInPlace(i) || !takeLabels(i))
        return false;
    }
    return true;
  }

  bool takeKeep() {
    if (!checkArray(given.keep, given.num_keep, "keep"))
      return false;
    problem.keep.assign(given.keep, given.keep + given.num_keep);
    return true;
  }

  const llmmem_problem &given;
  Problem problem;
  std::string message;
};

} // namespace

Result<Problem> capi::takeProblem(const llmmem_problem *given) {
  Result<llmmem_problem> taken = take(given, "problem");
  if (!taken)
    return Failure{taken.error()};
  return ArrayProblemReader(*taken).run();
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static std::optional<std::string> wrongCount(int64_t count, const void *array, const char *name) {
  if (count < 0 || count > std::numeric_limits<int32_t>::max())
    return "num_" + std::string(name) + ": is " + std::to_string(count) +
           "; expected 0 to 2^31 - 1";
  if (count > 0 && !array)
    return std::string(name) + ": is NULL";
  return std::nullopt;
}

Result<Plan> capi::takePlan(const llmmem_plan *given) {
  Result<llmmem_plan> taken = take(given, "plan");
  if (!taken)
    return Failure{taken.error()};
  for (std::optional<std::string> wrong :
       {wrongCount(taken->num_steps, taken->steps, "steps"),
        wrongCount(taken->num_offsets, taken->offsets, "offsets"),
        wrongCount(taken->num_workspaces, taken->workspaces, "workspaces")})
    if (wrong)
      return Failure{*wrong};
  if (taken->status < LLMMEM_FEASIBLE || taken->status > LLMMEM_UNKNOWN)
    return Failure{"status: expected LLMMEM_FEASIBLE, LLMMEM_INFEASIBLE or LLMMEM_UNKNOWN"};
  Plan plan;
  plan.status = static_cast<Status>(taken->status);
  plan.steps.assign(taken->steps, taken->steps + taken->num_steps);
  for (int64_t i = 0; i < taken->num_offsets; ++i)
    plan.offsets.push_back(
        {taken->offsets[i].step, taken->offsets[i].value, taken->offsets[i].offset});
  for (int64_t i = 0; i < taken->num_workspaces; ++i)
    plan.workspaces.push_back({taken->workspaces[i].step, taken->workspaces[i].offset});
  plan.peak = taken->peak;
  plan.arena = taken->arena;
  plan.cost = taken->cost;
  plan.baseCost = taken->base_cost;
  plan.costLowerBound = taken->cost_lower_bound;
  plan.peakLowerBound = taken->peak_lower_bound;
  plan.seconds = taken->seconds;
  if (taken->witness) {
    Witness &witness = plan.witness.emplace();
    witness.why = taken->witness;
    witness.bytes = taken->witness_bytes;
    witness.proved = taken->witness_proved;
    if (taken->witness_op != -1)
      witness.op = taken->witness_op;
  }
  return plan;
}
