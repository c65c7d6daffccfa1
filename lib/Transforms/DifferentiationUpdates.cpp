//===- DifferentiationUpdates.cpp - Optimizer updates and where they stand -===//

#include "DifferentiationStep.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static void annotateUpdate(Operation *op, const Twine &name, Operation *gradient) {
  llm::writePhase(op, llm::Phase::Update);
  op->setAttr(LlmDialect::kName, StringAttr::get(op->getContext(), name));
  if (Attribute block = gradient ? gradient->getAttr(LlmDialect::kBlock) : Attribute())
    op->setAttr(LlmDialect::kBlock, block);
}

/// Returns what a user gives to a parameter; else matrices decay, and biases and norms do not (as
/// in GPT-3's and most public recipes).
static FloatAttr decayOf(OpBuilder &builder, llm::TrainingAttr training,
                         TrainedParameter &parameter) {
  auto step = cast<func::FuncOp>(parameter.argument.getOwner()->getParentOp());
  if (auto given = step.getArgAttrOfType<FloatAttr>(parameter.argument.getArgNumber(),
                                                    LlmDialect::kWeightDecay))
    return builder.getF64FloatAttr(given.getValueAsDouble());
  bool decays = cast<RankedTensorType>(parameter.argument.getType()).getRank() >= 2;
  return decays ? training.getWeightDecay() : builder.getF64FloatAttr(0.0);
}

namespace {
/// Holds what all updates read that is computed from all gradients, and the step that they count.
struct GradientScaling {
  Value norm, factor, step;
};
} // namespace

static void createUpdate(OpBuilder &builder, llm::TrainingAttr training, const UpdateInputs &inputs,
                         TrainedParameter &parameter, const GradientScaling &scaling) {
  SmallVector<Value> states(parameter.states.begin(), parameter.states.end());
  UpdateOperands operands{.param = takePart(builder, parameter),
                          .gradient = parameter.updatingGradient,
                          .learningRate = inputs.learningRate,
                          .step = scaling.step,
                          .norm = scaling.norm,
                          .factor = scaling.factor,
                          .states = states,
                          .weightDecay = decayOf(builder, training, parameter),
                          .server = serverOf(parameter)};
  Operation *op =
      parameter.optimizer->createUpdate(builder, parameter.argument.getLoc(), training, operands);
  parameter.updated.argument = op->getResult(0);
  parameter.updated.states.assign(std::next(op->result_begin()), op->result_end());
  annotateUpdate(op, getName(parameter.argument) + ".update",
                 parameter.updatingGradient.getDefiningOp());
}

/// Joins the norm of all parameters from those of some; 0 where this stage counts none.
static Value joinNorms(OpBuilder &builder, const UpdateInputs &inputs, ArrayRef<Value> norms) {
  if (norms.size() == 1)
    return norms.front();
  Type type = inputs.learningRate.getType();
  Operation *op;
  if (norms.empty())
    op = llm::FillOp::create(builder, builder.getUnknownLoc(), type, builder.getF64FloatAttr(0.0));
  else
    op = llm::GlobalNormOp::create(builder, builder.getUnknownLoc(), type, norms);
  annotateUpdate(op, norms.empty() ? "gradient_norm" : "gradient_norm.whole", nullptr);
  return op->getResult(0);
}

/// Clipping scales every gradient by one factor, so no update can come before the last gradient.
/// Each element counts once: what ranks have parts of is summed over them, what all have is not.
static Value createGlobalNorm(OpBuilder &builder, const UpdateInputs &inputs,
                              ArrayRef<TrainedParameter> parameters) {
  llvm::MapVector<ArrayAttr, SmallVector<Value>> gradientsOver;
  for (const TrainedParameter &parameter : parameters)
    if (parameter.countsInNorm)
      gradientsOver[gradientAxes(parameter)].push_back(parameter.updatingGradient);
  SmallVector<Value> norms;
  for (auto &[axes, gradients] : gradientsOver) {
    auto op = llm::GlobalNormOp::create(builder, builder.getUnknownLoc(),
                                        inputs.learningRate.getType(), gradients);
    annotateUpdate(op, "gradient_norm", nullptr);
    norms.push_back(axes.empty() ? op.getNorm() : combineNorms(builder, op.getNorm(), axes));
  }
  Value norm = joinNorms(builder, inputs, norms);
  return inputs.stages ? combineNorms(builder, norm, inputs.stages) : norm;
}

bool llmmem::waitsForNorm(llm::TrainingAttr training) {
  return training.getClipNorm().getValueAsDouble() > 0.0 || training.getLossScaling();
}

