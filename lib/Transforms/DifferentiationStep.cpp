//===- DifferentiationStep.cpp - From a loss to a training step ------------===//

#include "DifferentiationStep.h"
#include "ParameterShards.h"
#include "llmmem/Analysis/OpFacts.h"
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
  Type element = type.getElementType();
  return element.isBF16() || element.isF32() || element.isF64();
}

/// Values that the loss is computed from.
static llvm::DenseSet<Value> findWhatLossNeeds(Block &body) {
  llvm::DenseSet<Value> needed = {body.getTerminator()->getOperand(0)};
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (llvm::any_of(op.getResults(), [&](Value result) { return needed.contains(result); }))
      needed.insert_range(op.getOperands());
  return needed;
}

/// The numbers of the arguments to be trained.
static FailureOr<SmallVector<unsigned>> findParameters(func::FuncOp loss) {
  llvm::DenseSet<Value> needed = findWhatLossNeeds(loss.getBody().front());
  SmallVector<unsigned> numbers;
  for (BlockArgument argument : loss.getArguments()) {
    if (getRole(argument) != llm::Role::Param)
      continue;
    if (!isTrainable(cast<RankedTensorType>(argument.getType())))
      return emitError(argument.getLoc())
             << "parameter '" << getName(argument) << "' has type " << argument.getType()
             << "; expected elements of bf16, f32 or f64";
    if (needed.contains(argument))
      numbers.push_back(argument.getArgNumber());
    else
      emitWarning(argument.getLoc()) << "the loss does not depend on parameter '"
                                     << getName(argument) << "': it gets no gradient and no update";
  }
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
  StepBuilder(func::FuncOp loss, llm::TrainingAttr training, StringRef name)
      : builder(loss.getContext()), training(training), step(cast<func::FuncOp>(loss->clone())),
        body(step.getBody().front()) {
    step.getAllArgAttrs(attributes);
    attributes.resize(body.getNumArguments(), builder.getDictionaryAttr({}));
    step.setName(name);
    builder.setInsertionPointAfter(loss);
    builder.insert(step);
  }

  FailureOr<func::FuncOp> build(ArrayRef<unsigned> parameterNumbers);

private:
  BlockArgument addArgument(Type type, const Twine &name, llm::Role role, ArrayAttr shard = {},
                            Type whole = {});
  void addArguments(ArrayRef<unsigned> parameterNumbers);
  LogicalResult buildBackward();
  void eraseDeadOps();
  void finish();
  void addResult(Value value, BlockArgument donated);

  OpBuilder builder;
  llm::TrainingAttr training;
  func::FuncOp step;
  Block &body;
  SmallVector<DictionaryAttr> attributes; // of arguments
  SmallVector<TrainedParameter> parameters;
  UpdateInputs inputs;
  Operation *firstBackward = nullptr;
  SmallVector<Value> results;
};
} // namespace

/// `shard`: the axes that it is split over, null where it is whole; then `whole` is the type of all
/// parts together.
BlockArgument StepBuilder::addArgument(Type type, const Twine &name, llm::Role role,
                                       ArrayAttr shard, Type whole) {
  StringAttr text = builder.getStringAttr(name);
  SmallVector<NamedAttribute> named = {
      builder.getNamedAttr(LlmDialect::kName, text),
      builder.getNamedAttr(LlmDialect::kRole, builder.getStringAttr(llm::stringifyRole(role)))};
  if (shard) {
    named.push_back(builder.getNamedAttr(LlmDialect::kShard, shard));
    named.push_back(builder.getNamedAttr(LlmDialect::kWhole, TypeAttr::get(whole)));
  }
  attributes.push_back(builder.getDictionaryAttr(named));
  return body.addArgument(type, NameLoc::get(text));
}

/// Of what a rank has the update of: its part, where the state is split and the parameter is not.
static RankedTensorType partOf(const TrainedParameter &parameter, RankedTensorType type) {
  if (!parameter.sharing || parameter.sharing.getZero() == 0 || parameter.sharing.getZero() == 3)
    return type;
  auto step = cast<func::FuncOp>(parameter.argument.getOwner()->getParentOp());
  auto mesh = step->getAttrOfType<llm::MeshAttr>(LlmDialect::kMesh);
  return ParameterShard::of(type, mesh.getGroupSize(parameter.sharing.getAxes()))->part;
}

/// The type of a parameter, of which the argument may be a rank's part.
static RankedTensorType wholeOf(BlockArgument parameter) {
  auto step = cast<func::FuncOp>(parameter.getOwner()->getParentOp());
  auto whole = step.getArgAttrOfType<TypeAttr>(parameter.getArgNumber(), LlmDialect::kWhole);
  return cast<RankedTensorType>(whole ? whole.getValue() : parameter.getType());
}

