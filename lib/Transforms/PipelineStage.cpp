//===- PipelineStage.cpp - The step of one stage of a pipeline ---------------===//

#include "PipelineStage.h"
#include "DifferentiationStep.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Transforms/MicroBatches.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <map>

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;
using planning::PipelineMessage;
using planning::PipelineTask;
using planning::TaskKind;

llvm::DenseSet<unsigned> llmmem::findReadArguments(const Pipeline &pipeline, int64_t stage) {
  llvm::DenseSet<unsigned> read;
  for (int64_t chunk : pipeline.shape.chunksOfStage(stage))
    for (Operation *op : pipeline.cuts.opsOf(chunk))
      for (Value operand : op->getOperands())
        if (auto argument = dyn_cast<BlockArgument>(operand))
          read.insert(argument.getArgNumber());
  return read;
}

namespace {
/// Names a chunk and a micro-batch.
using Part = std::pair<int64_t, int64_t>;
Part partOf(const PipelineTask &task) { return {task.chunk, task.microBatch}; }

struct MicroBatchState {
  IRMapping values; // from the loss: what follows from inputs alone
  Value loss;       // on the last stage
};

struct PartState {
  IRMapping activations; // from the loss
  /// These hold the gradients of a chunk's outputs, which the next has given, and of its inputs,
  /// for the one before.
  SmallVector<Value> outputGradients, inputGradients;
  /// Holds ops of the backward that give nothing except gradients of parameters, and that stand
  /// where their task is.
  SmallVector<Operation *> putOff;
};

class StageBuilder {
public:
  StageBuilder(const Pipeline &pipeline, int64_t stage)
      : pipeline(pipeline), stage(stage), loss(pipeline.loss), builder(loss.getContext()),
        training(pipeline.training.withResidentGradients()),
        axis(builder.getStrArrayAttr({kPipelineAxis})) {}

  FailureOr<func::FuncOp> build();

private:
  void createFunction();
  bool isFirst(int64_t chunk) const { return chunk == 0; }
  bool isLast(int64_t chunk) const { return chunk + 1 == pipeline.shape.numChunks(); }
  ArrayRef<Value> inputsOf(int64_t chunk) const {
    return isFirst(chunk) ? ArrayRef<Value>() : pipeline.cuts.chunks[chunk - 1].outputs;
  }

  // Values
  Value find(Value value, Part part);
  Operation *clone(Operation *op, Part part);
  void setMicroBatch(Operation *op, int64_t microBatch);
  Value create(Operation *op, llm::Phase phase, const Twine &name);

  // Tasks
  void exchange(const planning::PipelineExchange &exchange);
  Operation *createExchange(ArrayRef<Value> sent, ArrayRef<int64_t> to, ArrayRef<Type> received,
                            ArrayRef<int64_t> from, llm::Phase phase, const Twine &name);
  ArrayRef<Value> valuesOf(const PipelineMessage &message) const;
  void deliver(const PipelineMessage &message, ValueRange values);
  LogicalResult run(const PipelineTask &task);
  void runForward(const PipelineTask &task);
  LogicalResult runBackward(const PipelineTask &task);
  void putOffWeights(const PipelineTask &task, ArrayRef<Value> needed, Operation *before);
  SmallVector<Operation *> forwardOf(Part part);
  SmallVector<Value> firstActivations(Part part);
  SmallVector<Value> differentiatedParameters(Part part);

  // The end of the step
  void sumSharedParameters();
  Value sumLosses();
  FailureOr<SmallVector<Value>> countDropped();

