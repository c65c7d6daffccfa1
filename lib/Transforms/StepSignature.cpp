//===- StepSignature.cpp - Arguments and results of a training step --------===//

#include "DifferentiationStep.h"
#include "ParameterShards.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmOps.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

StepSignature::StepSignature(func::FuncOp step, llm::TrainingAttr training)
    : builder(step.getContext()), training(training), step(step), body(step.getBody().front()) {
  step.getAllArgAttrs(attributes);
  attributes.resize(body.getNumArguments(), builder.getDictionaryAttr({}));
}

BlockArgument StepSignature::addArgument(Type type, const Twine &name, llm::Role role,
                                         ArgumentShard shard) {
  StringAttr text = builder.getStringAttr(name);
  SmallVector<NamedAttribute> named = {
      builder.getNamedAttr(LlmDialect::kName, text),
      builder.getNamedAttr(LlmDialect::kRole, builder.getStringAttr(llm::stringifyRole(role)))};
  if (shard.sharding)
    named.push_back(builder.getNamedAttr(LlmDialect::kSharding, shard.sharding));
  if (shard.parts)
    named.push_back(builder.getNamedAttr(LlmDialect::kShard, shard.parts));
  if (shard.server)
    named.push_back(builder.getNamedAttr(LlmDialect::kServer, shard.server));
  if (shard.sharding || shard.parts)
    named.push_back(builder.getNamedAttr(LlmDialect::kWhole, TypeAttr::get(shard.whole)));
  attributes.push_back(builder.getDictionaryAttr(named));
  return body.addArgument(type, NameLoc::get(text));
}

/// Returns the type of what a rank updates: its part, where the state is split and the parameter is
/// not.
static RankedTensorType partOf(const TrainedParameter &parameter, RankedTensorType type) {
  if (!parameter.sharing || parameter.sharing.getZero() == 0 || parameter.sharing.getZero() == 3)
    return type;
  auto step = cast<func::FuncOp>(parameter.argument.getOwner()->getParentOp());
  auto mesh = step->getAttrOfType<llm::MeshAttr>(LlmDialect::kMesh);
  return ParameterShard::of(type, mesh.getGroupSize(parameter.sharing.getAxes()))->part;
}

/// Returns the type of a parameter, of which the argument may be a rank's part.
static RankedTensorType wholeOf(BlockArgument parameter) {
  auto step = cast<func::FuncOp>(parameter.getOwner()->getParentOp());
  auto whole = step.getArgAttrOfType<TypeAttr>(parameter.getArgNumber(), LlmDialect::kWhole);
  return cast<RankedTensorType>(whole ? whole.getValue() : parameter.getType());
}

/// Counts are numbers of the scale's type: checkpoints hold them as other states.
void StepSignature::addLossScale(RankedTensorType loss) {
  inputs.lossScale.scale = addArgument(loss, "loss_scale", llm::Role::OptimizerState);
  NamedAttrList list(attributes.back());
  list.set(LlmDialect::kInitial, training.getLossScaling().getInitial());
  attributes.back() = list.getDictionary(builder.getContext());
  inputs.lossScale.good = addArgument(loss, "loss_scale.good_steps", llm::Role::OptimizerState);
  inputs.lossScale.updates = addArgument(loss, "loss_scale.updates", llm::Role::OptimizerState);
}

/// A parameter takes 16 bytes under AdamW with resident gradients: 2 + 2 + 3 * 4 in bf16, 4 * 4 in
/// f32 (Rajbhandari et al. 2020, section 3.1).
void StepSignature::addArguments(ArrayRef<unsigned> parameterNumbers, RankedTensorType loss,
                                 ArrayRef<BlockArgument> ofLoss) {
  inputs.learningRate = addArgument(loss, "learning_rate", llm::Role::Input);
  inputs.step =
      addArgument(RankedTensorType::get({}, builder.getI32Type()), "step", llm::Role::Input);
  if (training.getLossScaling())
    addLossScale(loss);
  for (auto [number, source] : llvm::zip_equal(parameterNumbers, ofLoss)) {
    TrainedParameter parameter;
    parameter.argument = body.getArgument(number);
    std::string name = getName(parameter.argument);
    parameter.sharing =
        step.getArgAttrOfType<llm::DataParallelAttr>(number, LlmDialect::kDataParallel);
    auto type = cast<RankedTensorType>(parameter.argument.getType());
    int64_t zero = parameter.sharing ? parameter.sharing.getZero() : 0;
    auto sharding = step.getArgAttrOfType<llm::ShardingAttr>(number, LlmDialect::kSharding);
    ArrayAttr split = zero > 0 ? parameter.sharing.getAxes() : ArrayAttr();
    RankedTensorType part = partOf(parameter, type);
    RankedTensorType whole = wholeOf(parameter.argument);
    ArgumentShard ofGradient{sharding, zero > 1 ? split : ArrayAttr(), whole};
    parameter.optimizer = &optimizerOf(training, source);
    for (OptimizerState state : parameter.optimizer->statesOf(training, part)) {
      // A state of another shape is of no part (`checkOptimizers`).
      ArgumentShard ofState{sharding, split, whole.clone(state.type.getElementType()),
                            serverOf(parameter)};
      parameter.states.push_back(
          addArgument(state.type, name + "." + state.name, llm::Role::OptimizerState, ofState));
    }
    if (training.getGradients() == llm::GradientLifetime::Resident)
      parameter.gradientArgument =
          addArgument(zero == 2 ? part : type, name + ".gradient", llm::Role::Gradient, ofGradient);
    parameters.push_back(parameter);
  }
}

