//===- ApplyCheckpoints.cpp - Reorder and clone as the schedule says -------===//

#include "ArenaPlaces.h"
#include "NamedPlaces.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/ChunkedOpInterface.h"
#include "llmmem/Layout/Barriers.h"
#include "llmmem/Layout/Workspaces.h"
#include "llmmem/Transforms/Checkpoints.h"
#include "llmmem/Transforms/Passes.h"
#include "llmmem/Transforms/StepPass.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include <map>

namespace llmmem {
#define GEN_PASS_DEF_APPLYCHECKPOINTS
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

namespace {
/// Rebuilds the body in schedule order. `current` maps each value of the unplanned program to its
/// latest run.
class ScheduleApplier {
public:
  ScheduleApplier(func::FuncOp step, const StepStorage &storage)
      : step(step), body(step.getBody().front()), storage(storage), builder(step.getContext()) {}

  /// Lists the ops by `llm.id`: each has one, and together they are 0, 1, ...
  LogicalResult readIds();

  /// Takes `llm.copies`, whose numbers in the schedule follow those of the ops.
  LogicalResult readCopies(ArrayRef<int64_t> numbers);

  /// Checks that every op runs at least once, and that nothing reads what has not run.
  LogicalResult check(ArrayRef<int64_t> schedule);

  /// Takes `llm.places`. Requires that chunks are set, as workspaces depend on them.
  LogicalResult readPlaces(ArrayRef<int64_t> schedule);

  /// Returns the number of clones.
  int64_t apply(ArrayRef<int64_t> schedule);

  /// Returns the places of the program that `apply` has made.
  const ArenaPlaces &getPlaces() const { return places; }

private:
  void runFirst(Operation *op);
  Operation *runAgain(Operation *op, int64_t number, int64_t instance);
  Operation *copy(int64_t number);
  void place(Operation *run, const RunPlaces &found);
  void finish();
  Value latest(Value value);
  Value runOf(Value root);
  LogicalResult checkCopy(int64_t number, const llvm::DenseSet<Operation *> &ran);
  int64_t numNumbers() const { return ops.size() + 2 * copies.size(); }

  /// Is a value that leaves for the host and comes back.
  struct LeavingValue {
    OpResult value;
    int64_t upNs, downNs;
    Value onHost; // the latest copy to the host; null before the first
    int64_t runs = 0;
  };

