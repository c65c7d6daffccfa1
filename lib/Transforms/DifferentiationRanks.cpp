//===- DifferentiationRanks.cpp - Updates that ranks share ------------------===//
//
// Data parallel ranks have addends of each gradient. Their sum is formed as soon as the addend is
// there, or those of a bucket are. So it can run at the same time as the rest of the backward, and
// a whole gradient that is not kept ends early. The parts that ZeRO splits updates into are those
// of ParameterShards.h.
//
//===----------------------------------------------------------------------===//

#include "DifferentiationStep.h"
#include "ParameterShards.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

static int64_t zeroStage(const TrainedParameter &parameter) {
  return parameter.sharing ? parameter.sharing.getZero() : 0;
}

/// Returns whether the update is of a part and the parameter is whole.
static bool updatesPart(const TrainedParameter &parameter) {
  return zeroStage(parameter) == 1 || zeroStage(parameter) == 2;
}

ArrayAttr llmmem::serverOf(const TrainedParameter &parameter) {
  return parameter.sharing && parameter.sharing.getServer() ? parameter.sharing.getAxes()
                                                            : ArrayAttr();
}

static ParameterShard shardOf(const TrainedParameter &parameter) {
  auto type = cast<RankedTensorType>(parameter.argument.getType());
  llm::MeshAttr mesh = llm::meshOf(parameter.argument.getOwner()->getTerminator());
  return *ParameterShard::of(type, mesh.getGroupSize(parameter.sharing.getAxes()));
}

namespace {
/// Writes ops with a phase, a name, and the block of another op.
class AnnotatingBuilder {
public:
  AnnotatingBuilder(OpBuilder &builder, llm::Phase phase, const Twine &name, Operation *neighbour)
      : builder(builder), phase(phase), name(builder.getStringAttr(name)),
        block(neighbour ? neighbour->getAttr(LlmDialect::kBlock) : Attribute()) {}

  template <typename Op, typename... Args>
  Op createOp(Args &&...args) {
    auto op = Op::create(builder, NameLoc::get(name), std::forward<Args>(args)...);
    llm::writePhase(op, phase);
    op->setAttr(LlmDialect::kName, name);
    if (block)
      op->setAttr(LlmDialect::kBlock, block);
    return op;
  }

  template <typename Op, typename... Args>
  Value create(Args &&...args) {
    return createOp<Op>(std::forward<Args>(args)...)->getResult(0);
  }

  /// Reshapes `value` to `type`, which has the same elements.
  Value reshape(Value value, Type type) {
    return value.getType() == type ? value : create<llm::ReshapeOp>(type, value);
  }

private:
  OpBuilder &builder;
  llm::Phase phase;
  StringAttr name;
  Attribute block;
};

/// Holds parameters that share their collectives, in the order in which the backward ends
/// gradients.
using Bucket = SmallVector<TrainedParameter *>;
} // namespace

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

void llmmem::orderGradients(MutableArrayRef<TrainedParameter> parameters) {
  Bucket order;
  for (TrainedParameter &parameter : parameters)
    order.push_back(&parameter);
  llvm::stable_sort(order, [](const TrainedParameter *a, const TrainedParameter *b) {
    Operation *ofA = a->gradient.getDefiningOp(), *ofB = b->gradient.getDefiningOp();
    // A gradient that no op ends was there before.
    return ofA && ofB ? ofA->isBeforeInBlock(ofB) : !ofA && ofB;
  });
  for (auto [number, parameter] : llvm::enumerate(order))
    parameter->endsAt = number;
}

/// Returns the parameters in the order of `endsAt`.
static Bucket inOrderOfBackward(MutableArrayRef<TrainedParameter> parameters) {
  Bucket order;
  for (TrainedParameter &parameter : parameters)
    order.push_back(&parameter);
  llvm::stable_sort(order, [](const TrainedParameter *a, const TrainedParameter *b) {
    return a->endsAt < b->endsAt;
  });
  return order;
}

void llmmem::fillBuckets(MutableArrayRef<TrainedParameter> parameters) {
  struct Open {
    unsigned number;
    int64_t bytes;
    size_t members;
  };
  llvm::DenseMap<std::pair<Attribute, Type>, Open> open;
  unsigned next = 0;
  for (TrainedParameter *parameter : inOrderOfBackward(parameters)) {
    parameter->bucket = next++;
    llm::DataParallelAttr sharing = parameter->sharing;
    int64_t bytes = bytesOfType(parameter->argument.getType());
    // Parameters that go to a server and come back do not share a collective.
    if (!sharing || sharing.getServer() || bytes > sharing.getBucketBytes() ||
        llm::meshOf(parameter->argument.getOwner()->getTerminator())
                .getGroupSize(sharing.getAxes()) == 1)
      continue;
    auto [known, isNew] =
        open.try_emplace({sharing, getElementTypeOrSelf(parameter->argument.getType())});
    Open &bucket = known->second;
    if (isNew || bucket.bytes + bytes > sharing.getBucketBytes() || bucket.members == kMostInBucket)
      bucket = {parameter->bucket, 0, 0};
    bucket.bytes += bytes;
    ++bucket.members;
    parameter->bucket = bucket.number;
  }
}

