//===- Parallelize.cpp - One program for all ranks of a mesh ---------------===//

#include "llmmem/Transforms/Parallelize.h"
#include "ParameterShards.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/ShardingOpInterface.h"
#include "llmmem/Transforms/PipelineStages.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

//===----------------------------------------------------------------------===//
// The mesh
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral kDataParallelAxis = "dp";

/// `name=size`; the names before it are known.
static llvm::Expected<MeshAxis> parseAxis(StringRef text, ArrayRef<MeshAxis> known) {
  MeshAxis axis;
  auto [name, size] = text.split('=');
  if (name.empty() || size.getAsInteger(10, axis.size) || axis.size < 1 || axis.size > INT32_MAX)
    return llvm::createStringError(
        "'" + text + "' is no axis of a mesh; expected a name and a number of ranks, as in dp=4");
  if (name != kDataParallelAxis && name != kPipelineAxis)
    return llvm::createStringError("'" + name +
                                   "' is an axis that nothing is split over; expected dp or pp");
  axis.name = name.str();
  if (llvm::any_of(known, [&](const MeshAxis &other) { return other.name == axis.name; }))
    return llvm::createStringError("names axis '" + name + "' twice");
  return axis;
}

llvm::Expected<SmallVector<MeshAxis>> llmmem::parseMesh(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  SmallVector<MeshAxis> axes;
  for (StringRef part : parts) {
    llvm::Expected<MeshAxis> axis = parseAxis(part, axes);
    if (!axis)
      return axis.takeError();
    axes.push_back(std::move(*axis));
  }
  return axes;
}

llm::MeshAttr llmmem::makeMesh(ArrayRef<MeshAxis> axes, MLIRContext *context) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (const MeshAxis &axis : axes) {
    names.push_back(StringAttr::get(context, axis.name));
    sizes.push_back(axis.size);
  }
  return llm::MeshAttr::get(context, names, sizes);
}

//===----------------------------------------------------------------------===//
// Shardings of all values
//===----------------------------------------------------------------------===//

namespace {
/// Splits the inputs of a forward function and everything that follows from them.
class DataParallel {
public:
  DataParallel(func::FuncOp loss, llm::MeshAttr mesh, int64_t zeroStage)
      : loss(loss), body(loss.getBody().front()), mesh(mesh), zeroStage(zeroStage),
        axes(Builder(loss.getContext()).getStrArrayAttr({kDataParallelAxis})),
        ranks(mesh.getGroupSize(axes)) {}

  LogicalResult run();

private:
  LogicalResult splitInput(BlockArgument argument);
  LogicalResult splitParameter(BlockArgument argument);
  void gather(BlockArgument argument, RankedTensorType whole);
  LogicalResult visit(Operation &op);
  LogicalResult visitWhole(Operation &op);
  LogicalResult visitSplit(Operation &op);
  LogicalResult checkLoss();
  LogicalResult setType(Value value, const Sharding &sharding);
  void sumPartial(OpResult result);
  void annotate(BlockArgument argument, StringRef name, Attribute attribute) {
    loss.setArgAttr(argument.getArgNumber(), name, attribute);
  }

  func::FuncOp loss;
  Block &body;
  llm::MeshAttr mesh;
  int64_t zeroStage;
  ArrayAttr axes;
  int64_t ranks;
  llvm::DenseMap<Value, Sharding> shardings; // of what is split
  /// Sums over the ranks, and what follows from them alone: one gradient for all ranks.
  llvm::DenseSet<Value> sums;
  /// Parameters, and what follows from them alone. Each rank has an addend of their gradients.
  llvm::DenseSet<Value> ofParameters;
};
} // namespace