/// 16 bytes a parameter under AdamW with resident gradients: 2 + 2 + 3 * 4 in bf16, 4 * 4 in f32
/// (Rajbhandari et al. 2020, section 3.1).
void StepBuilder::addArguments(ArrayRef<unsigned> parameterNumbers) {
  auto loss = cast<RankedTensorType>(step.getResultTypes()[0]);
  inputs.learningRate = addArgument(loss, "learning_rate", llm::Role::Input);
  inputs.step =
      addArgument(RankedTensorType::get({}, builder.getI32Type()), "step", llm::Role::Input);
  for (unsigned number : parameterNumbers) {
    TrainedParameter parameter;
    parameter.argument = body.getArgument(number);
    std::string name = getName(parameter.argument);
    parameter.sharing =
        step.getArgAttrOfType<llm::DataParallelAttr>(number, LlmDialect::kDataParallel);
    auto type = cast<RankedTensorType>(parameter.argument.getType());
    int64_t zero = parameter.sharing ? parameter.sharing.getZero() : 0;
    ArrayAttr split = zero > 0 ? parameter.sharing.getAxes() : ArrayAttr();
    RankedTensorType part = partOf(parameter, type);
    auto widened = part.clone(llm::wideTypeFor(type.getElementType()));
    RankedTensorType whole = wholeOf(parameter.argument);
    Type wholeState = whole.clone(widened.getElementType());
    if (training.getOptimizer() == llm::OptimizerKind::AdamW) {
      parameter.firstMoment = addArgument(widened, name + ".first_moment",
                                          llm::Role::OptimizerState, split, wholeState);
      parameter.secondMoment = addArgument(widened, name + ".second_moment",
                                           llm::Role::OptimizerState, split, wholeState);
      if (type.getElementType().isBF16())
        parameter.master =
            addArgument(widened, name + ".master", llm::Role::OptimizerState, split, wholeState);
    }
    if (training.getGradients() == llm::GradientLifetime::Resident)
      parameter.gradientArgument =
          addArgument(zero == 2 ? part : type, name + ".gradient", llm::Role::Gradient,
                      zero > 1 ? split : ArrayAttr(), whole);
    parameters.push_back(parameter);
  }
}

LogicalResult StepBuilder::buildBackward() {
  Value loss = body.getTerminator()->getOperand(0);
  builder.setInsertionPoint(body.getTerminator());
  Value one =
      llm::FillOp::create(builder, loss.getLoc(), loss.getType(), builder.getF64FloatAttr(1.0));
  firstBackward = one.getDefiningOp();
  llm::writePhase(firstBackward, llm::Phase::Backward);
  firstBackward->setAttr(LlmDialect::kName, builder.getStringAttr("loss.gradient"));

  GradientMap gradients;
  SmallVector<Value> wanted;
  for (TrainedParameter &parameter : parameters) {
    wanted.push_back(parameter.argument);
    // A resident gradient is the accumulator: contributions go on in its bytes.
    if (parameter.gradientArgument &&
        parameter.gradientArgument.getType() == parameter.argument.getType())
      gradients[parameter.argument] = parameter.gradientArgument;
  }
  gradients[loss] = one;
  if (failed(buildGradients(builder, wanted, gradients)))
    return failure();
  for (TrainedParameter &parameter : parameters) {
    parameter.gradient = gradients.lookup(parameter.argument);
    if (!parameter.gradient) // every way to the loss goes through a rule that gives zero
      parameter.gradient =
          llm::FillOp::create(builder, parameter.argument.getLoc(), parameter.argument.getType(),
                              builder.getF64FloatAttr(0.0));
  }
  return success();
}

/// Forward ops that neither the loss nor a gradient reads.
void StepBuilder::eraseDeadOps() {
  llvm::DenseSet<Operation *> gradientOps;
  for (TrainedParameter &parameter : parameters)
    gradientOps.insert(parameter.gradient.getDefiningOp());
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body.without_terminator())))
    if (!gradientOps.contains(&op) && &op != firstBackward && isOpTriviallyDead(&op))
      op.erase();
}

void StepBuilder::addResult(Value value, BlockArgument donated) {
  if (!donated)
    return;
  DictionaryAttr &known = attributes[donated.getArgNumber()];
  NamedAttrList list(known);
  list.set(LlmDialect::kDonated, builder.getI64IntegerAttr(results.size()));
  known = list.getDictionary(builder.getContext());
  results.push_back(value);
}

void StepBuilder::finish() {
  Operation *terminator = body.getTerminator();
  results.push_back(terminator->getOperand(0));
  for (TrainedParameter &parameter : parameters)
    addResult(parameter.newArgument, parameter.argument);
  for (TrainedParameter &parameter : parameters) {
    addResult(parameter.newFirstMoment, parameter.firstMoment);
    addResult(parameter.newSecondMoment, parameter.secondMoment);
    addResult(parameter.newMaster, parameter.master);
  }
  for (TrainedParameter &parameter : parameters)
    addResult(parameter.gradient, parameter.gradientArgument);
  llvm::append_range(results, terminator->getOperands().drop_front());
  terminator->setOperands(results);
  // They count the loss's results.
  step.removeResAttrsAttr();
  step.setType(builder.getFunctionType(body.getArgumentTypes(), TypeRange(results)));
  step.setAllArgAttrs(attributes);
}

FailureOr<func::FuncOp> StepBuilder::build(ArrayRef<unsigned> parameterNumbers) {
  for (Operation &op : body.without_terminator())
    llm::writePhase(&op, llm::Phase::Forward);
  addArguments(parameterNumbers);
  if (failed(buildBackward())) {
    step.erase();
    return failure();
  }
  eraseDeadOps();
  shareGradients(parameters);
  buildUpdates(body, firstBackward, training, inputs, parameters);
  finish();
  return step;
}

FailureOr<func::FuncOp> llmmem::buildTrainingStep(func::FuncOp loss, llm::TrainingAttr training,
                                                  StringRef name) {
  if (failed(checkBody(loss)) || failed(checkScalarLoss(loss)) || failed(checkResults(loss)))
    return failure();
  FailureOr<SmallVector<unsigned>> parameters = findParameters(loss);
  if (failed(parameters))
    return failure();
  if (Operation *other = SymbolTable::lookupSymbolIn(loss->getParentOp(), name))
    return other->emitError() << "stands where the training step of @" << loss.getName()
                              << " is to be; remove one of the two";
  if (training.getGradients() == llm::GradientLifetime::Transient &&
      training.getClipNorm().getValueAsDouble() > 0.0)
    emitRemark(loss.getLoc(),
               "a clip by the global norm keeps every gradient until the last one is there: "
               "transient gradients "
               "save nothing under clip_norm");
  return StepBuilder(loss, training, name).build(*parameters);
}