  const Pipeline &pipeline;
  int64_t stage;
  func::FuncOp loss, step;
  OpBuilder builder;
  llm::TrainingAttr training;
  ArrayAttr axis;
  std::unique_ptr<StepSignature> signature;
  /// Holds the arguments of the loss that are parameters of `signature`.
  SmallVector<BlockArgument> trained;
  IRMapping common; // from the loss: arguments and what follows from parameters alone
  std::map<int64_t, MicroBatchState> microBatches;
  std::map<Part, PartState> parts;
};
} // namespace

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Creates a function whose arguments are those of the loss that it reads.
void StageBuilder::createFunction() {
  llvm::DenseSet<unsigned> read = findReadArguments(pipeline, stage);
  SmallVector<BlockArgument> kept;
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  for (BlockArgument argument : loss.getArguments()) {
    if (!read.contains(argument.getArgNumber()) || getName(argument) == kMicroBatchArgument)
      continue;
    kept.push_back(argument);
    types.push_back(argument.getType());
    DictionaryAttr own = loss.getArgAttrDict(argument.getArgNumber());
    attributes.push_back(own ? own : builder.getDictionaryAttr({}));
  }
  auto module = loss->getParentOfType<ModuleOp>();
  builder.setInsertionPointToEnd(module.getBody());
  step = func::FuncOp::create(builder, loss.getLoc(), ("stage" + Twine(stage)).str(),
                              builder.getFunctionType(types, {}));
  step.setAllArgAttrs(attributes);
  for (StringRef name : {LlmDialect::kMesh, LlmDialect::kMicroBatches})
    step->setAttr(name, loss->getAttr(name));
  step->setAttr(LlmDialect::kStage, builder.getI64IntegerAttr(stage));
  Block *body = step.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  builder.setInsertionPoint(func::ReturnOp::create(builder, loss.getLoc()));
  SmallVector<unsigned> numbers;
  for (auto [from, to] : llvm::zip_equal(kept, body->getArguments())) {
    to.setLoc(from.getLoc());
    common.map(from, to);
    if (getRole(from) != llm::Role::Param ||
        loss.getArgAttr(from.getArgNumber(), LlmDialect::kFrozen))
      continue;
    trained.push_back(from);
    numbers.push_back(to.getArgNumber());
  }
  signature = std::make_unique<StepSignature>(step, training);
  signature->addArguments(numbers, cast<RankedTensorType>(loss.getResultTypes()[0]), trained);
  for (auto [parameter, argument] : llvm::zip_equal(signature->parameters, trained)) {
    parameter.gradient = parameter.gradientArgument;
    if (llm::ReplicaOp replica = findReplica(parameter, argument))
      parameter.replicas = replica.getAxes();
  }
  if (pipeline.shape.stages > 1)
    signature->inputs.stages = axis;
}

/// Returns the value that stands for one of the loss; what belongs to no chunk is computed where it
/// is first read.
Value StageBuilder::find(Value value, Part part) {
  for (IRMapping *mapping : {&common, &microBatches[part.second].values, &parts[part].activations})
    if (Value found = mapping->lookupOrNull(value))
      return found;
  Operation *copy = clone(value.getDefiningOp(), part);
  return copy->getResult(cast<OpResult>(value).getResultNumber());
}

Operation *StageBuilder::clone(Operation *op, Part part) {
  IRMapping operands;
  bool readsNumber = false;
  for (Value operand : op->getOperands()) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (argument && getName(argument) == kMicroBatchArgument)
      readsNumber = true;
    else
      operands.map(operand, find(operand, part));
  }
  Operation *copy = builder.clone(*op, operands);
  if (readsNumber)
    setMicroBatch(copy, part.second);
  llm::writePhase(copy, llm::Phase::Forward);
  bool isActivation = pipeline.cuts.activations.contains(op);
  bool ofOne = isActivation || pipeline.cuts.ofMicroBatch.contains(op);
  if (ofOne)
    copy->setAttr(LlmDialect::kMicroBatch, builder.getI64IntegerAttr(part.second));
  IRMapping &mapping = isActivation ? parts[part].activations
                       : ofOne      ? microBatches[part.second].values
                                    : common;
  mapping.map(op->getResults(), copy->getResults());
  return copy;
}

/// Sets the number of the micro-batch, which is known here.
void StageBuilder::setMicroBatch(Operation *op, int64_t microBatch) {
  IntegerAttr number = builder.getI64IntegerAttr(microBatch);
  auto set = [&](auto rows) {
    rows.getAtMutable().clear();
    rows.setNumberAttr(number);
  };
  if (auto rows = dyn_cast<llm::MicroBatchOp>(op))
    set(rows);
  else
    set(cast<llm::MicroBatchSeedOp>(op));
}

