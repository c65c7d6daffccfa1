//===- ArenaBufferize.cpp - A planned step over views of one arena ---------===//

#include "llmmem/Bufferization/ArenaBufferize.h"
#include "ArenaBufferizer.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Interfaces/EmptyOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Iterators.h"

using namespace mlir;
using namespace llmmem;
using bufferization::BufferizableOpInterface;
using llm::LlmDialect;

static bool isTensor(Value value) { return isa<TensorType>(value.getType()); }

static bool touchesTensors(Operation &op) {
  return llvm::any_of(op.getOperands(), isTensor) || llvm::any_of(op.getResults(), isTensor);
}

//===----------------------------------------------------------------------===//
// Deciding
//===----------------------------------------------------------------------===//

/// It looks through views, in the bodies of loops and around them.
Value ArenaBufferizer::rootOf(Value value) const {
  while (true) {
    auto it = viewed.find(value);
    Value next = it == viewed.end() ? storage.getRoot(value) : it->second;
    if (next == value)
      return value;
    value = next;
  }
}

Place ArenaBufferizer::placeOf(Value value) const {
  Value root = rootOf(value);
  if (auto known = inner.find(root); known != inner.end())
    return known->second;
  return plannedPlace(root, storage);
}

/// Returns whether it copies a part, or a part in another shape.
static bool isCopyOfPart(Operation &op) {
  return isa<tensor::ExtractSliceOp, tensor::CollapseShapeOp>(op) && !isViewOp(&op);
}

/// Returns whether no op has written into the result of `op`, so that it is only a shape.
bool ArenaBufferizer::isEmpty(Operation &op) const {
  return isa<EmptyOpInterface>(op) ||
         (isViewOp(&op) &&
          llvm::all_of(op.getResults(), [&](Value view) { return isEmptyValue(rootOf(view)); }));
}

static LogicalResult refuseWithoutPlace(Operation &op) {
  InFlightDiagnostic error = op.emitError() << "'" << op.getName() << "' ";
  if (isa_and_present<LlmDialect>(op.getDialect()))
    return error << "is of the llm dialect, which --convert-step-to-kernels takes into the arena; "
                    "leave arena-bufferize out, or lower the graph to linalg before planning";
  return error << "has no destination to write into, so it cannot run in the arena; give it one "
                  "before planning: --give-destinations for ops of tensor, arith and math, "
                  "--tosa-to-linalg-named and --tosa-to-linalg for tosa";
}

LogicalResult ArenaBufferizer::decide(Operation &op, SmallVectorImpl<ArenaOpPlan> &into) {
  if (!touchesTensors(op) || isEmpty(op))
    return success();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    ArenaOpPlan plan{loop};
    if (failed(decideLoop(loop, plan)))
      return failure();
    into.push_back(std::move(plan));
    return success();
  }
  auto destinations = dyn_cast<DestinationStyleOpInterface>(op);
  bool hasPlace = isResidentOp(&op) || isViewOp(&op) || destinations || isCopyOfPart(op) ||
                  llvm::none_of(op.getResults(), isTensor);
  if (!isa<BufferizableOpInterface>(op) || !hasPlace)
    return refuseWithoutPlace(op);
  ArenaOpPlan plan{&op, isCopyOfPart(op)};
  for (OpResult result : op.getResults())
    if (!isResidentOp(&op))
      plan.results.push_back(placeOf(result));
  if (destinations && !isViewOp(&op)) {
    bufferization::AnalysisState analysis(options);
    for (OpOperand &init : destinations.getDpsInitsMutable()) {
      Value root = rootOf(init.get());
      bool isRead = !isEmptyValue(root) &&
                    cast<BufferizableOpInterface>(op).bufferizesToMemoryRead(init, analysis);
      bool isThere =
          !storage.isConstant(root) && placeOf(root) == plan.results[plan.copiesInits.size()];
      plan.copiesInits.push_back(isRead && !isThere);
    }
  }
  into.push_back(std::move(plan));
  return success();
}

