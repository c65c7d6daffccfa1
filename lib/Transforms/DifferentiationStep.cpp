//===- DifferentiationStep.cpp - From a loss to a training step ------------===//

#include "DifferentiationStep.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/ElementTypes.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

//===----------------------------------------------------------------------===//
// What a loss must be
//===----------------------------------------------------------------------===//

static LogicalResult checkType(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  if (tensor && tensor.hasStaticShape())
    return success();
  Operation *op = value.getDefiningOp();
  return (op ? op->emitError() : emitError(value.getLoc()))
         << "type " << value.getType()
         << " is no tensor of static shape, and a training step is planned in bytes; "
         << "import the model with a fixed batch and sequence";
}

static LogicalResult checkBody(func::FuncOp loss) {
  if (loss.isExternal() || !llvm::hasSingleElement(loss.getBody()))
    return emitError(loss.getLoc(),
                     "is not straight-line; a training step needs a body of one block");
  for (Value argument : loss.getArguments())
    if (failed(checkType(argument)))
      return failure();
  for (Operation &op : loss.getBody().front()) {
    if (op.getNumRegions() != 0)
      return op.emitError(
          "has regions; a training step is straight-line: inline or outline them first");
    for (Value result : op.getResults())
      if (failed(checkType(result)))
        return failure();
  }
  return success();
}

static LogicalResult checkScalarLoss(func::FuncOp loss) {
  if (loss.getNumResults() == 0)
    return emitError(
        loss.getLoc(),
        "returns nothing; its first result must be the loss, as tensor<f32> or tensor<f64>");
  auto type = dyn_cast<RankedTensorType>(loss.getResultTypes()[0]);
  if (!type || type.getRank() != 0 ||
      !(type.getElementType().isF32() || type.getElementType().isF64()))
    return emitError(loss.getLoc()) << "returns a loss of type " << loss.getResultTypes()[0]
                                    << "; expected one number, tensor<f32> or tensor<f64>";
  return success();
}

/// A donated argument ends at its update, so no result can be the argument as it was.
static LogicalResult checkResults(func::FuncOp loss) {
  for (Value result : loss.getBody().front().getTerminator()->getOperands())
    if (auto argument = dyn_cast<BlockArgument>(result);
        argument && getRole(argument) == llm::Role::Param)
      return emitError(loss.getLoc()) << "returns parameter '" << getName(argument)
                                      << "' as it is, and the update overwrites it; return what is "
                                         "computed from it, or leave it out";
  return success();
}

static bool isTrainable(RankedTensorType type) {
  return llm::traitsOf(type.getElementType()) != nullptr;
}

/// Returns the values that the loss is computed from.
static llvm::DenseSet<Value> findWhatLossNeeds(Block &body) {
  llvm::DenseSet<Value> needed = {body.getTerminator()->getOperand(0)};
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (llvm::any_of(op.getResults(), [&](Value result) { return needed.contains(result); }))
      needed.insert_range(op.getOperands());
  return needed;
}