/// A step whose scaled gradients overflow is skipped, which their norm says; the clip is in the
/// factor.
static GradientScaling unscaleGradients(OpBuilder &builder, llm::TrainingAttr training,
                                        LossScale &loss, Value norm) {
  llm::LossScalingAttr scaling = training.getLossScaling();
  auto op = llm::AdjustLossScaleOp::create(
      builder, builder.getUnknownLoc(), norm.getType(), norm.getType(), norm.getType(),
      norm.getType(), RankedTensorType::get({}, builder.getI32Type()), norm, loss.scale, loss.good,
      loss.updates, scaling.getGrowth(), scaling.getBackoff(),
      builder.getI64IntegerAttr(scaling.getInterval()), training.getClipNorm());
  annotateUpdate(op, "loss_scale.update", nullptr);
  loss.newScale = op.getNewScale();
  loss.newGood = op.getNewGood();
  loss.newUpdates = op.getNewUpdates();
  return {/*norm=*/Value(), op.getFactor(), op.getStep()};
}

/// Creates what waits for the last gradient.
static GradientScaling scaleGradients(OpBuilder &builder, llm::TrainingAttr training,
                                      UpdateInputs &inputs, ArrayRef<TrainedParameter> parameters) {
  if (!waitsForNorm(training))
    return {Value(), Value(), inputs.step};
  Value norm = createGlobalNorm(builder, inputs, parameters);
  if (inputs.lossScale)
    return unscaleGradients(builder, training, inputs.lossScale, norm);
  return {norm, Value(), inputs.step};
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

static Operation *laterOf(Operation *a, Operation *b) {
  if (!a || !b)
    return a ? a : b;
  return a->isBeforeInBlock(b) ? b : a;
}

namespace {
/// Finds for each forward op the last op of the backward that reads its results, or anything
/// computed from them by forward ops. It makes one sweep over ops and uses, readers first.
class LastReaders {
public:
  LastReaders(Block &block, Operation *firstBackward) : firstBackward(firstBackward) {
    for (auto it = Block::reverse_iterator(firstBackward->getReverseIterator()), end = block.rend();
         it != end; ++it)
      if (&*it != firstBackward)
        lastReader[&*it] = findForResults(&*it);
  }

  /// Returns the last op of the backward that reads `value` or depends on it as above.
  Operation *find(Value value) const {
    Operation *last = nullptr;
    for (Operation *user : value.getUsers())
      if (!user->hasTrait<OpTrait::IsTerminator>())
        last = laterOf(last, user->isBeforeInBlock(firstBackward) ? lastReader.lookup(user) : user);
    return last;
  }

private:
  Operation *findForResults(Operation *op) const {
    Operation *last = nullptr;
    for (Value result : op->getResults())
      last = laterOf(last, find(result));
    return last;
  }

  Operation *firstBackward;
  llvm::DenseMap<Operation *, Operation *> lastReader;
};
} // namespace

/// An update overwrites its parameter. After it, nothing may read the parameter, and no forward op
/// that reads it may have to run again: so it comes after the last reader of anything that was
/// computed from the parameter. Then no plan ever has to choose between an early update and a
/// recomputation.
static Operation *findEarliestPlace(const TrainedParameter &parameter, const LastReaders &readers) {
  return laterOf(parameter.updatingGradient.getDefiningOp(), readers.find(parameter.argument));
}

void llmmem::buildUpdates(Block &block, Operation *firstBackward, llm::TrainingAttr training,
                          UpdateInputs &inputs, MutableArrayRef<TrainedParameter> parameters) {
  OpBuilder builder(block.getTerminator());
  if (waitsForNorm(training) || training.getGradients() == llm::GradientLifetime::Resident) {
    GradientScaling scaling = scaleGradients(builder, training, inputs, parameters);
    for (TrainedParameter &parameter : parameters)
      createUpdate(builder, training, inputs, parameter, scaling);
    giveUpdated(parameters);
    return;
  }
  // All places are found before the first update changes who reads what.
  LastReaders readers(block, firstBackward);
  llvm::MapVector<Operation *, SmallVector<TrainedParameter *>> places;
  for (TrainedParameter &parameter : parameters)
    places[findEarliestPlace(parameter, readers)].push_back(&parameter);
  for (auto &[place, updated] : places) {
    builder.setInsertionPointAfter(place);
    for (TrainedParameter *parameter : updated)
      createUpdate(builder, training, inputs, *parameter, {Value(), Value(), inputs.step});
  }
  giveUpdated(parameters);
}