  func::FuncOp step;
  Block &body;
  const StepStorage &storage;
  OpBuilder builder;
  SmallVector<Operation *> ops, views; // of the unplanned program; ops by their ids
  SmallVector<LeavingValue> copies;
  std::vector<RunPlaces> placesOfRuns; // by position in the schedule; empty without `llm.places`
  ArenaPlaces places;
  llvm::DenseMap<Operation *, SmallVector<Value>> operandsOf;
  llvm::DenseMap<Value, Value> current;
  // Maps the result of each run that a barrier lets pass to the barrier's result.
  llvm::DenseMap<Value, Value> passed;
};
} // namespace

LogicalResult ScheduleApplier::readIds() {
  std::map<int64_t, Operation *> byId;
  // Constants stay where they are, before everything that moves after them.
  for (Operation &op : body.without_terminator()) {
    if (isResidentOp(&op))
      continue;
    if (isFreeViewOp(&op)) {
      views.push_back(&op);
      continue;
    }
    auto id = op.getAttrOfType<IntegerAttr>(LlmDialect::kId);
    if (!id)
      return op.emitError() << "has no '" << LlmDialect::kId << "', by which a schedule names it; "
                            << kPlanItAgain;
    if (!byId.try_emplace(id.getInt(), &op).second)
      return op.emitError() << "has '" << LlmDialect::kId << "' = " << id.getInt()
                            << ", which another op has; " << kPlanItAgain;
    operandsOf[&op] = llvm::to_vector(op.getOperands());
  }
  for (auto [id, op] : byId) {
    if (id != static_cast<int64_t>(ops.size()))
      return op->emitError() << "has '" << LlmDialect::kId << "' = " << id << ", but no op has "
                             << ops.size() << "; " << kPlanItAgain;
    ops.push_back(op);
  }
  return success();
}

LogicalResult ScheduleApplier::readCopies(ArrayRef<int64_t> numbers) {
  auto refuse = [&] {
    return body.getParentOp()->emitError()
           << "'" << LlmDialect::kCopies
           << "' must name, for each value that leaves, its op, which of the op's results it is, "
              "and the ns of its copy to the host and of the one back; "
           << kPlanItAgain;
  };
  for (; numbers.size() >= 4; numbers = numbers.drop_front(4)) {
    int64_t op = numbers[0], result = numbers[1];
    if (op < 0 || op >= static_cast<int64_t>(ops.size()) || result < 0 ||
        result >= static_cast<int64_t>(ops[op]->getNumResults()) ||
        !storage.hasOwnBytes(ops[op]->getResult(result)))
      return refuse();
    copies.push_back({ops[op]->getResult(result), numbers[2], numbers[3], Value()});
  }
  return numbers.empty() ? success() : refuse();
}

/// A copy to the host reads what an op wrote; a copy to the device reads what a copy to the host
/// left.
LogicalResult ScheduleApplier::checkCopy(int64_t number, const llvm::DenseSet<Operation *> &ran) {
  LeavingValue &leaving = copies[(number - ops.size()) / 2];
  bool isDown = (number - ops.size()) % 2 == 1;
  if (isDown ? leaving.runs == 0 : !ran.contains(leaving.value.getOwner()))
    return leaving.value.getOwner()->emitError()
           << "has a copy of '" << getName(leaving.value) << "' to the "
           << (isDown ? "device scheduled before it went to the host"
                      : "host scheduled before it is written")
           << "; " << kPlanItAgain;
  leaving.runs += !isDown;
  return success();
}

LogicalResult ScheduleApplier::check(ArrayRef<int64_t> schedule) {
  llvm::DenseSet<Operation *> ran;
  for (int64_t number : schedule) {
    if (number < 0 || number >= numNumbers())
      return body.getParentOp()->emitError()
             << "'" << LlmDialect::kSchedule << "' names op " << number << ", but the step has "
             << ops.size() << (copies.empty() ? "" : " and their copies") << "; " << kPlanItAgain;
    if (number >= static_cast<int64_t>(ops.size())) {
      if (failed(checkCopy(number, ran)))
        return failure();
      continue;
    }
    for (Value operand : operandsOf[ops[number]])
      for (Operation *producer : {storage.getRoot(operand).getDefiningOp(), barrierBefore(operand)})
        if (producer && !isResidentOp(producer) && !ran.contains(producer))
          return ops[number]->emitError()
                 << "is scheduled before '" << getName(operand) << "' is written; " << kPlanItAgain;
    ran.insert(ops[number]);
  }
  for (Operation *op : ops)
    if (!ran.contains(op))
      return op->emitError() << "is missing from '" << LlmDialect::kSchedule << "'; "
                             << kPlanItAgain;
  for (LeavingValue &leaving : copies)
    leaving.runs = 0;
  return success();
}

LogicalResult ScheduleApplier::readPlaces(ArrayRef<int64_t> schedule) {
  std::vector<RunFootprint> footprints;
  for (Operation *op : ops) {
    RunFootprint &footprint = footprints.emplace_back(RunFootprint{op, {}, workspaceBytes(op)});
    for (OpResult result : op->getResults())
      footprint.results.push_back(storage.hasOwnBytes(result)
                                      ? std::optional(bytesOfType(result.getType()))
                                      : std::nullopt);
  }
  for (const LeavingValue &leaving : copies) // up, and down
    footprints.insert(footprints.end(), 2,
                      {leaving.value.getOwner(), {bytesOfType(leaving.value.getType())}});
  FailureOr<std::vector<RunPlaces>> found = findNamedPlaces(step, schedule, footprints);
  if (failed(found))
    return failure();
  placesOfRuns = std::move(*found);
  return success();
}

/// Returns the latest run of what has bytes of its own.
Value ScheduleApplier::runOf(Value root) {
  auto it = current.find(root);
  return it == current.end() ? root : it->second;
}

/// Returns the latest run of `value`; a view is recomputed over the latest run of its source.
Value ScheduleApplier::latest(Value value) {
  Value root = storage.getRoot(value);
  if (root == value)
    return runOf(root);
  auto view = cast<OpResult>(value);
  // A value that was recomputed after a barrier is read as it is: it is another value, which
  // nothing can merge with what comes before the barrier.
  if (isBarrierOp(view.getOwner()))
    return passed.lookup(view) == runOf(root)
               ? value
               : latest(operandsOf[view.getOwner()][*viewedOperand(view)]);
  IRMapping mapping;
  for (Value operand : view.getOwner()->getOperands())
    mapping.map(operand, latest(operand));
  return builder.clone(*view.getOwner(), mapping)->getResult(view.getResultNumber());
}

void ScheduleApplier::runFirst(Operation *op) {
  op->moveBefore(body.getTerminator());
  builder.setInsertionPoint(op);
  for (auto [operand, value] : llvm::zip(op->getOpOperands(), operandsOf[op]))
    operand.set(latest(value));
  for (Value result : op->getResults())
    current[result] = result;
  if (isBarrierOp(op))
    for (Value result : op->getResults())
      passed[result] = runOf(storage.getRoot(result));
}

Operation *ScheduleApplier::runAgain(Operation *op, int64_t number, int64_t instance) {
  builder.setInsertionPoint(body.getTerminator());
  auto operands = llvm::map_to_vector(operandsOf[op], [&](Value value) { return latest(value); });
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  clone->removeAttr(LlmDialect::kDecision);
  clone->removeAttr(LlmDialect::kId);
  clone->setAttr(LlmDialect::kCloneOf, builder.getI64IntegerAttr(number));
  // CSE compares discardable attributes too, so distinct instances are never merged.
  clone->setAttr(LlmDialect::kInstance, builder.getI64IntegerAttr(instance));
  for (auto [result, again] : llvm::zip(op->getResults(), clone->getResults()))
    current[result] = again;
  return clone;
}

/// A repeated copy carries another `llm.instance`, as clones do.
Operation *ScheduleApplier::copy(int64_t number) {
  LeavingValue &leaving = copies[(number - ops.size()) / 2];
  bool isDown = (number - ops.size()) % 2 == 1;
  builder.setInsertionPoint(body.getTerminator());
  Operation *writer = leaving.value.getOwner();
  auto type = cast<RankedTensorType>(leaving.value.getType());
  auto onHost = RankedTensorType::get(type.getShape(), type.getElementType(),
                                      llm::HostAttr::get(builder.getContext()));
  Operation *made = nullptr;
  if (isDown)
    made = llm::CopyToDeviceOp::create(builder, writer->getLoc(), type, leaving.onHost);
  else
    made = llm::CopyToHostOp::create(builder, writer->getLoc(), onHost, latest(leaving.value),
                                     /*destination=*/Value());
  made->setAttr(LlmDialect::kName,
                builder.getStringAttr(getName(leaving.value) + (isDown ? "" : " on the host")));
  if (Attribute block = writer->getAttr(LlmDialect::kBlock))
    made->setAttr(LlmDialect::kBlock, block);
  made->setAttr(LlmDialect::kCost,
                llm::CostAttr::get(builder.getContext(), /*flops=*/0, bytesOfType(type),
                                   isDown ? leaving.downNs : leaving.upNs, /*workspace=*/0));
  if (leaving.runs++ > 1)
    made->setAttr(LlmDialect::kInstance, builder.getI64IntegerAttr(leaving.runs - 2));
  (isDown ? current[leaving.value] : leaving.onHost) = made->getResult(0);
  return made;
}

void ScheduleApplier::place(Operation *run, const RunPlaces &found) {
  for (auto [result, offset] : llvm::zip_equal(run->getResults(), found.results))
    if (offset)
      places.values[result] = *offset;
  if (found.workspace)
    places.workspaces[run] = *found.workspace;
}

void ScheduleApplier::finish() {
  Operation *terminator = body.getTerminator();
  builder.setInsertionPoint(terminator);
  for (OpOperand &operand : terminator->getOpOperands())
    operand.set(latest(operand.get()));
  for (Operation *view : llvm::reverse(views))
    if (view->use_empty())
      view->erase();
}

int64_t ScheduleApplier::apply(ArrayRef<int64_t> schedule) {
  SmallVector<int64_t> runs(ops.size(), 0);
  int64_t clones = 0;
  for (auto [position, number] : llvm::enumerate(schedule)) {
    Operation *run = nullptr;
    if (number >= static_cast<int64_t>(ops.size())) {
      run = copy(number);
    } else if (runs[number]++ == 0) {
      runFirst(run = ops[number]);
    } else {
      run = runAgain(ops[number], number, runs[number] - 1);
      ++clones;
    }
    if (!placesOfRuns.empty())
      place(run, placesOfRuns[position]);
  }
  for (auto [op, count] : llvm::zip_equal(ops, runs))
    if (count == 1)
      op->removeAttr(LlmDialect::kId); // no pass looks up its clones
  finish();
  return clones;
}

/// Sets the chunks that the plan chose; their costs are there already.
static LogicalResult setChunks(func::FuncOp step) {
  for (Operation &op : step.getBody().front()) {
    auto rows = op.getAttrOfType<IntegerAttr>(LlmDialect::kChunk);
    if (!rows)
      continue;
    auto chunked = dyn_cast<ChunkedOpInterface>(op);
    if (!chunked)
      return op.emitError() << "has '" << LlmDialect::kChunk << "', but does not work in chunks";
    chunked.setChunkRows(rows.getInt());
    op.removeAttr(LlmDialect::kChunk);
  }
  return success();
}

FailureOr<int64_t> llmmem::applyCheckpoints(func::FuncOp step, const StepStorage &storage) {
  auto schedule = step->getAttrOfType<DenseI64ArrayAttr>(LlmDialect::kSchedule);
  if (!schedule)
    return step.emitError() << "has no '" << LlmDialect::kSchedule
                            << "'; run plan-checkpoints first";
  const bool hasPlaces = step->hasAttr(LlmDialect::kPlaces);
  ScheduleApplier applier(step, storage);
  if (failed(applier.readIds()))
    return failure();
  if (auto copies = step->getAttrOfType<DenseI64ArrayAttr>(LlmDialect::kCopies);
      copies && failed(applier.readCopies(copies)))
    return failure();
  if (failed(applier.check(schedule)) || failed(setChunks(step)) ||
      (hasPlaces && failed(applier.readPlaces(schedule))))
    return failure();
  int64_t clones = applier.apply(schedule);
  for (StringRef done : {LlmDialect::kSchedule, LlmDialect::kCopies, LlmDialect::kPlaces})
    step->removeAttr(done);
  if (hasPlaces && failed(writeArena(step, StepStorage(step), applier.getPlaces())))
    return failure();
  return clones;
}

namespace {
struct ApplyCheckpointsPass : StepPass<llmmem::impl::ApplyCheckpointsBase<ApplyCheckpointsPass>> {
  using StepPass::StepPass;
  LogicalResult runOnStep(func::FuncOp step) override {
    const StepStorage *storage = getStorage();
    if (!storage)
      return failure();
    FailureOr<int64_t> clones = applyCheckpoints(step, *storage);
    numClones += clones.value_or(0);
    return clones;
  }
};
} // namespace