/// The first dimension of an input is its batch.
LogicalResult DataParallel::splitInput(BlockArgument argument) {
  auto type = cast<RankedTensorType>(argument.getType());
  if (type.getRank() == 0)
    return success();
  if (type.getDimSize(0) % ranks != 0)
    return emitError(argument.getLoc())
           << "input '" << getName(argument) << "' has a batch of " << type.getDimSize(0)
           << ", which does not divide over dp = " << ranks
           << "; import the model with a --batch that is a multiple of " << ranks;
  Sharding sharding = Sharding::whole(type.getRank());
  sharding.dimensions[0].push_back(StringAttr::get(loss.getContext(), kDataParallelAxis));
  annotate(argument, LlmDialect::kShard, axes);
  annotate(argument, LlmDialect::kWhole, TypeAttr::get(type));
  return setType(argument, sharding);
}

LogicalResult DataParallel::splitParameter(BlockArgument argument) {
  annotate(argument, LlmDialect::kDataParallel,
           llm::DataParallelAttr::get(loss.getContext(), axes, zeroStage));
  auto type = cast<RankedTensorType>(argument.getType());
  if (zeroStage == 0)
    return success();
  std::optional<ParameterShard> shard = ParameterShard::of(type, ranks);
  if (!shard)
    return emitError(argument.getLoc())
           << "parameter '" << getName(argument) << "' of type " << type << " has "
           << type.getNumElements() << " elements, which do not divide over dp = " << ranks
           << "; take a dp that divides them, or zero=0";
  if (zeroStage == 3 && !argument.use_empty())
    gather(argument, type);
  return success();
}

/// The parameter becomes its part, gathered where it is first read.
void DataParallel::gather(BlockArgument argument, RankedTensorType whole) {
  ParameterShard shard = *ParameterShard::of(whole, ranks);
  Operation *first = *argument.user_begin();
  for (Operation *user : argument.getUsers())
    first = user->isBeforeInBlock(first) ? user : first;
  argument.setType(shard.part);
  annotate(argument, LlmDialect::kShard, axes);
  annotate(argument, LlmDialect::kWhole, TypeAttr::get(whole));
  OpBuilder builder(first);
  auto gathered = llm::AllGatherOp::create(builder, argument.getLoc(), shard.gathered, argument,
                                           /*destination=*/Value(), axes, /*dimension=*/0);
  Value value = gathered;
  if (shard.gathered != whole)
    value = llm::ReshapeOp::create(builder, argument.getLoc(), whole, value);
  std::string name = getName(argument) + ".gathered";
  for (Operation *op : {gathered.getOperation(), value.getDefiningOp()}) {
    op->setAttr(LlmDialect::kName, builder.getStringAttr(name));
    if (Attribute block = first->getAttr(LlmDialect::kBlock))
      op->setAttr(LlmDialect::kBlock, block);
  }
  argument.replaceAllUsesExcept(value, gathered);
}

LogicalResult DataParallel::setType(Value value, const Sharding &sharding) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  for (auto [dimension, split] : llvm::enumerate(sharding.dimensions)) {
    if (split.empty())
      continue;
    if (shape[dimension] % ranks != 0)
      return emitError(value.getLoc())
             << "'" << getName(value) << "' has " << shape[dimension] << " in dimension "
             << dimension << ", which does not divide over dp = " << ranks;
    shape[dimension] /= ranks;
  }
  value.setType(type.clone(shape));
  shardings[value] = sharding;
  return success();
}

/// What each rank has an addend of.
void DataParallel::sumPartial(OpResult result) {
  Operation *op = result.getOwner();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  auto sum = llm::AllReduceOp::create(builder, op->getLoc(), result, axes);
  sum->setAttr(LlmDialect::kName, builder.getStringAttr(getName(result) + ".sum"));
  result.replaceAllUsesExcept(sum, sum);
  sums.insert(sum);
}

/// What reads nothing that is split. A sum over ranks has its whole gradient on every rank, a
/// parameter an addend of it: no rule has both.
LogicalResult DataParallel::visitWhole(Operation &op) {
  auto reads = [&](const llvm::DenseSet<Value> &values) {
    return llvm::any_of(op.getOperands(), [&](Value operand) { return values.contains(operand); });
  };
  if (reads(sums) && reads(ofParameters))
    return op.emitError()
           << "'" << op.getName()
           << "' reads a sum over the ranks beside a parameter, whose gradient would be "
              "counted once a rank; let it read what is split";
  if (reads(sums))
    sums.insert_range(op.getResults());
  if (reads(ofParameters))
    ofParameters.insert_range(op.getResults());
  return success();
}

