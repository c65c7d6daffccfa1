//===- DifferentiationRanks.cpp - Updates that ranks share ------------------===//
//
// Data parallel ranks have addends of each gradient. Their sum is formed as soon as the addend is
// there, so that it can run beside the rest of the backward, and a whole gradient that nobody keeps
// ends early. The parts that ZeRO splits updates into are those of ParameterShards.h.
//
//===----------------------------------------------------------------------===//

#include "DifferentiationStep.h"
#include "ParameterShards.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

static int64_t zeroStage(const TrainedParameter &parameter) {
  return parameter.sharing ? parameter.sharing.getZero() : 0;
}

/// Whether the update is of a part and the parameter is whole.
static bool updatesPart(const TrainedParameter &parameter) {
  return zeroStage(parameter) == 1 || zeroStage(parameter) == 2;
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
  Value create(Args &&...args) {
    auto op = Op::create(builder, NameLoc::get(name), std::forward<Args>(args)...);
    llm::writePhase(op, phase);
    op->setAttr(LlmDialect::kName, name);
    if (block)
      op->setAttr(LlmDialect::kBlock, block);
    return op->getResult(0);
  }

  /// The same elements as `type`.
  Value reshape(Value value, Type type) {
    return value.getType() == type ? value : create<llm::ReshapeOp>(type, value);
  }

private:
  OpBuilder &builder;
  llm::Phase phase;
  StringAttr name;
  Attribute block;
};
} // namespace

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// Behind the op that ends a gradient; at the end of the function that it is an argument of.
static OpBuilder builderBehind(Value gradient) {
  Operation *last = gradient.getDefiningOp();
  if (!last)
    return OpBuilder(cast<BlockArgument>(gradient).getOwner()->getTerminator());
  OpBuilder builder(last->getContext());
  builder.setInsertionPointAfter(last);
  return builder;
}

static void sumOverRanks(TrainedParameter &parameter) {
  Operation *last = parameter.gradient.getDefiningOp();
  OpBuilder builder = builderBehind(parameter.gradient);
  AnnotatingBuilder create(builder, llm::Phase::Backward,
                           getName(parameter.argument) + ".gradient.sum", last);
  ArrayAttr axes = parameter.sharing.getAxes();
  if (!updatesPart(parameter)) {
    parameter.gradient = create.create<llm::AllReduceOp>(parameter.gradient, axes);
    parameter.updatingGradient = parameter.gradient;
    return;
  }
  ParameterShard shard = shardOf(parameter);
  Value part = create.create<llm::ReduceScatterOp>(
      shard.part, create.reshape(parameter.gradient, shard.gathered), axes, /*dimension=*/0);
  if (zeroStage(parameter) == 2) {
    if (parameter.gradientArgument)
      part = create.create<llm::AddOp>(part.getType(), parameter.gradientArgument, part);
    parameter.gradient = part;
  }
  parameter.updatingGradient = part;
}

bool llmmem::accumulatesInPlace(const TrainedParameter &parameter) {
  return zeroStage(parameter) != 2;
}

void llmmem::addGradient(TrainedParameter &parameter, Value addend) {
  if (zeroStage(parameter) != 2) {
    parameter.gradient = addend;
    return;
  }
  TrainedParameter added = parameter;
  added.gradient = addend;
  sumOverRanks(added);
  // The sum so far, which is no longer the argument.
  if (auto add = added.gradient.getDefiningOp<llm::AddOp>())
    add.getAMutable().assign(parameter.gradient);
  parameter.gradient = added.gradient;
}

void llmmem::scatterGradients(MutableArrayRef<TrainedParameter> parameters) {
  for (TrainedParameter &parameter : parameters)
    if (zeroStage(parameter) == 2)
      sumOverRanks(parameter);
}

void llmmem::finishGradients(MutableArrayRef<TrainedParameter> parameters) {
  for (TrainedParameter &parameter : parameters) {
    parameter.updatingGradient = parameter.gradient;
    if (parameter.sharing && zeroStage(parameter) < 2)
      sumOverRanks(parameter);
  }
}

void llmmem::shareGradients(MutableArrayRef<TrainedParameter> parameters) {
  for (TrainedParameter &parameter : parameters) {
    parameter.updatingGradient = parameter.gradient;
    // Of a parameter that is split itself, the gather's rule has summed the gradient.
    if (parameter.sharing && zeroStage(parameter) != 3)
      sumOverRanks(parameter);
  }
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
                                    parameter.sharing.getAxes());
}

Value llmmem::gatherUpdated(OpBuilder &builder, const TrainedParameter &parameter, Value part) {
  if (!updatesPart(parameter))
    return part;
  ParameterShard shard = shardOf(parameter);
  AnnotatingBuilder create(builder, llm::Phase::Update, getName(parameter.argument) + ".updated",
                           parameter.updatingGradient.getDefiningOp());
  Value destination = create.reshape(parameter.argument, shard.gathered);
  Value whole = create.create<llm::AllGatherOp>(shard.gathered, part, destination,
                                                parameter.sharing.getAxes(), /*dimension=*/0);
  return create.reshape(whole, parameter.argument.getType());
}
