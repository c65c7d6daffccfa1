//===- Parallelize.cpp - One program for all ranks of a mesh ---------------===//
//
// One walk over the forward, each op after what it reads: parameters that no op has read are split
// (ParallelizeChoice.cpp), operands become what the op can read, its rule gives the shardings of
// its results, and what ranks have parts of is joined (ParallelizeExchanges.cpp).
//
//===----------------------------------------------------------------------===//

#include "llmmem/Transforms/Parallelize.h"
#include "Parallelizer.h"
#include "ParameterShards.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Transforms/PipelineStages.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Splits an input along its second dimension, which is its sequence.
LogicalResult Parallelizer::splitSequence(BlockArgument argument, ValueSharding &state) {
  auto type = cast<RankedTensorType>(argument.getType());
  if (!meshAxes.context || type.getRank() < 2)
    return success();
  const int64_t ranks = shardings.ranksOf({meshAxes.context}), seq = type.getDimSize(1);
  if (type.getRank() > 2)
    return emitError(argument.getLoc())
           << "input '" << getName(argument) << "' of type " << type
           << " is no sequence of tokens, which cp splits; take dp or tp instead of cp";
  if (seq % ranks != 0)
    return emitError(argument.getLoc())
           << "input '" << getName(argument) << "' has a sequence of " << seq
           << ", which does not divide over cp = " << ranks
           << "; import the model with a --seq that is a multiple of " << ranks;
  state.sharding.dimensions[1].axes.push_back(meshAxes.context);
  annotate(argument, LlmDialect::kSharding, shardings.attributeOf(state.sharding));
  annotate(argument, LlmDialect::kWhole, TypeAttr::get(type));
  return success();
}

/// Splits an input along its first dimension, which is its batch, and its sequence.
LogicalResult Parallelizer::splitInput(BlockArgument argument) {
  auto type = cast<RankedTensorType>(argument.getType());
  if (type.getRank() == 0 || meshAxes.copies.empty())
    return success();
  ValueSharding state = shardings.of(argument);
  if (failed(splitSequence(argument, state)))
    return failure();
  if (meshAxes.batch.empty())
    return shardings.set(argument, state);
  int64_t ranks = shardings.ranksOf(meshAxes.batch);
  if (type.getDimSize(0) % ranks != 0)
    return emitError(argument.getLoc())
           << "input '" << getName(argument) << "' has a batch of " << type.getDimSize(0)
           << ", which does not divide over " << spellAxes(meshAxes.batch, ranks)
           << "; import the model with a --batch that is a multiple of " << ranks;
  state.sharding.dimensions[0].axes = meshAxes.batch;
  annotate(argument, LlmDialect::kShard, shardings.arrayOf(meshAxes.batch));
  annotate(argument, LlmDialect::kWhole, TypeAttr::get(type));
  return shardings.set(argument, state);
}

/// Takes what the user has said about an argument, or splits an input along its batch.
LogicalResult Parallelizer::startArgument(BlockArgument argument) {
  ValueSharding state = shardings.of(argument);
  llm::Role role = getRole(argument);
  if (role == llm::Role::Param) {
    ofParameters.insert(argument);
    // Numbers in fewer bits have no gradient.
    const bool isPacked = llm::isPacked(getElementTypeOrSelf(argument.getType()));
    if (!isPacked)
      addTo(state.own, meshAxes.copies);
    if (meshAxes.tensor && !isPacked)
      state.shared.push_back(meshAxes.tensor);
  }
  auto given =
      loss.getArgAttrOfType<llm::ShardingAttr>(argument.getArgNumber(), LlmDialect::kSharding);
  if (!given && role == llm::Role::Input)
    return splitInput(argument);
  if (given) {
    FailureOr<Sharding> sharding = shardings.read(given, argument);
    if (failed(sharding))
      return failure();
    state.sharding = std::move(*sharding);
    choice.keep(argument);
    if (!state.sharding.isWhole())
      annotate(argument, LlmDialect::kWhole, TypeAttr::get(argument.getType()));
  }
  return given || role == llm::Role::Param ? shardings.set(argument, state) : success();
}

