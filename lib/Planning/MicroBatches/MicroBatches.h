//===- MicroBatches.h - Steps that do the same several times -------------------===//
//
// A stage of a pipeline runs its forward and its backward once for each micro-batch. The ops of all
// micro-batches are alike, so a schedule for one is one for each. It is searched in a problem of
// its own, as small as a step without micro-batches, and written out for all of them.
//
// A *task* is a range of a micro-batch's ops between which and the next something else may run: ops
// of other micro-batches, or an exchange between stages. The problem of one micro-batch has an op
// of no cost before each task and after the last, which nothing passes: it writes what the task
// gets from elsewhere, and reads what the task before it gave. Ops of no micro-batch that may run
// again (the gather of a parameter) are in the problem of each.
//
// Example: forwards f0 f1, backwards b0 b1 in the order f0 f1 b0 b1, each backward reading its
// forward's result. The problem of one is | f | b |. Its schedule | f | f b | gives f0 f1 f0 b0 f1
// b1.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_MICROBATCHES_MICROBATCHES_H
#define LLMMEM_LIB_PLANNING_MICROBATCHES_MICROBATCHES_H

#include "llmmem/Planning/Model/Graph.h"
#include <memory>

namespace llmmem::planning {

/// The micro-batches of a problem whose ops are labelled with them.
struct MicroBatches {
  /// Holds the ops of each micro-batch in program order: the n-th of all are alike.
  std::vector<std::vector<OpIndex>> ops;
  /// Holds, per op, its micro-batch as a position in `ops`, or -1, and its position there.
  std::vector<int32_t> numberOf, placeOf;
  /// Holds the positions at which a task begins, from 0, and the number of ops.
  std::vector<int32_t> tasks;

  int32_t count() const { return static_cast<int32_t>(ops.size()); }
  int32_t numTasks() const { return static_cast<int32_t>(tasks.size()) - 1; }
  /// Holds the largest number of micro-batches of which some ops have run and some have not, in
  /// program order.
  int32_t mostInFlight = 0;
};

/// Finds the micro-batches. Returns nothing where fewer than two are labelled, or where they are
/// not alike in costs, sizes, labels and what they read of each other and of what all share.
std::optional<MicroBatches> findMicroBatches(const Graph &graph);

/// A problem that has some ops and values of a larger one.
class ProblemPart {
public:
  explicit ProblemPart(const Graph &graph);

  const Problem &problem() const { return part; }

protected:
  /// Returns the value of the part that stands for `value`, which is added where it is missing.
  ValueIndex valueOf(ValueIndex value);
  /// Adds a value without bytes, which orders ops.
  ValueIndex addToken();
  /// Returns a copy of an op. It reads what the part has, and of the rest what `isNeeded` names.
  Op copyOf(OpIndex op, llvm::function_ref<bool(ValueIndex)> isNeeded);

  const Graph &graph;
  Problem part;
  std::vector<ValueIndex> ofValue; // per value of the whole problem, -1 where there is none
};

/// Finds the micro-batches of each kind: those of a kind are alike, and one alone may be a kind.
/// Returns nothing where fewer than two are labelled, or where one reads what another has written.
/// Ops of other kinds are ops of no micro-batch.
std::vector<MicroBatches> findKindsOfMicroBatches(const Graph &graph);

/// The problem of the first micro-batch, and what its schedules mean for all. It has no resident
/// values and no budget.
class MicroBatchProblem : public ProblemPart {
public:
  MicroBatchProblem(const Graph &graph, const MicroBatches &microBatches);

  /// Returns the same problem with a workspace of `bytes` between the forward and the backward, so
  /// that a schedule holds the less there. What several micro-batches in flight hold between the
  /// two counts several times, and what one holds while it runs counts once.
  Problem problemWithLess(int64_t bytes) const;
  /// Returns the same as one step. What comes after a task is of its phase, not of the next one's,
  /// so that a forward ends after what it sends. Weight gradients in a task of their own, after the
  /// backwards of their blocks, belong to the update.
  Problem problemOfTasks() const;
  /// Returns the schedule in which each micro-batch runs as one of `schedules` of the first, taken
  /// in turn. It includes the repeats of what all share for each. It is empty where it is no
  /// schedule: where what is shared would be read before it is written.
  std::vector<OpIndex> forAll(llvm::ArrayRef<llvm::ArrayRef<OpIndex>> schedules) const;
  /// Returns the same for one schedule, except that what all share and `steps` run once runs once
  /// for all, and is held between them.
  std::vector<OpIndex> forAllHolding(llvm::ArrayRef<OpIndex> steps) const;
  /// Returns those of `ops`, which are of the whole problem, that are in the problem of one.
  std::vector<OpIndex> inOne(llvm::ArrayRef<OpIndex> ops) const;

private:
  void findShared();
  void addOps();
  void addBarrier(int32_t task);
  void addOp(OpIndex op);
  std::vector<std::vector<OpIndex>> splitByTasks(llvm::ArrayRef<OpIndex> steps) const;
  bool isSchedule(llvm::ArrayRef<OpIndex> steps) const;

  const MicroBatches &microBatches;
  std::vector<OpIndex> opOf;      // per op of the problem of one; -1 for what comes between tasks
  std::vector<bool> shared;       // per op of the whole problem
  std::vector<ValueIndex> tokens; // tokens of the task that is being added
  ValueIndex barrier = -1;        // the token of the last op between tasks
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_MICROBATCHES_MICROBATCHES_H
