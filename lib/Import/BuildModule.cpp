//===- BuildModule.cpp - From a Model to a graph ---------------------------===//

#include "CachedGraph.h"
#include "ImportChecks.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Import/GraphBuilder.h"
#include "llmmem/Import/Import.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::importer;

namespace {
/// Describes an argument of the function that is built.
struct Argument {
  std::string name;
  llm::Role role;
  RankedTensorType type;
  bool frozen = false;
  std::optional<double> weightDecay = std::nullopt;
  bool transposed = false;
};
} // namespace

static FloatType elementTypeOf(OpBuilder &builder, ElementKind kind) {
  switch (kind) {
  case ElementKind::BF16:
    return builder.getBF16Type();
  case ElementKind::F16:
    return builder.getF16Type();
  case ElementKind::F32:
    return builder.getF32Type();
  case ElementKind::F64:
    return builder.getF64Type();
  }
  llvm_unreachable("a kind beyond the enum");
}

/// Adds the parameter in fewer bits, its scales and its zero points, none of which are trained.
static void addHeld(OpBuilder &builder, Type computed, const Parameter &parameter,
                    const HeldFormat &format, std::vector<Argument> &arguments) {
  Type element = elementOf(builder, format.kind);
  SmallVector<int64_t> groups = llvm::to_vector_of<int64_t>(parameter.shape);
  groups.back() /= format.group;
  auto add = [&](StringRef suffix, ArrayRef<int64_t> shape, Type type) {
    arguments.push_back({parameter.name + suffix.str(), llm::Role::Param,
                         RankedTensorType::get(shape, type), parameter.frozen});
  };
  add("", parameter.shape, element);
  arguments.back().transposed = parameter.transposed;
  add(llm::kScalesSuffix, groups, computed);
  if (format.hasZeros())
    add(llm::kZerosSuffix, groups, element);
}

/// Lists what a step reads of the data: images or ids of tokens and, in training, the targets.
static std::vector<Argument> listData(OpBuilder &builder, const ModelFacts &facts, Type element,
                                      const ImportOptions &options) {
  Type i32 = builder.getI32Type();
  auto data = RankedTensorType::get({options.batch, options.seq}, i32), predicted = data;
  if (const std::optional<ImageShape> &image = facts.image) {
    data = RankedTensorType::get({options.batch, image->channels, image->height, image->width},
                                 llm::wideTypeFor(element));
    predicted = RankedTensorType::get({options.batch}, i32);
  }
  std::vector<Argument> list = {{facts.image ? "pixels" : "ids", llm::Role::Input, data}};
  if (facts.encodes)
    predicted =
        RankedTensorType::get({options.batch, options.decoderSeq.value_or(options.seq)}, i32);
  bool inPlace = facts.predictsMasked || facts.image || facts.encodes;
  if (facts.encodes && options.mode == Mode::Forward)
    list.push_back({"decoder_ids", llm::Role::Input, predicted});
  if (options.trains())
    list.push_back({inPlace ? "labels" : "targets", llm::Role::Input, predicted});
  if (options.packed)
    list.push_back({"positions", llm::Role::Input, data});
  return list;
}

static std::vector<Argument> listArguments(OpBuilder &builder, const Model &model,
                                           ArrayRef<Parameter> parameters,
                                           const ImportOptions &options) {
  Type i32 = builder.getI32Type();
  Type element = elementTypeOf(builder, options.paramDtype.value_or(model.facts.dtype));
  std::vector<Argument> arguments =
      listData(builder, model.facts, elementTypeOf(builder, model.facts.dtype), options);
  if (options.keepsCaches())
    for (const CachedGraph::Input &input : CachedGraph::inputs(builder, options))
      arguments.push_back({input.name, llm::Role::Input, input.type});
  if (model.facts.dropsOut)
    arguments.push_back({"seed", llm::Role::Seed, RankedTensorType::get({2}, i32)});
  for (const Parameter &parameter : parameters)
    if (isHeldInFewerBits(parameter, options))
      addHeld(builder, elementTypeOf(builder, model.facts.dtype), parameter, *options.weights,
              arguments);
    else
      arguments.push_back(
          {parameter.name, llm::Role::Param,
           RankedTensorType::get(parameter.shape,
                                 parameter.wide ? llm::wideTypeFor(element) : element),
           parameter.frozen, parameter.weightDecay, parameter.transposed});
  return arguments;
}