static Operation *firstReaderOf(BlockArgument argument) {
  Operation *first = *argument.user_begin();
  for (Operation *user : argument.getUsers())
    first = user->isBeforeInBlock(first) ? user : first;
  return first;
}

/// Makes each parameter its part, gathered where the first of them is first read. All readers read
/// this one gather: whether what it gives is held for the backward or gathered again is for the
/// plan to decide, as for any other op.
void Parallelizer::gatherTogether(ArrayRef<BlockArgument> arguments) {
  const Axes copies = copyAxesOf(arguments.front());
  ArrayAttr axes = shardings.arrayOf(copies);
  Operation *first = firstReaderOf(arguments.front());
  OpBuilder builder(first);
  SmallVector<RankedTensorType> shards;
  SmallVector<Type> gathered;
  SmallVector<Attribute> names;
  for (BlockArgument argument : arguments) {
    auto shard = cast<RankedTensorType>(argument.getType());
    ParameterShard parts = *ParameterShard::of(shard, shardings.ranksOf(copies));
    shards.push_back(shard);
    gathered.push_back(parts.gathered);
    names.push_back(builder.getStringAttr(getName(argument) + ".gathered"));
    argument.setType(parts.part);
  }
  BlockArgument argument = arguments.front();
  Operation *gather;
  if (arguments.size() == 1) {
    gather = llm::AllGatherOp::create(builder, argument.getLoc(), gathered[0], argument,
                                      /*destination=*/Value(), axes, /*dimension=*/0);
  } else {
    gather = llm::AllGatherBucketOp::create(
        builder, argument.getLoc(), gathered,
        llvm::map_to_vector(arguments, [](BlockArgument part) -> Value { return part; }),
        /*destinations=*/ValueRange(), axes);
    gather->setAttr(LlmDialect::kResultNames, builder.getArrayAttr(names));
  }
  annotateOp(gather, getName(argument) + ".gathered", first);
  for (auto [part, result, shard] : llvm::zip_equal(arguments, gather->getResults(), shards)) {
    Value value = result;
    if (result.getType() != shard) {
      value = llm::ReshapeOp::create(builder, part.getLoc(), shard, value);
      annotateOp(value.getDefiningOp(), getName(part) + ".gathered", first);
    }
    Value(part).replaceAllUsesExcept(value, gather);
  }
}

/// Gathers those of one block that a bucket has room for together, in the order of their first
/// readers. What is frozen has buckets of its own: every result of a bucket that one trained part
/// enters would need a gradient.
void Parallelizer::gatherParameters() {
  llvm::stable_sort(inParts, [](BlockArgument a, BlockArgument b) {
    return firstReaderOf(a)->isBeforeInBlock(firstReaderOf(b));
  });
  auto blockOf = [](BlockArgument argument) {
    return firstReaderOf(argument)->getAttr(LlmDialect::kBlock);
  };
  // Block, elements, whether frozen, and the axes.
  using Key = std::tuple<Attribute, Type, Attribute, Attribute>;
  llvm::MapVector<Key, SmallVector<SmallVector<BlockArgument>>> buckets;
  SmallVector<SmallVector<BlockArgument>> all;
  llvm::DenseMap<Key, int64_t> bytesInLast;
  for (BlockArgument argument : inParts) {
    int64_t bytes = bytesOfType(argument.getType());
    Attribute block = blockOf(argument);
    if (!block || bytes > strategy.bucketBytes || shardings.ranksOf(copyAxesOf(argument)) == 1) {
      all.push_back({argument});
      continue;
    }
    Attribute frozen = loss.getArgAttr(argument.getArgNumber(), LlmDialect::kFrozen);
    const Key key = {block, getElementTypeOrSelf(argument.getType()), frozen,
                     shardings.arrayOf(copyAxesOf(argument))};
    auto &ofBlock = buckets[key];
    if (ofBlock.empty() || bytesInLast[key] + bytes > strategy.bucketBytes ||
        ofBlock.back().size() == kMostInBucket) {
      ofBlock.emplace_back();
      bytesInLast[key] = 0;
    }
    ofBlock.back().push_back(argument);
    bytesInLast[key] += bytes;
  }
  for (auto &[key, ofBlock] : buckets)
    llvm::append_range(all, ofBlock);
  for (ArrayRef<BlockArgument> bucket : all)
    gatherTogether(bucket);
}