void StepSignature::addResult(Value value, BlockArgument donated) {
  if (!donated || !value)
    return;
  DictionaryAttr &known = attributes[donated.getArgNumber()];
  NamedAttrList list(known);
  list.set(LlmDialect::kDonated, builder.getI64IntegerAttr(results.size()));
  known = list.getDictionary(builder.getContext());
  results.push_back(value);
}

void StepSignature::finish(Value loss, ValueRange others) {
  if (loss)
    results.push_back(loss);
  for (TrainedParameter &parameter : parameters)
    addResult(parameter.updated.argument, parameter.argument);
  for (TrainedParameter &parameter : parameters)
    // What the loss does not depend on has no new states.
    for (auto [argument, updated] : llvm::zip(parameter.states, parameter.updated.states))
      addResult(updated, argument);
  addResult(inputs.lossScale.newScale, inputs.lossScale.scale);
  addResult(inputs.lossScale.newGood, inputs.lossScale.good);
  addResult(inputs.lossScale.newUpdates, inputs.lossScale.updates);
  for (TrainedParameter &parameter : parameters)
    if (parameter.gradient != parameter.gradientArgument)
      addResult(parameter.gradient, parameter.gradientArgument);
  llvm::append_range(results, others);
  body.getTerminator()->setOperands(results);
  // They count the loss's results.
  step.removeResAttrsAttr();
  step.setType(builder.getFunctionType(body.getArgumentTypes(), TypeRange(results)));
  step.setAllArgAttrs(attributes);
}

func::FuncOp StepSignature::cloneWithoutBody(StringRef name) {
  auto clone = func::FuncOp::create(builder, step.getLoc(), name,
                                    builder.getFunctionType(body.getArgumentTypes(), {}));
  clone->setAttrs(step->getAttrs());
  clone.setName(name);
  clone.setType(builder.getFunctionType(body.getArgumentTypes(), {}));
  clone.removeResAttrsAttr();
  clone->removeAttr(LlmDialect::kMicroBatches);
  clone.addEntryBlock();
  for (auto [from, to] : llvm::zip_equal(body.getArguments(), clone.getArguments()))
    to.setLoc(from.getLoc());
  for (unsigned number = 0; number < clone.getNumArguments(); ++number)
    clone.removeArgAttr(number, builder.getStringAttr(LlmDialect::kDonated));
  OpBuilder inside = OpBuilder::atBlockEnd(&clone.getBody().front());
  func::ReturnOp::create(inside, step.getLoc());
  step->getBlock()->getOperations().insertAfter(step->getIterator(), clone);
  return clone;
}

void StepSignature::takeArgumentsOf(const StepSignature &other) {
  auto own = [&](BlockArgument argument) {
    return argument ? body.getArgument(argument.getArgNumber()) : BlockArgument();
  };
  const LossScale &scale = other.inputs.lossScale;
  inputs.learningRate = own(other.inputs.learningRate);
  inputs.step = own(other.inputs.step);
  inputs.lossScale = {own(scale.scale), own(scale.good), own(scale.updates), {}, {}, {}};
  inputs.stages = other.inputs.stages;
  for (const TrainedParameter &parameter : other.parameters) {
    TrainedParameter mine;
    mine.argument = own(parameter.argument);
    mine.optimizer = parameter.optimizer;
    mine.states = llvm::map_to_vector(parameter.states, own);
    mine.gradientArgument = own(parameter.gradientArgument);
    mine.sharing = parameter.sharing;
    mine.replicas = parameter.replicas;
    mine.gradient = mine.gradientArgument;
    mine.endsAt = parameter.endsAt;
    parameters.push_back(mine);
  }
}