/// Returns the numbers of the arguments to be trained.
static FailureOr<SmallVector<unsigned>> findParameters(func::FuncOp loss) {
  llvm::DenseSet<Value> needed = findWhatLossNeeds(loss.getBody().front());
  SmallVector<unsigned> numbers;
  bool hasFrozen = false;
  for (BlockArgument argument : loss.getArguments()) {
    if (getRole(argument) != llm::Role::Param)
      continue;
    if (loss.getArgAttr(argument.getArgNumber(), LlmDialect::kFrozen)) {
      hasFrozen = true;
      continue;
    }
    if (!isTrainable(cast<RankedTensorType>(argument.getType())))
      return emitError(argument.getLoc())
             << "parameter '" << getName(argument) << "' has type " << argument.getType()
             << "; expected elements of bf16, f16, f32 or f64";
    if (needed.contains(argument))
      numbers.push_back(argument.getArgNumber());
    else
      emitWarning(argument.getLoc()) << "the loss does not depend on parameter '"
                                     << getName(argument) << "': it gets no gradient and no update";
  }
  if (numbers.empty() && hasFrozen)
    return emitError(loss.getLoc(),
                     "depends on no parameter that is trained, as those that it reads "
                     "are frozen; leave llm.frozen out of some");
  if (numbers.empty())
    return emitError(
        loss.getLoc(),
        "depends on no parameter; mark what is to be trained with {llm.role = \"param\"}");
  return numbers;
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

namespace {
class StepBuilder {
public:
  StepBuilder(func::FuncOp step, llm::TrainingAttr training)
      : builder(step.getContext()), training(training), step(step), body(step.getBody().front()),
        signature(step, training) {}

  /// Builds the whole step.
  LogicalResult build(ArrayRef<unsigned> parameterNumbers);
  /// Builds what runs for each micro-batch, and @update, which runs after all of them.
  LogicalResult buildForMicroBatches(ArrayRef<unsigned> parameterNumbers);

private:
  LogicalResult buildGradients(ArrayRef<unsigned> parameterNumbers);
  LogicalResult buildBackward();
  void eraseDeadOps();
  void buildUpdateFunction();

  OpBuilder builder;
  llm::TrainingAttr training;
  func::FuncOp step;
  Block &body;
  StepSignature signature;
  Operation *firstBackward = nullptr;
};
} // namespace

LogicalResult StepBuilder::buildBackward() {
  Value loss = body.getTerminator()->getOperand(0);
  builder.setInsertionPoint(body.getTerminator());
  Value one =
      llm::FillOp::create(builder, loss.getLoc(), loss.getType(), builder.getF64FloatAttr(1.0));
  firstBackward = one.getDefiningOp();
  llm::writePhase(firstBackward, llm::Phase::Backward);
  firstBackward->setAttr(LlmDialect::kName, builder.getStringAttr("loss.gradient"));

  GradientMap gradients;
  SmallVector<Value> read;
  const bool hasMicroBatches = step->hasAttr(LlmDialect::kMicroBatches);
  for (TrainedParameter &parameter : signature.parameters) {
    read.push_back(parameter.argument);
    if (llm::ReplicaOp replica =
            hasMicroBatches ? findReplica(parameter, parameter.argument) : llm::ReplicaOp()) {
      parameter.replicas = replica.getAxes();
      read.back() = replica;
    }
    // A resident gradient is the accumulator: contributions go on in its bytes. Under ZeRO-2 it
    // takes up the part of each sum, also where a group of one rank has all of it.
    if (parameter.gradientArgument && accumulatesInPlace(parameter))
      gradients[read.back()] = parameter.gradientArgument;
  }
  // The gradient of the scaled loss is the scale.
  const LossScale &scale = signature.inputs.lossScale;
  gradients[loss] = scale ? Value(scale.scale) : one;
  if (failed(llmmem::buildGradients(builder, read, gradients)))
    return failure();
  for (auto [parameter, value] : llvm::zip_equal(signature.parameters, read)) {
    parameter.gradient = gradients.lookup(value);
    if (!parameter.gradient) // every way to the loss goes through a rule that gives zero
      parameter.gradient =
          llm::FillOp::create(builder, parameter.argument.getLoc(), parameter.argument.getType(),
                              builder.getF64FloatAttr(0.0));
  }
  return success();
}

/// Erases forward ops that neither the loss nor a gradient reads.
void StepBuilder::eraseDeadOps() {
  llvm::DenseSet<Operation *> gradientOps;
  for (TrainedParameter &parameter : signature.parameters)
    gradientOps.insert(parameter.gradient.getDefiningOp());
  // A reverse iterator points to the op after the one that it gives, so it must not walk what is
  // being erased.
  auto ops = llvm::map_to_vector(body.without_terminator(), [](Operation &op) { return &op; });
  for (Operation *op : llvm::reverse(ops))
    if (!gradientOps.contains(op) && op != firstBackward && isOpTriviallyDead(op))
      op->erase();
  // The updates of a scaled loss wait for its norm, so none looks for where the backward begins.
  if (signature.inputs.lossScale && firstBackward->use_empty()) {
    firstBackward->erase();
    firstBackward = nullptr;
  }
}

LogicalResult StepBuilder::buildGradients(ArrayRef<unsigned> parameterNumbers) {
  for (Operation &op : body.without_terminator())
    llm::writePhase(&op, llm::Phase::Forward);
  auto parameters = llvm::map_to_vector(parameterNumbers,
                                        [&](unsigned number) { return body.getArgument(number); });
  signature.addArguments(parameterNumbers, cast<RankedTensorType>(step.getResultTypes()[0]),
                         parameters);
  if (failed(buildBackward()))
    return failure();
  eraseDeadOps();
  orderGradients(signature.parameters);
  return success();
}

LogicalResult StepBuilder::build(ArrayRef<unsigned> parameterNumbers) {
  if (failed(buildGradients(parameterNumbers)))
    return failure();
  shareGradients(signature.parameters);
  buildUpdates(body, firstBackward, training, signature.inputs, signature.parameters);
  Operation *terminator = body.getTerminator();
  SmallVector<Value> returned(terminator->getOperands());
  signature.finish(returned.front(), ArrayRef(returned).drop_front());
  return success();
}

LogicalResult StepBuilder::buildForMicroBatches(ArrayRef<unsigned> parameterNumbers) {
  if (failed(buildGradients(parameterNumbers)))
    return failure();
  scatterGradients(signature.parameters);
  SmallVector<Value> returned(body.getTerminator()->getOperands());
  signature.finish(returned.front(), ArrayRef(returned).drop_front());
  buildUpdateFunction();
  return success();
}

/// The update function has the arguments of the step, so that both run on one set of buffers.
void StepBuilder::buildUpdateFunction() {
  func::FuncOp update = signature.cloneWithoutBody(kUpdateFunction);
  StepSignature updated(update, training);
  updated.takeArgumentsOf(signature);
  finishGradients(updated.parameters);
  buildUpdates(update.getBody().front(), /*firstBackward=*/nullptr, training, updated.inputs,
               updated.parameters);
  updated.finish(/*loss=*/Value(), {});
}

FailureOr<SmallVector<unsigned>> llmmem::checkLoss(func::FuncOp loss) {
  if (failed(checkBody(loss)) || failed(checkScalarLoss(loss)) || failed(checkResults(loss)))
    return failure();
  return findParameters(loss);
}

FailureOr<func::FuncOp> llmmem::buildTrainingStep(func::FuncOp loss, llm::TrainingAttr training,
                                                  StringRef name) {
  FailureOr<SmallVector<unsigned>> parameters = checkLoss(loss);
  if (failed(parameters) || failed(checkOptimizers(loss, training, *parameters)))
    return failure();
  bool hasMicroBatches = loss->hasAttr(LlmDialect::kMicroBatches);
  for (StringRef made : {name, hasMicroBatches ? StringRef(kUpdateFunction) : name})
    if (Operation *other = SymbolTable::lookupSymbolIn(loss->getParentOp(), made))
      return other->emitError() << "stands where the training step of @" << loss.getName()
                                << " is to be; remove one of the two";
  if (training.getGradients() == llm::GradientLifetime::Transient && !hasMicroBatches &&
      waitsForNorm(training))
    emitRemark(loss.getLoc())
        << (training.getLossScaling() ? "a scale of the loss" : "a clip by the global norm")
        << " keeps every gradient until the last one is there: transient gradients save nothing "
           "under "
        << (training.getLossScaling() ? "loss_scaling" : "clip_norm");
  auto step = cast<func::FuncOp>(loss->clone());
  step.setName(name);
  OpBuilder builder(loss);
  builder.setInsertionPointAfter(loss);
  builder.insert(step);
  LogicalResult built =
      hasMicroBatches
          ? StepBuilder(step, training.withResidentGradients()).buildForMicroBatches(*parameters)
          : StepBuilder(step, training).build(*parameters);
  if (succeeded(built))
    return step;
  step.erase();
  return failure();
}