/// Returns whether parts of a tensor in fewer bits are whole rows, which have whole groups, and
/// whole bytes.
static bool hasWholeRows(RankedTensorType part, RankedTensorType gathered, RankedTensorType whole) {
  return gathered == whole && part.getNumElements() * part.getElementTypeBitWidth() % 8 == 0;
}

/// Returns the axes whose ranks have copies of a parameter: of one that the user has split over
/// such an axis, or that has one gradient for all of its ranks, those that remain.
Axes Parallelizer::copyAxesOf(BlockArgument parameter) const {
  const ValueSharding state = shardings.of(parameter);
  Axes axes = meshAxes.copies;
  llvm::erase_if(axes, [&](StringAttr axis) {
    return state.isSplitOver(axis) || llvm::is_contained(state.shared, axis);
  });
  return axes;
}

/// Checks that ZeRO can split what tp and ep leave of a parameter.
LogicalResult Parallelizer::checkParts(BlockArgument argument) {
  auto shard = cast<RankedTensorType>(argument.getType());
  const Axes axes = copyAxesOf(argument);
  if (strategy.zeroStage == 0 || axes.empty())
    return success();
  int64_t ranks = shardings.ranksOf(axes);
  const std::optional<ParameterShard> parts = ParameterShard::of(shard, ranks);
  const bool isPacked = llm::isPacked(shard.getElementType()) && strategy.zeroStage == 3;
  if (parts && (!isPacked || hasWholeRows(parts->part, parts->gathered, shard)))
    return success();
  InFlightDiagnostic error = emitError(argument.getLoc())
                             << "parameter '" << getName(argument) << "' of type " << shard;
  if (isPacked)
    return error << " is held in fewer bits, in parts of whole rows and bytes, and "
                 << spellAxes(axes, ranks) << " does not divide it so; take a " << nameAxes(axes)
                 << " that divides " << shard.getDimSize(0)
                 << ", or zero=2, which leaves frozen parameters whole";
  return error << " has " << shard.getNumElements() << " elements, which do not divide over "
               << spellAxes(axes, ranks) << "; take a " << nameAxes(axes)
               << " that divides them, or zero=0";
}

/// Annotates a cache with the part that a rank holds, in the way of parameters.
void Parallelizer::finishCache(BlockArgument argument) {
  const Sharding sharding = shardings.of(argument).sharding;
  if (sharding.isWhole())
    return;
  auto type = cast<RankedTensorType>(argument.getType());
  annotate(argument, LlmDialect::kSharding, shardings.attributeOf(sharding));
  annotate(argument, LlmDialect::kWhole, TypeAttr::get(type.clone(sharding.wholeSizes)));
}