/// Returns the buckets of those parameters that `takes` names, in the order of their last
/// gradients.
static SmallVector<Bucket> bucketsOf(MutableArrayRef<TrainedParameter> parameters,
                                     function_ref<bool(const TrainedParameter &)> takes) {
  llvm::MapVector<unsigned, Bucket> buckets;
  for (TrainedParameter *parameter : inOrderOfBackward(parameters))
    if (takes(*parameter))
      buckets[parameter->bucket].push_back(parameter);
  return llvm::map_to_vector(buckets, [](auto &entry) { return std::move(entry.second); });
}

/// Writes the names of a bucket's results.
static void nameResults(Operation *bucketOp, const Bucket &bucket, StringRef suffix) {
  Builder builder(bucketOp->getContext());
  bucketOp->setAttr(LlmDialect::kResultNames,
                    builder.getArrayAttr(llvm::map_to_vector(bucket, [&](auto *parameter) {
                      return Attribute(
                          builder.getStringAttr(getName(parameter->argument) + suffix));
                    })));
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// Returns a builder after the op that ends a gradient, or at the end of the function that it is an
/// argument of.
static OpBuilder builderAfter(Value gradient) {
  Operation *last = gradient.getDefiningOp();
  if (!last)
    return OpBuilder(cast<BlockArgument>(gradient).getOwner()->getTerminator());
  OpBuilder builder(last->getContext());
  builder.setInsertionPointAfter(last);
  return builder;
}

/// Sets what the update of a whole parameter reads.
static void setSum(TrainedParameter &parameter, Value sum) {
  parameter.gradient = sum;
  parameter.updatingGradient = sum;
}

/// Sets what the update of a part reads: under ZeRO-2 the resident gradient takes up the part.
static void setPart(AnnotatingBuilder &create, TrainedParameter &parameter, Value part) {
  if (zeroStage(parameter) == 2) {
    if (parameter.gradientArgument)
      part = create.create<llm::AddOp>(part.getType(), parameter.gradientArgument, part);
    parameter.gradient = part;
  }
  parameter.updatingGradient = part;
}

static void sumOverRanks(TrainedParameter &parameter) {
  Operation *last = parameter.gradient.getDefiningOp();
  OpBuilder builder = builderAfter(parameter.gradient);
  AnnotatingBuilder create(builder, llm::Phase::Backward,
                           getName(parameter.argument) + ".gradient.sum", last);
  ArrayAttr axes = parameter.sharing.getAxes();
  if (serverOf(parameter)) {
    setSum(parameter, create.create<llm::ReduceOp>(parameter.gradient, axes, /*root=*/0));
    return;
  }
  if (!updatesPart(parameter)) {
    setSum(parameter, create.create<llm::AllReduceOp>(parameter.gradient, axes));
    return;
  }
  ParameterShard shard = shardOf(parameter);
  setPart(create, parameter,
          create.create<llm::ReduceScatterOp>(shard.part,
                                              create.reshape(parameter.gradient, shard.gathered),
                                              axes, /*dimension=*/0));
}

/// Sums all of them in one collective, after the op that ends the last.
static void sumOverRanks(const Bucket &bucket) {
  TrainedParameter &last = *bucket.back();
  if (bucket.size() == 1)
    return sumOverRanks(last);
  OpBuilder builder = builderAfter(last.gradient);
  AnnotatingBuilder create(builder, llm::Phase::Backward,
                           getName(last.argument) + ".gradient.bucket",
                           last.gradient.getDefiningOp());
  ArrayAttr axes = last.sharing.getAxes();
  SmallVector<Value> gradients;
  SmallVector<Type> parts;
  for (TrainedParameter *parameter : bucket) {
    gradients.push_back(parameter->gradient);
    if (!updatesPart(last))
      continue;
    ParameterShard shard = shardOf(*parameter);
    gradients.back() = create.reshape(parameter->gradient, shard.gathered);
    parts.push_back(shard.part);
  }
  Operation *sum;
  if (updatesPart(last))
    sum = create.createOp<llm::ReduceScatterBucketOp>(parts, gradients, axes);
  else
    sum =
        create.createOp<llm::AllReduceBucketOp>(TypeRange(ValueRange(gradients)), gradients, axes);
  nameResults(sum, bucket, ".gradient.sum");
  for (auto [parameter, result] : llvm::zip_equal(bucket, sum->getResults())) {
    AnnotatingBuilder ofOne(builder, llm::Phase::Backward,
                            getName(parameter->argument) + ".gradient.sum", sum);
    if (updatesPart(last))
      setPart(ofOne, *parameter, result);
    else
      setSum(*parameter, result);
  }
}

static void sumBuckets(MutableArrayRef<TrainedParameter> parameters,
                       function_ref<bool(const TrainedParameter &)> takes) {
  fillBuckets(parameters);
  for (const Bucket &bucket : bucketsOf(parameters, takes))
    sumOverRanks(bucket);
}

bool llmmem::accumulatesInPlace(const TrainedParameter &parameter) {
  return zeroStage(parameter) != 2;
}

llm::ReplicaOp llmmem::findReplica(const TrainedParameter &parameter, BlockArgument argument) {
  if (!accumulatesInPlace(parameter) || !argument.hasOneUse())
    return {};
  return dyn_cast<llm::ReplicaOp>(*argument.user_begin());
}

void llmmem::addGradients(MutableArrayRef<TrainedParameter> parameters, ArrayRef<Value> addends) {
  SmallVector<TrainedParameter *> scattered;
  std::vector<TrainedParameter> added;
  for (auto [parameter, addend] : llvm::zip_equal(parameters, addends)) {
    if (!addend)
      continue;
    if (zeroStage(parameter) != 2) {
      parameter.gradient = addend;
      continue;
    }
    scattered.push_back(&parameter);
    added.push_back(parameter);
    added.back().gradient = addend;
  }
  orderGradients(added);
  sumBuckets(added, [](const TrainedParameter &) { return true; });
  for (auto [parameter, sum] : llvm::zip_equal(scattered, added)) {
    // This is the sum so far, which is no longer the argument.
    if (auto add = sum.gradient.getDefiningOp<llm::AddOp>())
      add.getAMutable().assign(parameter->gradient);
    parameter->gradient = sum.gradient;
  }
}

void llmmem::scatterGradients(MutableArrayRef<TrainedParameter> parameters) {
  sumBuckets(parameters,
             [](const TrainedParameter &parameter) { return zeroStage(parameter) == 2; });
}

/// Applies the rule of its replica for one micro-batch to the addends of all of them.
static void sumReplicas(TrainedParameter &parameter) {
  OpBuilder builder = builderAfter(parameter.gradient);
  AnnotatingBuilder create(builder, llm::Phase::Backward,
                           getName(parameter.argument) + ".gradient.of_replicas",
                           parameter.gradient.getDefiningOp());
  parameter.gradient = create.create<llm::AllReduceOp>(parameter.gradient, parameter.replicas);
}

void llmmem::finishGradients(MutableArrayRef<TrainedParameter> parameters) {
  // In this order the last of a bucket is the last in the program, too, also where all are
  // arguments.
  for (TrainedParameter *parameter : inOrderOfBackward(parameters))
    if (parameter->replicas)
      sumReplicas(*parameter);
  for (TrainedParameter &parameter : parameters)
    parameter.updatingGradient = parameter.gradient;
  sumBuckets(parameters, [](const TrainedParameter &parameter) {
    return parameter.sharing && zeroStage(parameter) < 2;
  });
}

void llmmem::shareGradients(MutableArrayRef<TrainedParameter> parameters) {
  for (TrainedParameter &parameter : parameters)
    parameter.updatingGradient = parameter.gradient;
  // The gather's rule has summed the gradient of a parameter that is split itself.
  sumBuckets(parameters, [](const TrainedParameter &parameter) {
    return parameter.sharing && zeroStage(parameter) != 3;
  });
}

ArrayAttr llmmem::gradientAxes(const TrainedParameter &parameter) {
  auto step = cast<func::FuncOp>(parameter.argument.getOwner()->getParentOp());
  unsigned number = parameter.argument.getArgNumber();
  llvm::SmallPtrSet<Attribute, 4> split;
  if (zeroStage(parameter) > 0)
    split.insert_range(parameter.sharing.getAxes());
  if (auto sharding = step.getArgAttrOfType<llm::ShardingAttr>(number, LlmDialect::kSharding))
    for (unsigned dimension = 0; dimension < sharding.getRank(); ++dimension)
      split.insert_range(sharding.getAxes(dimension));
  SmallVector<Attribute> axes;
  if (auto mesh = step->getAttrOfType<llm::MeshAttr>(LlmDialect::kMesh))
    llvm::copy_if(mesh.getNames(), std::back_inserter(axes),
                  [&](StringAttr axis) { return split.contains(axis); });
  return ArrayAttr::get(step.getContext(), axes);
}

/// The square root of the sum of squares of norms is the norm of all.
Value llmmem::combineNorms(OpBuilder &builder, Value norm, ArrayAttr axes) {
  AnnotatingBuilder create(builder, llm::Phase::Update, "gradient_norm.all", nullptr);
  auto type = cast<RankedTensorType>(norm.getType());
  int64_t ranks = llm::groupSizeOf(norm.getDefiningOp(), axes);
  Value own = create.reshape(norm, RankedTensorType::get({1}, type.getElementType()));
  Value all = create.create<llm::AllGatherOp>(RankedTensorType::get({ranks}, type.getElementType()),
                                              own, /*destination=*/Value(), axes, /*dimension=*/0);
  return create.create<llm::GlobalNormOp>(type, ValueRange(all));
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

Value llmmem::takePart(OpBuilder &builder, const TrainedParameter &parameter) {
  if (!updatesPart(parameter))
    return parameter.argument;
  ParameterShard shard = shardOf(parameter);
  AnnotatingBuilder create(builder, llm::Phase::Update, getName(parameter.argument) + ".part",
                           parameter.updatingGradient.getDefiningOp());
  return create.create<llm::PartOp>(shard.part, create.reshape(parameter.argument, shard.gathered),
                                    parameter.sharing.getAxes(), /*dimension=*/0);
}

/// Gathers all of them in one collective, after the last of their updates.
static void gatherUpdated(const Bucket &bucket) {
  Operation *last = nullptr;
  for (TrainedParameter *parameter : bucket) {
    Operation *update = parameter->updated.argument.getDefiningOp();
    last = last && update->isBeforeInBlock(last) ? last : update;
  }
  OpBuilder builder(last->getContext());
  builder.setInsertionPointAfter(last);
  ArrayAttr axes = bucket.front()->sharing.getAxes();
  SmallVector<Value> parts, destinations;
  for (TrainedParameter *parameter : bucket) {
    AnnotatingBuilder create(builder, llm::Phase::Update, getName(parameter->argument) + ".updated",
                             parameter->updatingGradient.getDefiningOp());
    parts.push_back(parameter->updated.argument);
    destinations.push_back(create.reshape(parameter->argument, shardOf(*parameter).gathered));
  }
  bool isOne = bucket.size() == 1;
  AnnotatingBuilder create(builder, llm::Phase::Update,
                           getName(bucket.back()->argument) + (isOne ? ".updated" : ".bucket"),
                           bucket.back()->updatingGradient.getDefiningOp());
  Operation *gather;
  if (isOne) {
    gather = create.createOp<llm::AllGatherOp>(destinations[0].getType(), parts[0], destinations[0],
                                               axes, /*dimension=*/0);
  } else {
    gather = create.createOp<llm::AllGatherBucketOp>(TypeRange(ValueRange(destinations)), parts,
                                                     destinations, axes);
    nameResults(gather, bucket, ".updated");
  }
  for (auto [parameter, whole] : llvm::zip_equal(bucket, gather->getResults())) {
    AnnotatingBuilder ofOne(builder, llm::Phase::Update, getName(parameter->argument) + ".updated",
                            parameter->updatingGradient.getDefiningOp());
    parameter->updated.argument = ofOne.reshape(whole, parameter->argument.getType());
  }
}

/// Broadcasts what the server has updated, right after its update.
static void broadcastUpdated(TrainedParameter &parameter) {
  Operation *update = parameter.updated.argument.getDefiningOp();
  OpBuilder builder(update->getContext());
  builder.setInsertionPointAfter(update);
  AnnotatingBuilder create(builder, llm::Phase::Update, getName(parameter.argument) + ".updated",
                           update);
  parameter.updated.argument =
      create.create<llm::BroadcastOp>(parameter.updated.argument, serverOf(parameter), /*root=*/0);
}

void llmmem::giveUpdated(MutableArrayRef<TrainedParameter> parameters) {
  for (const Bucket &bucket : bucketsOf(parameters, updatesPart))
    gatherUpdated(bucket);
  for (TrainedParameter &parameter : parameters)
    if (serverOf(parameter))
      broadcastUpdated(parameter);
}