/// Creates a function with these arguments and an empty body. Its result types follow later.
static func::FuncOp createFunction(OpBuilder &builder, StringRef name,
                                   ArrayRef<Argument> arguments) {
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  for (const Argument &argument : arguments) {
    types.push_back(argument.type);
    SmallVector<NamedAttribute> named = {
        builder.getNamedAttr(llm::LlmDialect::kRole,
                             builder.getStringAttr(llm::stringifyRole(argument.role))),
        builder.getNamedAttr(llm::LlmDialect::kName, builder.getStringAttr(argument.name))};
    if (argument.frozen)
      named.push_back(builder.getNamedAttr(llm::LlmDialect::kFrozen, builder.getUnitAttr()));
    if (argument.transposed)
      named.push_back(builder.getNamedAttr(llm::LlmDialect::kTransposed, builder.getUnitAttr()));
    if (argument.weightDecay)
      named.push_back(builder.getNamedAttr(llm::LlmDialect::kWeightDecay,
                                           builder.getF64FloatAttr(*argument.weightDecay)));
    attributes.push_back(builder.getDictionaryAttr(named));
  }
  auto function = func::FuncOp::create(builder, builder.getUnknownLoc(), name,
                                       builder.getFunctionType(types, {}));
  function.setAllArgAttrs(attributes);
  Block *body = function.addEntryBlock();
  for (auto [value, argument] : llvm::zip_equal(body->getArguments(), arguments))
    value.setLoc(NameLoc::get(builder.getStringAttr(argument.name)));
  builder.setInsertionPointToStart(body);
  return function;
}

static void finishFunction(OpBuilder &builder, func::FuncOp function, ValueRange results) {
  builder.setInsertionPointToEnd(&function.getBody().front());
  func::ReturnOp::create(builder, builder.getUnknownLoc(), results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), results.getTypes()));
}

/// Builds the loss, and the counts that a training run reports.
static SmallVector<Value> buildLoss(GraphBuilder &graph, const Model &model,
                                    const ImportOptions &options, Value logits, Value targets) {
  double coefficient = options.balanceLoss.value_or(model.facts.balanceLoss);
  bool balances = coefficient > 0 && model.facts.experts > 0;
  Value loss = graph.crossEntropy(balances ? "loss.tokens" : "loss", logits, targets);
  if (Value balance = balances ? graph.experts.balanceLoss("loss.balance", coefficient) : Value())
    loss = graph.add("loss", loss, balance);
  SmallVector<Value> results{loss};
  if (Value dropped = graph.experts.countDropped("dropped_choices"))
    results.push_back(dropped);
  return results;
}

/// Returns null where the loss is not scaled. The options were checked before.
static llm::LossScalingAttr lossScalingAttr(OpBuilder &builder, const TrainingOptions &training,
                                            ElementKind dtype) {
  std::string scale = training.lossScale.value_or(dtype == ElementKind::F16 ? "dynamic" : "none");
  if (scale == "none")
    return {};
  auto number = [&](double value) { return builder.getF64FloatAttr(value); };
  // These are the numbers of torch.amp.GradScaler.
  if (scale == "dynamic")
    return llm::LossScalingAttr::get(builder.getContext(), number(training.lossScaleInitial),
                                     number(2.0), number(0.5), training.lossScaleInterval);
  double constant = 1;
  StringRef(scale).getAsDouble(constant);
  return llm::LossScalingAttr::get(builder.getContext(), number(constant), number(1.0), number(1.0),
                                   training.lossScaleInterval);
}

/// Returns null where it is as wide as the numbers of an update.
static TypeAttr typeOfState(OpBuilder &builder, StateType state) {
  if (state == StateType::Wide)
    return {};
  return TypeAttr::get(state == StateType::BF16 ? Type(builder.getBF16Type())
                                                : builder.getI8Type());
}