/// Decides, once all readers are known, whether ZeRO splits the parameter.
void Parallelizer::finishParameter(BlockArgument argument) {
  ValueSharding state = shardings.of(argument);
  auto shard = cast<RankedTensorType>(argument.getType());
  Type whole = shard.clone(state.sharding.wholeSizes);
  if (!state.sharding.isWhole()) {
    annotate(argument, LlmDialect::kSharding, shardings.attributeOf(state.sharding));
    annotate(argument, LlmDialect::kWhole, TypeAttr::get(whole));
  }
  const Axes copies = copyAxesOf(argument);
  if (copies.empty())
    return;
  ArrayAttr axes = shardings.arrayOf(copies);
  annotate(argument, LlmDialect::kDataParallel,
           llm::DataParallelAttr::get(loss.getContext(), axes, strategy.zeroStage,
                                      strategy.bucketBytes, strategy.server));
  if (strategy.zeroStage < 3 || argument.use_empty())
    return;
  annotate(argument, LlmDialect::kShard, axes);
  annotate(argument, LlmDialect::kWhole, TypeAttr::get(whole));
  inParts.push_back(argument);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Visits an op that reads nothing that is split.
LogicalResult Parallelizer::visitWhole(Operation *op) {
  if (failed(reader.readAsOwn(op)))
    return failure();
  ValueSharding all;
  bool isOfParameters = op->getNumOperands() > 0;
  for (Value operand : op->getOperands()) {
    ValueSharding state = shardings.of(operand);
    addTo(all.own, state.own);
    addTo(all.shared, state.shared);
    isOfParameters &=
        ofParameters.contains(operand) || !isa<FloatType>(getElementTypeOrSelf(operand.getType()));
  }
  for (OpResult result : op->getResults()) {
    ValueSharding state = all;
    state.sharding = Sharding::whole(result.getType());
    if (failed(setResult(result, state)))
      return failure();
    if (isOfParameters && !all.own.empty())
      ofParameters.insert(result);
  }
  return success();
}

LogicalResult Parallelizer::visitSplit(Operation *op, ShardingOpInterface rule) {
  if (failed(reader.readSplit(op)))
    return failure();
  SmallVector<ValueSharding> operands = shardings.ofOperands(op);
  SmallVector<Sharding> operandShardings;
  Axes own, shared;
  for (const ValueSharding &operand : operands) {
    operandShardings.push_back(operand.sharding);
    addTo(own, operand.own);
    addTo(shared, operand.shared);
  }
  const bool isOfParameters = llvm::all_of(
      op->getOperands(), [&](Value operand) { return ofParameters.contains(operand); });
  FailureOr<SmallVector<Sharding>> results = propagate(op, operandShardings);
  OpBuilder builder(op);
  if (failed(results) || failed(rule.localize(builder, operandShardings)))
    return failure();
  for (auto [result, sharding] : llvm::zip_equal(op->getResults(), *results)) {
    ValueSharding state{sharding, own, shared};
    removeFrom(state.own, sharding.partial);
    if (failed(setResult(result, state)))
      return failure();
    if (isOfParameters)
      ofParameters.insert(result);
  }
  return success();
}

/// Returns the op to go on with.
FailureOr<Operation *> Parallelizer::visit(Operation *op) {
  if (op->getNumResults() > 0 &&
      llvm::all_of(op->getResults(), [&](Value result) { return shardings.isKnown(result); }))
    return op->getNextNode();
  if (failed(reader.readPositions(op)) ||
      (meshAxes.experts && shardings.ranksOf({meshAxes.experts}) > 1 &&
       failed(choice.splitExperts(op, meshAxes.experts))) ||
      (meshAxes.tensor && shardings.ranksOf({meshAxes.tensor}) > 1 && failed(choice.decide(op))))
    return failure();
  SmallVector<Sharding> operands;
  for (const ValueSharding &operand : shardings.ofOperands(op))
    operands.push_back(operand.sharding);
  if (llvm::all_of(operands, [](const Sharding &sharding) { return sharding.isWhole(); })) {
    if (failed(visitWhole(op)))
      return failure();
    return op->getNextNode();
  }
  auto rule = dyn_cast<ShardingOpInterface>(op);
  if (!rule)
    return op->emitError()
           << "'" << op->getName()
           << "' reads what is split over the ranks and has no rule for that; implement "
              "ShardingOpInterface, or attach it as an external model";
  Operation *before = op->getPrevNode();
  OpBuilder builder(op);
  if (rule.separate(builder, operands)) {
    op->erase();
    return before ? before->getNextNode() : &body.front();
  }
  if (failed(visitSplit(op, rule)))
    return failure();
  return op->getNextNode();
}

/// Checks that everything between the parameters and the loss has met what is split, and been
/// summed.
LogicalResult Parallelizer::checkLoss() {
  Value value =
      body.getTerminator()->getNumOperands() ? body.getTerminator()->getOperand(0) : Value();
  if (!value || shardings.of(value).own.empty())
    return success();
  return emitError(value.getLoc())
         << "the loss is computed from "
         << (ofParameters.contains(value) ? "parameters alone" : "what each rank has of its own")
         << ", and its gradient would be counted once a rank; return one that depends on "
         << (ofParameters.contains(value) ? "the batch" : "what is split");
}

/// Checks that ep, where it has several ranks, splits experts.
LogicalResult Parallelizer::checkExperts() {
  if (!meshAxes.experts || shardings.ranksOf({meshAxes.experts}) == 1 ||
      llvm::any_of(body.getArguments(), [&](BlockArgument argument) {
        return getRole(argument) == llm::Role::Param &&
               shardings.of(argument).isSplitOver(meshAxes.experts);
      }))
    return success();
  return emitError(loss.getLoc()) << "has no experts that ep = "
                                  << shardings.ranksOf({meshAxes.experts})
                                  << " would split; give these ranks to dp";
}

LogicalResult Parallelizer::run() {
  for (BlockArgument argument : body.getArguments())
    if (failed(startArgument(argument)))
      return failure();
  for (Operation *op = &body.front(); op != body.getTerminator();) {
    FailureOr<Operation *> next = visit(op);
    if (failed(next))
      return failure();
    op = *next;
  }
  SmallVector<BlockArgument> parameters;
  for (BlockArgument argument : body.getArguments()) {
    if (getRole(argument) == llm::Role::Param)
      parameters.push_back(argument);
    if (getRole(argument) == llm::Role::KvCache)
      finishCache(argument);
  }
  if (llvm::any_of(parameters,
                   [&](BlockArgument parameter) { return failed(checkParts(parameter)); }) ||
      failed(checkExperts()) || failed(strategy.inference ? gatherResults() : checkLoss()))
    return failure();
  for (BlockArgument parameter : parameters)
    finishParameter(parameter);
  gatherParameters();
  loss.setType(FunctionType::get(loss.getContext(), body.getArgumentTypes(),
                                 body.getTerminator()->getOperandTypes()));
  return success();
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// Checks what splits sequences. The ranks of tp share what a rank of cp has, and the positions of
/// a group count in the mesh's order.
static LogicalResult checkSequence(func::FuncOp loss, llm::MeshAttr mesh,
                                   const ParallelStrategy &strategy) {
  const std::optional<unsigned> tp = mesh.findAxis(kTensorParallelAxis),
                                cp = mesh.findAxis(kContextParallelAxis);
  if (strategy.sequenceParallel && !tp)
    return emitError(loss.getLoc()) << "is to be split along the sequence over tp, which " << mesh
                                    << " does not have; add tp, or leave out sequence-parallel";
  if (strategy.sequenceParallel && cp && *tp < *cp)
    return emitError(loss.getLoc())
           << "is to be split along the sequence over cp and then over tp, and " << mesh
           << " has them in the other order; write cp before tp, or leave out sequence-parallel";
  return success();
}

/// Checks what splits experts, or counts their places.
static LogicalResult checkExpertAxis(func::FuncOp loss, llm::MeshAttr mesh,
                                     const ParallelStrategy &strategy) {
  const std::optional<unsigned> data = mesh.findAxis(kDataParallelAxis),
                                experts = mesh.findAxis(kExpertParallelAxis);
  if (data && experts && *experts < *data)
    return emitError(loss.getLoc())
           << "is to be split over " << mesh
           << ", whose ranks of ep are no neighbours among those of dp; write dp before ep";
  if (strategy.server && experts)
    return emitError(loss.getLoc())
           << "has a server, which would update experts that it does not have over ep; leave out "
              "ep, or let every rank update (data-parallel=all-reduce)";
  if (const bool overContext = mesh.findAxis(kContextParallelAxis).has_value();
      (overContext || strategy.sequenceParallel) && countExperts(loss) > 0)
    return emitError(loss.getLoc())
           << "is to be split along the sequence" << (overContext ? " over cp" : "")
           << ", and its experts count their places along whole sequences; leave out "
           << (overContext ? "cp: dp and ep split the batch"
                           : "sequence-parallel: tp splits the widths of experts, and ep their "
                             "number");
  return success();
}

/// Checks the strategy, and that the mesh has the axes that it splits over.
static LogicalResult checkStrategy(func::FuncOp loss, llm::MeshAttr mesh,
                                   const ParallelStrategy &strategy) {
  if (strategy.zeroStage < 0 || strategy.zeroStage > 3)
    return emitError(loss.getLoc())
           << "is to be split by ZeRO stage " << strategy.zeroStage << ", expected 0 to 3";
  if (strategy.bucketBytes < 0)
    return emitError(loss.getLoc())
           << "has buckets of " << strategy.bucketBytes << " bytes, expected 0 or more";
  if (strategy.server &&
      (strategy.zeroStage > 0 || mesh.findAxis(kPipelineAxis) || !mesh.findAxis(kDataParallelAxis)))
    return emitError(loss.getLoc())
           << "has a server, which needs dp and goes neither with a ZeRO stage nor with pp; the "
              "mesh is "
           << mesh << ", the stage " << strategy.zeroStage;
  if (strategy.zeroStage > 0 &&
      llvm::none_of(std::initializer_list<StringRef>{kDataParallelAxis, kExpertParallelAxis,
                                                     kContextParallelAxis},
                    [&](StringRef axis) { return mesh.findAxis(axis).has_value(); }))
    return emitError(loss.getLoc()) << "is to be split by ZeRO stage " << strategy.zeroStage
                                    << " over dp, which " << mesh << " does not have; add dp, or "
                                    << "take zero=0";
  return success();
}

/// Checks that the function is one that can be split.
static LogicalResult checkFunction(func::FuncOp loss) {
  if (loss->hasAttr(LlmDialect::kMesh))
    return emitError(loss.getLoc())
           << "is the function of one rank of " << loss->getAttr(LlmDialect::kMesh) << " already";
  if (loss.isExternal() || !llvm::hasSingleElement(loss.getBody()))
    return emitError(loss.getLoc(), "is not straight-line; ranks share a program of one block");
  for (Type type : loss.getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); !tensor || !tensor.hasStaticShape())
      return emitError(loss.getLoc()) << "takes " << type << ", expected tensors of static shape";
  return success();
}

static LogicalResult check(func::FuncOp loss, llm::MeshAttr mesh,
                           const ParallelStrategy &strategy) {
  return success(succeeded(checkStrategy(loss, mesh, strategy)) && succeeded(checkFunction(loss)) &&
                 succeeded(checkExpertAxis(loss, mesh, strategy)) &&
                 succeeded(checkSequence(loss, mesh, strategy)));
}

static bool isWeightInFewerBits(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && getRole(argument) == llm::Role::Param &&
         llm::isPacked(getElementTypeOrSelf(value.getType()));
}

/// Refuses what only gradients and updates use, and a batch whose sequences need not meet.
static LogicalResult checkInference(func::FuncOp step, llm::MeshAttr mesh,
                                    const ParallelStrategy &strategy) {
  if (step->hasAttr(LlmDialect::kArena))
    return emitError(step.getLoc()) << "is planned already; split what llmmem-import writes, and "
                                       "plan the step of a rank";
  for (StringAttr axis : mesh.getNames())
    if (axis.getValue() != kTensorParallelAxis)
      return emitError(step.getLoc())
             << "is a step of inference, which ranks of tp alone split, and " << mesh << " has "
             << axis.getValue()
             << "; leave it out, and give tp more ranks, or each of several jobs "
             << "fewer sequences (--batch)";
  for (Operation &op : step.getBody().front())
    if (llvm::any_of(op.getOperands(), isWeightInFewerBits) && mesh.getNumRanks() > 1)
      return op.emitError() << "'" << op.getName()
                            << "' reads a weight in fewer bits, of which ranks have whole rows, so "
                               "that heads and hidden columns could not be split; import the "
                               "model without --weights, or run it on one rank";
  if (strategy.sequenceParallel)
    return emitError(step.getLoc()) << "is a step of inference, whose positions are not split; "
                                       "leave out sequence-parallel";
  return success();
}

LogicalResult llmmem::parallelize(func::FuncOp loss, llm::MeshAttr mesh,
                                  const ParallelStrategy &strategy) {
  if (failed(check(loss, mesh, strategy)) ||
      (strategy.inference && failed(checkInference(loss, mesh, strategy))))
    return failure();
  loss->setAttr(LlmDialect::kMesh, mesh);
  return Parallelizer(loss, strategy).run();
}
