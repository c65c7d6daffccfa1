//===- ApplyCheckpoints.cpp - Reorder and clone as the schedule says -------===//

#include "StepPass.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/ChunkedOpInterface.h"
#include "llmmem/Layout/Barriers.h"
#include "llmmem/Transforms/Checkpoints.h"
#include "llmmem/Transforms/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

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
      : body(step.getBody().front()), storage(storage), builder(step.getContext()) {
    // Constants stay where they are, before everything that moves behind them.
    for (Operation &op : body.without_terminator())
      if (!isResidentOp(&op))
        (isFreeViewOp(&op) ? views : ops).push_back(&op);
    for (Operation *op : ops)
      operandsOf[op] = llvm::to_vector(op->getOperands());
  }

  /// Takes `llm.copies`, whose numbers in the schedule stand behind those of the ops.
  LogicalResult readCopies(ArrayRef<int64_t> numbers);

  /// Every op runs at least once, and nothing reads what has not run.
  LogicalResult check(ArrayRef<int64_t> schedule);

  /// Returns the number of clones.
  int64_t apply(ArrayRef<int64_t> schedule);

private:
  void runFirst(Operation *op);
  void runAgain(Operation *op, int64_t number, int64_t instance);
  void copy(int64_t number);
  void finish();
  Value latest(Value value);
  Value runOf(Value root);
  LogicalResult checkCopy(int64_t number, const llvm::DenseSet<Operation *> &ran);
  int64_t numNumbers() const { return ops.size() + 2 * copies.size(); }

  /// A value that leaves for the host and comes back.
  struct LeavingValue {
    OpResult value;
    int64_t upNs, downNs;
    Value onHost; // the latest copy up; null before the first
    int64_t runs = 0;
  };

  Block &body;
  const StepStorage &storage;
  OpBuilder builder;
  SmallVector<Operation *> ops, views; // of the unplanned program
  SmallVector<LeavingValue> copies;
  llvm::DenseMap<Operation *, SmallVector<Value>> operandsOf;
  llvm::DenseMap<Value, Value> current;
  // The runs that barriers let pass, by the result behind which they are.
  llvm::DenseMap<Value, Value> passed;
};
} // namespace

LogicalResult ScheduleApplier::readCopies(ArrayRef<int64_t> numbers) {
  auto refuse = [&] {
    return body.getParentOp()->emitError()
           << "'" << LlmDialect::kCopies
           << "' must name, for each value that leaves, its op, which of the op's results it is, "
              "and the ns of a copy up and of one down";
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

/// A copy up reads what an op wrote; one down what a copy up left.
LogicalResult ScheduleApplier::checkCopy(int64_t number, const llvm::DenseSet<Operation *> &ran) {
  LeavingValue &leaving = copies[(number - ops.size()) / 2];
  bool isDown = (number - ops.size()) % 2 == 1;
  if (isDown ? leaving.runs == 0 : !ran.contains(leaving.value.getOwner()))
    return leaving.value.getOwner()->emitError()
           << "has a copy of '" << getName(leaving.value) << "' to the "
           << (isDown ? "device scheduled before it went to the host"
                      : "host scheduled before it is written");
  leaving.runs += !isDown;
  return success();
}

LogicalResult ScheduleApplier::check(ArrayRef<int64_t> schedule) {
  llvm::DenseSet<Operation *> ran;
  for (int64_t number : schedule) {
    if (number < 0 || number >= numNumbers())
      return body.getParentOp()->emitError()
             << "'" << LlmDialect::kSchedule << "' names op " << number << ", but the step has "
             << ops.size() << (copies.empty() ? "" : " and their copies");
    if (number >= static_cast<int64_t>(ops.size())) {
      if (failed(checkCopy(number, ran)))
        return failure();
      continue;
    }
    for (Value operand : operandsOf[ops[number]])
      for (Operation *producer : {storage.getRoot(operand).getDefiningOp(), barrierBefore(operand)})
        if (producer && !isResidentOp(producer) && !ran.contains(producer))
          return ops[number]->emitError()
                 << "is scheduled before '" << getName(operand) << "' is written";
    ran.insert(ops[number]);
  }
  for (Operation *op : ops)
    if (!ran.contains(op))
      return op->emitError() << "is missing from '" << LlmDialect::kSchedule << "'";
  for (LeavingValue &leaving : copies)
    leaving.runs = 0;
  return success();
}

/// The latest run of what has bytes of its own.
Value ScheduleApplier::runOf(Value root) {
  auto it = current.find(root);
  return it == current.end() ? root : it->second;
}

/// The latest run of `value`; a view is made again over the latest run of what it looks at.
Value ScheduleApplier::latest(Value value) {
  Value root = storage.getRoot(value);
  if (root == value)
    return runOf(root);
  auto view = cast<OpResult>(value);
  // What was made again behind a barrier is read as it is: it is another value, which nothing can
  // merge with what stands before the barrier.
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

void ScheduleApplier::runAgain(Operation *op, int64_t number, int64_t instance) {
  builder.setInsertionPoint(body.getTerminator());
  SmallVector<Value> operands;
  for (Value value : operandsOf[op])
    operands.push_back(latest(value));
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  clone->removeAttr(LlmDialect::kDecision);
  clone->removeAttr(LlmDialect::kId);
  clone->setAttr(LlmDialect::kCloneOf, builder.getI64IntegerAttr(number));
  // CSE compares discardable attributes too, so distinct instances are never merged.
  clone->setAttr(LlmDialect::kInstance, builder.getI64IntegerAttr(instance));
  op->setAttr(LlmDialect::kId, builder.getI64IntegerAttr(number));
  for (auto [result, again] : llvm::zip(op->getResults(), clone->getResults()))
    current[result] = again;
}

/// A repeated copy carries another `llm.instance`, as clones do.
void ScheduleApplier::copy(int64_t number) {
  LeavingValue &leaving = copies[(number - ops.size()) / 2];
  bool isDown = (number - ops.size()) % 2 == 1;
  builder.setInsertionPoint(body.getTerminator());
  Operation *writer = leaving.value.getOwner();
  auto type = cast<RankedTensorType>(leaving.value.getType());
  auto onHost = RankedTensorType::get(type.getShape(), type.getElementType(),
                                      llm::HostAttr::get(builder.getContext()));
  Operation *made = nullptr;
  if (isDown)
    made = llm::CopyDownOp::create(builder, writer->getLoc(), type, leaving.onHost);
  else
    made = llm::CopyUpOp::create(builder, writer->getLoc(), onHost, latest(leaving.value),
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
  for (int64_t number : schedule) {
    if (number >= static_cast<int64_t>(ops.size())) {
      copy(number);
    } else if (runs[number]++ == 0) {
      runFirst(ops[number]);
    } else {
      runAgain(ops[number], number, runs[number] - 1);
      ++clones;
    }
  }
  finish();
  return clones;
}

/// Sets the chunks that the plan chose; their costs stand there already.
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
  ScheduleApplier applier(step, storage);
  if (auto copies = step->getAttrOfType<DenseI64ArrayAttr>(LlmDialect::kCopies);
      copies && failed(applier.readCopies(copies)))
    return failure();
  if (failed(applier.check(schedule)) || failed(setChunks(step)))
    return failure();
  int64_t clones = applier.apply(schedule);
  step->removeAttr(LlmDialect::kSchedule);
  step->removeAttr(LlmDialect::kCopies);
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