LogicalResult ArenaBufferizer::decide() {
  if (auto uses = SymbolTable::getSymbolUses(step, step->getParentOp()); uses && !uses->empty()) {
    InFlightDiagnostic error =
        step.emitError("is called, and its callers do not have its arena; take them out of the "
                       "module");
    error.attachNote(uses->begin()->getUser()->getLoc()) << "it is called here";
    return error;
  }
  // It stops at the first failure, because a step has hundreds of its kind.
  return failure(llvm::any_of(body.without_terminator(),
                              [&](Operation &op) { return failed(decide(op, plans)); }));
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

static MemRefType memrefOf(Type tensor) {
  auto ranked = cast<RankedTensorType>(tensor);
  return MemRefType::get(ranked.getShape(), ranked.getElementType());
}

void ArenaBufferizer::convertArguments() {
  rewriter.setInsertionPointToStart(&body);
  for (BlockArgument argument : body.getArguments()) {
    for (StringRef name : {"bufferization.writable", "bufferization.buffer_layout",
                           "bufferization.access", "tf.aliasing_output"})
      step.removeArgAttr(argument.getArgNumber(), name);
    if (!isTensor(argument))
      continue;
    Type tensor = argument.getType();
    argument.setType(memrefOf(tensor));
    Value again = asTensor(argument, tensor);
    rewriter.replaceAllUsesExcept(argument, again, again.getDefiningOp());
  }
  body.addArgument(MemRefType::get({arenaBytes}, rewriter.getI8Type()), step.getLoc());
}

Value ArenaBufferizer::viewOf(Place place, Type tensor, Location location) {
  if (place.argument)
    return body.getArgument(*place.argument);
  Value offset = arith::ConstantIndexOp::create(rewriter, location, place.offset);
  return memref::ViewOp::create(rewriter, location, memrefOf(tensor), body.getArguments().back(),
                                offset, ValueRange());
}

LogicalResult ArenaBufferizer::copyTo(Value tensor, Value buffer) {
  FailureOr<Value> held = bufferOf(tensor);
  if (failed(held))
    return failure();
  memref::CopyOp::create(rewriter, buffer.getLoc(), *held, buffer);
  return success();
}

/// Bufferizes an op that views a part, and a copy of the viewed bytes.
LogicalResult ArenaBufferizer::copyPart(const ArenaOpPlan &plan) {
  Operation *op = plan.op;
  Type type = op->getResult(0).getType();
  Value out = viewOf(plan.results[0], type, op->getLoc()), to = out;
  FailureOr<Value> from = bufferOf(op->getOperand(0));
  if (failed(from))
    return failure();
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    to = memref::ExpandShapeOp::create(rewriter, op->getLoc(), collapse.getSrcType().getShape(),
                                       out, collapse.getReassociationIndices());
  } else {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    auto part = memref::SubViewOp::inferRankReducedResultType(
        slice.getType().getShape(), cast<MemRefType>(from->getType()), slice.getMixedOffsets(),
        slice.getMixedSizes(), slice.getMixedStrides());
    from = memref::SubViewOp::create(rewriter, op->getLoc(), cast<MemRefType>(part), *from,
                                     slice.getMixedOffsets(), slice.getMixedSizes(),
                                     slice.getMixedStrides())
               .getResult();
  }
  memref::CopyOp::create(rewriter, op->getLoc(), *from, to);
  rewriter.replaceOp(op, asTensor(out, type));
  return success();
}

LogicalResult ArenaBufferizer::rewrite(const ArenaOpPlan &plan) {
  Operation *op = plan.op;
  rewriter.setInsertionPoint(op);
  if (plan.loop)
    return rewriteLoop(plan);
  if (plan.copiesPart)
    return copyPart(plan);
  if (auto destinations = dyn_cast<DestinationStyleOpInterface>(op);
      destinations && !plan.copiesInits.empty())
    for (auto [number, copies] : llvm::enumerate(plan.copiesInits)) {
      OpOperand &init = *destinations.getDpsInitOperand(number);
      Type type = init.get().getType();
      Value out = viewOf(plan.results[number], type, op->getLoc());
      if (copies && failed(copyTo(init.get(), out)))
        return failure();
      init.set(asTensor(out, type));
    }
  // A body may read elements of constants.
  SmallVector<Operation *> inOrder;
  op->walk([&](Operation *inner) {
    if (inner == op || (touchesTensors(*inner) && llvm::none_of(inner->getResults(), isTensor)))
      inOrder.push_back(inner);
  });
  for (Operation *each : inOrder)
    if (failed(toMemrefs(each)))
      return failure();
  return success();
}

LogicalResult ArenaBufferizer::toMemrefs(Operation *op) {
  Location location = op->getLoc();
  OperationName name = op->getName();
  auto bufferizable = dyn_cast<BufferizableOpInterface>(op);
  rewriter.setInsertionPoint(op);
  if (bufferizable && succeeded(bufferizable.bufferize(rewriter, options, state)))
    return success();
  return emitError(location) << "'" << name << "' could not be given its place in the arena";
}

LogicalResult ArenaBufferizer::convertReturn() {
  Operation *results = body.getTerminator();
  rewriter.setInsertionPoint(results);
  for (OpOperand &operand : results->getOpOperands()) {
    if (!isTensor(operand.get()))
      continue;
    FailureOr<Value> buffer = bufferOf(operand.get());
    if (failed(buffer))
      return failure();
    operand.set(*buffer);
  }
  SmallVector<DictionaryAttr> attributes;
  step.getAllArgAttrs(attributes);
  attributes.push_back(rewriter.getDictionaryAttr({}));
  step.setType(
      FunctionType::get(step.getContext(), body.getArgumentTypes(), results->getOperandTypes()));
  step.setAllArgAttrs(attributes);
  return success();
}

/// No op reads tensors any more, and all bytes come from the arena, arguments and globals.
LogicalResult ArenaBufferizer::checkNothingIsLeft() {
  step.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    bool isShape = isa<bufferization::ToTensorOp, EmptyOpInterface>(op) ||
                   (isViewOp(op) && touchesTensors(*op));
    if (isShape && op->use_empty())
      op->erase();
  });
  WalkResult walked = step.walk([&](Operation *op) -> WalkResult {
    if (hasEffect<MemoryEffects::Allocate>(op) || isa<bufferization::AllocTensorOp>(op))
      return op->emitError() << "allocates bytes that no plan has counted";
    if (op != step && touchesTensors(*op))
      return op->emitError() << "is left with tensors, which have no place in the arena";
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

LogicalResult ArenaBufferizer::rewrite() {
  convertArguments();
  for (const ArenaOpPlan &plan : plans)
    if (failed(rewrite(plan)))
      return failure();
  return failed(convertReturn()) ? failure() : checkNothingIsLeft();
}

LogicalResult llmmem::arenaBufferize(func::FuncOp step, const StepStorage &storage) {
  auto arena = step->getAttrOfType<IntegerAttr>(LlmDialect::kArena);
  if (!arena)
    return step.emitError()
           << "has no '" << LlmDialect::kArena
           << "'; run apply-checkpoints, or plan-arena for a step without a plan, first";
  ArenaBufferizer bufferizer(step, storage, arena.getInt());
  return failed(bufferizer.decide()) ? failure() : bufferizer.rewrite();
}