Value StageBuilder::create(Operation *op, llm::Phase phase, const Twine &name) {
  llm::writePhase(op, phase);
  op->setAttr(LlmDialect::kName, builder.getStringAttr(name));
  return op->getResult(0);
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

/// Returns the values of the loss that a message carries, or whose gradients it carries.
ArrayRef<Value> StageBuilder::valuesOf(const PipelineMessage &message) const {
  int64_t chunk = message.writer.chunk;
  return message.writer.kind == TaskKind::Forward ? pipeline.cuts.chunks[chunk].outputs
                                                  : inputsOf(chunk);
}

void StageBuilder::deliver(const PipelineMessage &message, ValueRange values) {
  const PipelineTask &writer = message.writer;
  if (writer.kind == TaskKind::Backward) {
    parts[{writer.chunk - 1, writer.microBatch}].outputGradients.assign(values.begin(),
                                                                        values.end());
    return;
  }
  IRMapping &mapping = parts[{writer.chunk + 1, writer.microBatch}].activations;
  for (auto [of, value] : llvm::zip_equal(valuesOf(message), values))
    mapping.map(of, value);
}

Operation *StageBuilder::createExchange(ArrayRef<Value> sent, ArrayRef<int64_t> to,
                                        ArrayRef<Type> received, ArrayRef<int64_t> from,
                                        llm::Phase phase, const Twine &name) {
  auto op = llm::ExchangeOp::create(builder, NameLoc::get(builder.getStringAttr(name)),
                                    TypeRange(received), ValueRange(sent), axis, to, from);
  llm::writePhase(op, phase);
  op->setAttr(LlmDialect::kName, builder.getStringAttr(name));
  return op;
}

static void addText(std::string &text, StringRef verb, const std::string &task) {
  text += (text.empty() ? "" : ", ") + verb.str() + " " + task;
}

void StageBuilder::exchange(const planning::PipelineExchange &exchange) {
  if (exchange.empty())
    return;
  SmallVector<Value> sent;
  SmallVector<Type> received;
  SmallVector<int64_t> to, from;
  std::string name;
  bool isForward = true;
  for (const PipelineMessage &message : exchange.sends) {
    Part part = partOf(message.writer);
    bool ofForward = message.writer.kind == TaskKind::Forward;
    isForward &= ofForward;
    for (auto [number, value] : llvm::enumerate(valuesOf(message))) {
      sent.push_back(ofForward ? find(value, part) : parts[part].inputGradients[number]);
      to.push_back(message.to);
    }
    addText(name, "send", describe(message.writer, pipeline.shape));
  }
  for (const PipelineMessage &message : exchange.receives) {
    isForward &= message.writer.kind == TaskKind::Forward;
    for (Value value : valuesOf(message)) {
      received.push_back(value.getType());
      from.push_back(message.from);
    }
    addText(name, "receive", describe(message.writer, pipeline.shape));
  }
  Operation *op = createExchange(sent, to, received, from,
                                 isForward ? llm::Phase::Forward : llm::Phase::Backward, name);
  ValueRange results = op->getResults();
  for (const PipelineMessage &message : exchange.receives) {
    size_t count = valuesOf(message).size();
    deliver(message, results.take_front(count));
    results = results.drop_front(count);
  }
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// What the next chunk reads goes to it at once where it is on the same stage.
void StageBuilder::runForward(const PipelineTask &task) {
  Part part = partOf(task);
  for (Operation *op : pipeline.cuts.chunks[task.chunk].ops)
    clone(op, part);
  if (isLast(task.chunk)) {
    microBatches[task.microBatch].loss =
        find(loss.getBody().front().getTerminator()->getOperand(0), part);
    return;
  }
  if (pipeline.shape.stageOf(task.chunk + 1, task.microBatch) != stage)
    return;
  SmallVector<Value> outputs;
  for (Value value : pipeline.cuts.chunks[task.chunk].outputs)
    outputs.push_back(find(value, part));
  deliver({task, stage, stage}, outputs);
}

/// Returns the ops of a chunk's forward, alike for all micro-batches: what belongs to no
/// micro-batch stands among them where the first one has computed it.
SmallVector<Operation *> StageBuilder::forwardOf(Part part) {
  return llvm::map_to_vector(pipeline.cuts.opsOf(part.first), [&](Operation *op) {
    return find(op->getResult(0), part).getDefiningOp();
  });
}

/// Returns what a first chunk computes from inputs and parameters alone; its gradients end the way
/// back through activations.
SmallVector<Value> StageBuilder::firstActivations(Part part) {
  SmallVector<Value> values;
  for (Operation *op : pipeline.cuts.chunks[part.first].ops)
    if (llvm::none_of(op->getOperands(), [&](Value operand) {
          Operation *writer = operand.getDefiningOp();
          return writer && pipeline.cuts.activations.contains(writer);
        }))
      for (Value result : op->getResults())
        if (isa<FloatType>(getElementTypeOrSelf(result.getType())))
          values.push_back(find(result, part));
  return values;
}

/// Returns what stands for each parameter in the backward: its replica, where addends of
/// micro-batches are summed after all of them.
SmallVector<Value> StageBuilder::differentiatedParameters(Part part) {
  SmallVector<Value> values;
  for (auto [parameter, argument] : llvm::zip_equal(signature->parameters, trained))
    values.push_back(
        find(parameter.replicas ? Value(findReplica(parameter, argument)) : argument, part));
  return values;
}

LogicalResult StageBuilder::runBackward(const PipelineTask &task) {
  Part part = partOf(task);
  SmallVector<Value> parameters = differentiatedParameters(part);
  Operation *before = builder.getInsertionPoint()->getPrevNode();
  GradientMap gradients;
  SmallVector<Value> wanted, inputs;
  if (isLast(task.chunk)) {
    Value value = microBatches[task.microBatch].loss;
    gradients[value] = create(
        llm::FillOp::create(builder, value.getLoc(), value.getType(), builder.getF64FloatAttr(1.0)),
        llm::Phase::Backward, "loss.gradient");
  }
  for (auto [value, gradient] :
       llvm::zip(pipeline.cuts.chunks[task.chunk].outputs, parts[part].outputGradients))
    gradients[find(value, part)] = gradient;
  for (Value value : inputsOf(task.chunk))
    inputs.push_back(find(value, part));
  if (isFirst(task.chunk) && pipeline.shape.splitsBackward())
    inputs = firstActivations(part);
  llvm::append_range(wanted, inputs);
  llvm::append_range(wanted, parameters);
  for (auto [parameter, value] : llvm::zip_equal(signature->parameters, parameters))
    if (accumulatesInPlace(parameter))
      gradients[value] = parameter.gradient;
  if (failed(buildGradients(builder, forwardOf(part), wanted, gradients)))
    return failure();
  SmallVector<Value> given;
  for (Value input : inputs) {
    Value gradient = gradients.lookup(input);
    if (!gradient && !isFirst(task.chunk)) // every way to the loss gives zero
      gradient = create(llm::FillOp::create(builder, input.getLoc(), input.getType(),
                                            builder.getF64FloatAttr(0.0)),
                        llm::Phase::Backward, "zero");
    if (gradient)
      given.push_back(gradient);
  }
  addGradients(signature->parameters, llvm::map_to_vector(parameters, [&](Value value) {
                 return gradients.lookup(value);
               }));
  Operation *first = before ? before->getNextNode() : &step.getBody().front().front();
  for (auto it = first->getIterator(); it != builder.getInsertionPoint(); ++it)
    it->setAttr(LlmDialect::kMicroBatch, builder.getI64IntegerAttr(task.microBatch));
  if (pipeline.shape.splitsBackward())
    putOffWeights(task, given, first);
  if (isFirst(task.chunk))
    return success();
  parts[part].inputGradients = given;
  if (pipeline.shape.stageOf(task.chunk - 1, task.microBatch) == stage)
    deliver({task, stage, stage}, given);
  return success();
}

/// Puts off those of the ops from `first` on that `needed` does not depend on.
void StageBuilder::putOffWeights(const PipelineTask &task, ArrayRef<Value> needed,
                                 Operation *first) {
  llvm::SetVector<Operation *> kept;
  auto keep = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && (op == first || first->isBeforeInBlock(op)))
      kept.insert(op);
  };
  llvm::for_each(needed, keep);
  for (size_t next = 0; next < kept.size(); ++next)
    llvm::for_each(kept[next]->getOperands(), keep);
  for (auto it = first->getIterator(); it != builder.getInsertionPoint(); ++it)
    if (!kept.contains(&*it))
      parts[partOf(task)].putOff.push_back(&*it);
}