static llm::TrainingAttr trainingAttr(OpBuilder &builder, const TrainingOptions &training,
                                      ElementKind dtype) {
  auto number = [&](double value) { return builder.getF64FloatAttr(value); };
  const DefaultTraining &defaults = defaultsOf(training.optimizer);
  // An optimizer's unused options, and those that are 0 or false, are left out.
  auto optional = [&](std::optional<double> given, std::optional<double> otherwise) {
    double value = given.value_or(otherwise.value_or(0.0));
    return value == 0.0 ? FloatAttr() : number(value);
  };
  bool nesterov = training.nesterov.value_or(defaults.nesterov.value_or(false));
  return llm::TrainingAttr::get(
      builder.getContext(), training.optimizer, training.gradients,
      number(training.beta1.value_or(defaults.beta1)),
      number(training.beta2.value_or(defaults.beta2)), number(training.eps.value_or(defaults.eps)),
      number(training.weightDecay.value_or(defaults.weightDecay)), number(training.clipNorm),
      optional(training.momentum, defaults.momentum),
      nesterov ? builder.getBoolAttr(true) : BoolAttr(),
      optional(training.beta2Decay, defaults.beta2Decay),
      training.master ? builder.getBoolAttr(*training.master) : BoolAttr(),
      typeOfState(builder, training.state), lossScalingAttr(builder, training, dtype));
}

static StringRef nameOf(Mode mode) {
  switch (mode) {
  case Mode::Train:
    return "loss";
  case Mode::Forward:
    return "forward";
  case Mode::Prefill:
    return "prefill";
  case Mode::Decode:
    return "decode";
  }
  llvm_unreachable("a mode beyond the enum");
}

static func::FuncOp buildFunction(OpBuilder &builder, const Model &model,
                                  ArrayRef<Parameter> parameters, const ImportOptions &options) {
  std::vector<Argument> arguments = listArguments(builder, model, parameters, options);
  func::FuncOp function = createFunction(builder, nameOf(options.mode), arguments);
  GraphBuilder graph(builder, options, elementTypeOf(builder, model.facts.dtype));
  for (auto [argument, value] : llvm::zip_equal(arguments, function.getArguments())) {
    if (argument.role == llm::Role::Param)
      graph.addParameter(argument.name, value);
    else if (argument.role == llm::Role::Seed)
      graph.inputs.seed = value;
    else if (argument.name == "positions" && options.packed)
      graph.inputs.positions = value;
    else if (argument.name == "labels")
      graph.inputs.labels = value;
    else if (argument.name == "decoder_ids")
      graph.inputs.decoderIds = value;
  }
  CachedGraph caches(function, options);
  if (options.keepsCaches()) {
    function->setAttr(llm::LlmDialect::kContext, builder.getI64IntegerAttr(*options.context));
    graph.attention.setCaches(caches);
  }
  Value logits = model.buildLogits(graph, function.getArgument(0));
  SmallVector<Value> results =
      options.trains() ? buildLoss(graph, model, options, logits, function.getArgument(1))
                       : SmallVector<Value>{logits};
  llvm::append_range(results, caches.updated());
  finishFunction(builder, function, results);
  return function;
}

llvm::Expected<OwningOpRef<ModuleOp>>
importer::buildModule(MLIRContext &context, const Model &model, const ImportOptions &options) {
  if (llvm::Error error = checkOptions(options, model.facts))
    return std::move(error);
  llvm::Expected<std::vector<Parameter>> parameters = listParameters(model, options);
  if (!parameters)
    return parameters.takeError();
  if (llvm::Error error = checkHeld(*parameters, options, model.facts))
    return std::move(error);
  context.loadDialect<func::FuncDialect, llm::LlmDialect>();
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, builder.getUnknownLoc());
  if (options.trains())
    (*module)->setAttr(llm::LlmDialect::kTraining,
                       trainingAttr(builder, options.training, model.facts.dtype));
  builder.setInsertionPointToStart(module->getBody());
  func::FuncOp function = buildFunction(builder, model, *parameters, options);
  if (llvm::Error error =
          options.trains() ? llvm::Error::success() : checkInference(function, model.facts))
    return std::move(error);
  if (llvm::Error error = checkBytes(function, model.facts))
    return std::move(error);
  if (llvm::Error error = checkGraph(*module, model.facts))
    return std::move(error);
  return std::move(module);
}