LogicalResult DataParallel::visit(Operation &op) {
  bool readsSplit =
      llvm::any_of(op.getOperands(), [&](Value operand) { return shardings.contains(operand); });
  return readsSplit ? visitSplit(op) : visitWhole(op);
}

/// Everything between the parameters and the loss must have met the batch, and been summed.
LogicalResult DataParallel::checkLoss() {
  Value loss =
      body.getTerminator()->getNumOperands() ? body.getTerminator()->getOperand(0) : Value();
  if (!loss || !ofParameters.contains(loss))
    return success();
  return emitError(loss.getLoc())
         << "the loss is computed from parameters alone, and its gradient would be counted once a "
            "rank; return one that depends on the batch";
}

LogicalResult DataParallel::visitSplit(Operation &op) {
  if (llvm::any_of(op.getOperands(), [&](Value operand) { return sums.contains(operand); }))
    return op.emitError()
           << "'" << op.getName()
           << "' reads a sum over the ranks beside what is split over them, and each rank "
              "would have an addend of the sum's gradient; let it read either alone";
  auto rule = dyn_cast<ShardingOpInterface>(op);
  if (!rule)
    return op.emitError()
           << "'" << op.getName()
           << "' reads what is split over the ranks and has no rule for that; implement "
              "ShardingOpInterface, or attach it as an external model";
  SmallVector<Sharding> operands;
  for (Value operand : op.getOperands()) {
    auto known = shardings.find(operand);
    operands.push_back(known != shardings.end()
                           ? known->second
                           : Sharding::whole(cast<RankedTensorType>(operand.getType()).getRank()));
  }
  FailureOr<SmallVector<Sharding>> results = propagate(&op, operands);
  OpBuilder builder(&op);
  if (failed(results) || failed(rule.localize(builder, operands)))
    return failure();
  for (auto [result, sharding] : llvm::zip_equal(op.getResults(), *results)) {
    if (!sharding.axes().empty() && failed(setType(result, sharding)))
      return failure();
    if (!sharding.partial.empty())
      sumPartial(result);
  }
  return success();
}

LogicalResult DataParallel::run() {
  loss->setAttr(LlmDialect::kMesh, mesh);
  for (BlockArgument argument : body.getArguments()) {
    llm::Role role = getRole(argument);
    if (role == llm::Role::Param)
      ofParameters.insert(argument);
    if ((role == llm::Role::Input && failed(splitInput(argument))) ||
        (role == llm::Role::Param && failed(splitParameter(argument))))
      return failure();
  }
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
    if (failed(visit(op)))
      return failure();
  if (failed(checkLoss()))
    return failure();
  loss.setType(FunctionType::get(loss.getContext(), body.getArgumentTypes(),
                                 body.getTerminator()->getOperandTypes()));
  return success();
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

static LogicalResult check(func::FuncOp loss, int64_t zeroStage) {
  if (zeroStage < 0 || zeroStage > 3)
    return emitError(loss.getLoc())
           << "is to be split by ZeRO stage " << zeroStage << ", expected 0 to 3";
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

LogicalResult llmmem::parallelize(func::FuncOp loss, llm::MeshAttr mesh, int64_t zeroStage) {
  if (failed(check(loss, zeroStage)))
    return failure();
  if (mesh.findAxis(kDataParallelAxis))
    return DataParallel(loss, mesh, zeroStage).run();
  if (zeroStage != 0)
    return emitError(loss.getLoc()) << "is to be split by ZeRO stage " << zeroStage
                                    << " over an axis dp, which " << mesh << " does not have";
  loss->setAttr(LlmDialect::kMesh, mesh);
  return success();
}