LogicalResult StageBuilder::run(const PipelineTask &task) {
  switch (task.kind) {
  case TaskKind::Forward:
    runForward(task);
    return success();
  case TaskKind::Backward:
    return runBackward(task);
  case TaskKind::WeightGradient:
    for (Operation *op : parts[partOf(task)].putOff)
      op->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
    return success();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The end of the step
//===----------------------------------------------------------------------===//

/// Each stage that has a parameter gets the addends of the others, and sums in the order of the
/// stages, so that all get equal bits.
void StageBuilder::sumSharedParameters() {
  SmallVector<Value> sent;
  SmallVector<Type> received;
  SmallVector<int64_t> to, from;
  SmallVector<std::pair<TrainedParameter *, ArrayRef<int64_t>>> shared;
  for (auto [parameter, argument] : llvm::zip_equal(signature->parameters, trained)) {
    ArrayRef<int64_t> readers = pipeline.readers.find(argument.getArgNumber())->second;
    parameter.countsInNorm = readers.front() == stage;
    if (readers.size() == 1)
      continue;
    shared.push_back({&parameter, readers});
    for (int64_t other : readers) {
      if (other == stage)
        continue;
      sent.push_back(parameter.gradient);
      received.push_back(parameter.gradient.getType());
      to.push_back(other);
      from.push_back(other);
    }
  }
  if (shared.empty())
    return;
  Operation *op = createExchange(sent, to, received, from, llm::Phase::Backward,
                                 "gradients of shared parameters");
  ValueRange others = op->getResults();
  for (auto [parameter, readers] : shared) {
    Value sum;
    for (int64_t reader : readers) {
      Value addend = reader == stage ? parameter->gradient : others.front();
      if (reader != stage)
        others = others.drop_front();
      sum =
          sum ? create(llm::AddOp::create(builder, addend.getLoc(), addend.getType(), sum, addend),
                       llm::Phase::Backward, getName(parameter->argument) + ".gradient.of_stages")
              : addend;
    }
    parameter->gradient = sum;
  }
}

/// Returns a loss that is equal on all stages: the last gives it, and the others give nothing.
Value StageBuilder::sumLosses() {
  auto type = cast<RankedTensorType>(loss.getResultTypes()[0]);
  Value sum;
  for (auto &[number, microBatch] : microBatches)
    if (Value addend = microBatch.loss)
      sum = sum ? create(llm::AddOp::create(builder, loss.getLoc(), type, sum, addend),
                         llm::Phase::Update, "loss.sum")
                : addend;
  if (!sum)
    sum = create(llm::FillOp::create(builder, loss.getLoc(), type, builder.getF64FloatAttr(0.0)),
                 llm::Phase::Update, "loss.none");
  if (pipeline.shape.stages == 1)
    return sum;
  return create(llm::AllReduceOp::create(builder, loss.getLoc(), sum, axis), llm::Phase::Update,
                "loss.of_stages");
}

/// Returns the count of what all micro-batches have dropped, equal on all stages, where the loss
/// counts it. Places are few bytes, so they wait for one count at the end.
FailureOr<SmallVector<Value>> StageBuilder::countDropped() {
  llm::CountDroppedOp all = pipeline.cuts.dropped;
  if (!all)
    return SmallVector<Value>();
  SmallVector<Value> places;
  for (auto &[part, state] : parts)
    for (Value value : all.getPlaces())
      if (Value own = state.activations.lookupOrNull(value))
        places.push_back(own);
  if (places.empty())
    return emitError(loss.getLoc()) << "has no experts in the blocks of stage " << stage
                                    << ", which then has no dropped choices to count; take fewer "
                                       "stages, or import the model "
                                       "without --expert-capacity";
  llvm::SmallPtrSet<Attribute, 4> summed;
  if (pipeline.shape.stages > 1)
    summed.insert_range(axis);
  for (Operation *user : all->getUsers())
    if (auto sum = dyn_cast<llm::AllReduceOp>(user))
      summed.insert_range(sum.getAxes());
  SmallVector<Attribute> axes;
  llvm::copy_if(llm::meshOf(all).getNames(), std::back_inserter(axes),
                [&](StringAttr name) { return summed.contains(name); });
  Value count = create(llm::CountDroppedOp::create(builder, loss.getLoc(), all.getType(), places),
                       llm::Phase::Update, "dropped_choices");
  if (!axes.empty())
    count =
        create(llm::AllReduceOp::create(builder, loss.getLoc(), count, builder.getArrayAttr(axes)),
               llm::Phase::Update, "dropped_choices.of_stages");
  return SmallVector<Value>{count};
}

FailureOr<func::FuncOp> StageBuilder::build() {
  createFunction();
  ArrayRef<PipelineTask> tasks = pipeline.schedule[stage];
  for (auto [number, task] : llvm::enumerate(tasks)) {
    exchange(pipeline.exchanges[stage][number]);
    if (failed(run(task))) {
      step.erase();
      return failure();
    }
  }
  exchange(pipeline.exchanges[stage][tasks.size()]);
  sumSharedParameters();
  orderGradients(signature->parameters);
  finishGradients(signature->parameters);
  Block &body = step.getBody().front();
  Value total = sumLosses();
  FailureOr<SmallVector<Value>> dropped = countDropped();
  if (failed(dropped)) {
    step.erase();
    return failure();
  }
  buildUpdates(body, /*firstBackward=*/nullptr, training, signature->inputs, signature->parameters);
  signature->finish(total, *dropped);
  return step;
}

FailureOr<func::FuncOp> llmmem::buildStage(const Pipeline &pipeline, int64_t stage) {
  return StageBuilder(pipeline, stage).build();
}
