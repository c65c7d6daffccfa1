//===- MicroBatches.cpp - The loss of a part of a rank's batch -------------===//

#include "llmmem/Transforms/MicroBatches.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/ShardingOpInterface.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

namespace {
/// Splits what depends on the inputs along the batch, as ranks split it: the micro-batches stand
/// for an axis that is no axis of the mesh, and what ranks have of a value is its whole.
class MicroBatchSplit {
public:
  MicroBatchSplit(func::FuncOp loss, int64_t count)
      : loss(loss), body(loss.getBody().front()), count(count),
        axis(StringAttr::get(loss.getContext(), kMicroBatchArgument)) {}

  LogicalResult run();

private:
  void addNumber();
  LogicalResult takeRows(BlockArgument input);
  void keySeed(BlockArgument seed);
  LogicalResult splitFills(llm::ConcatOp op);
  LogicalResult visit(Operation &op);
  LogicalResult setType(Value value, const Sharding &sharding);
  template <typename LossOp>
  void countAllTargets(LossOp op);
  LogicalResult checkLoss();

  func::FuncOp loss;
  Block &body;
  int64_t count;
  StringAttr axis;
  BlockArgument number;
  llvm::DenseMap<Value, Sharding> shardings; // of what is split
  llvm::DenseSet<Value> addends;             // of the loss of the whole batch
};
} // namespace

void MicroBatchSplit::addNumber() {
  Builder builder(loss.getContext());
  number = body.addArgument(RankedTensorType::get({}, builder.getI32Type()),
                            NameLoc::get(builder.getStringAttr(kMicroBatchArgument)));
  SmallVector<DictionaryAttr> attributes;
  loss.getAllArgAttrs(attributes);
  attributes.resize(body.getNumArguments(), builder.getDictionaryAttr({}));
  attributes.back() = builder.getDictionaryAttr(
      {builder.getNamedAttr(LlmDialect::kName, builder.getStringAttr(kMicroBatchArgument)),
       builder.getNamedAttr(LlmDialect::kRole,
                            builder.getStringAttr(llm::stringifyRole(llm::Role::Input)))});
  loss.setType(FunctionType::get(loss.getContext(), body.getArgumentTypes(),
                                 body.getTerminator()->getOperandTypes()));
  loss.setAllArgAttrs(attributes);
}

static void annotate(Operation *op, const Twine &name) {
  op->setAttr(LlmDialect::kName, StringAttr::get(op->getContext(), name));
}

/// Ops without a rule (counts of targets) go on reading the whole.
LogicalResult MicroBatchSplit::takeRows(BlockArgument input) {
  auto type = cast<RankedTensorType>(input.getType());
  if (type.getRank() == 0)
    return success();
  if (type.getDimSize(0) % count != 0)
    return emitError(input.getLoc())
           << "input '" << getName(input) << "' has a batch of " << type.getDimSize(0)
           << " on each rank, which does not divide into " << count
           << " micro-batches; import the model with a --batch that is a multiple of the ranks of "
              "dp times "
           << count;
  SmallVector<int64_t> shape(type.getShape());
  shape[0] /= count;
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  auto rows = llm::MicroBatchOp::create(builder, input.getLoc(), type.clone(shape), input, number,
                                        /*number=*/IntegerAttr(), builder.getI64IntegerAttr(count));
  annotate(rows, getName(input) + ".micro_batch");
  input.replaceUsesWithIf(rows,
                          [](OpOperand &use) { return isa<ShardingOpInterface>(use.getOwner()); });
  Sharding sharding = Sharding::whole(type);
  sharding.dimensions[0].axes.push_back(axis);
  shardings[rows] = sharding;
  return success();
}

void MicroBatchSplit::keySeed(BlockArgument seed) {
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  auto type = RankedTensorType::get({4}, builder.getI32Type());
  auto keyed =
      llm::MicroBatchSeedOp::create(builder, seed.getLoc(), type, seed, number,
                                    /*number=*/IntegerAttr(), builder.getI64IntegerAttr(count));
  annotate(keyed, getName(seed) + ".micro_batch");
  seed.replaceAllUsesExcept(keyed, keyed);
}

LogicalResult MicroBatchSplit::setType(Value value, const Sharding &sharding) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  for (auto [dimension, split] : llvm::enumerate(sharding.dimensions)) {
    if (split.isWhole())
      continue;
    if (shape[dimension] % count != 0)
      return emitError(value.getLoc())
             << "'" << getName(value) << "' has " << shape[dimension] << " in dimension "
             << dimension << ", which does not divide into " << count << " micro-batches";
    shape[dimension] /= count;
  }
  value.setType(type.clone(shape));
  shardings[value] = sharding;
  return success();
}

/// Makes each micro-batch divide its sum by the count of all.
template <typename LossOp>
void MicroBatchSplit::countAllTargets(LossOp op) {
  auto rows = op.getTargets().template getDefiningOp<llm::MicroBatchOp>();
  if (op.getCount() || !rows)
    return;
  OpBuilder builder(op);
  auto type = RankedTensorType::get({}, builder.getI32Type());
  auto all =
      llm::CountTargetsOp::create(builder, op.getLoc(), type, rows.getX(), op.getIgnoreIndexAttr());
  op.getCountMutable().assign(all);
}

/// The zeros that widen rows are as many as the rows of a micro-batch.
LogicalResult MicroBatchSplit::splitFills(llm::ConcatOp op) {
  auto parts = op.getParts();
  auto isSplit = [&](Value part) { return shardings.contains(part); };
  Sharding rows = shardings.at(*llvm::find_if(parts, isSplit));
  for (OpOperand &operand : op->getOpOperands()) {
    auto fill = operand.get().getDefiningOp<llm::FillOp>();
    if (!fill || isSplit(fill))
      continue;
    operand.set(OpBuilder(op).clone(*fill)->getResult(0));
    if (fill->use_empty())
      fill.erase();
    Sharding own = Sharding::whole(operand.get().getType());
    own.dimensions = rows.dimensions;
    if (failed(setType(operand.get(), own)))
      return failure();
  }
  return success();
}

LogicalResult MicroBatchSplit::visit(Operation &op) {
  bool readsAddend =
      llvm::any_of(op.getOperands(), [&](Value operand) { return addends.contains(operand); });
  if (readsAddend) {
    // Of what ranks do with an addend, only their sum is an addend again.
    if (!isa<llm::AllReduceOp>(op))
      return op.emitError() << "'" << op.getName()
                            << "' reads the sum over one micro-batch, where it would need that of "
                               "all; leave micro-batches out";
    addends.insert_range(op.getResults());
    return success();
  }
  bool readsSplit =
      llvm::any_of(op.getOperands(), [&](Value operand) { return shardings.contains(operand); });
  if (!readsSplit || isa<llm::MicroBatchOp>(op))
    return success();
  if (!isa<ShardingOpInterface>(op))
    return op.emitError() << "'" << op.getName()
                          << "' reads what micro-batches split and has no rule for that; implement "
                             "ShardingOpInterface, or attach it as an external model";
  if (auto concat = dyn_cast<llm::ConcatOp>(op); concat && failed(splitFills(concat)))
    return failure();
  SmallVector<Sharding> operands;
  for (Value operand : op.getOperands()) {
    auto known = shardings.find(operand);
    operands.push_back(known != shardings.end() ? known->second
                                                : Sharding::whole(operand.getType()));
  }
  FailureOr<SmallVector<Sharding>> results = propagate(&op, operands);
  if (failed(results))
    return failure();
  if (auto loss = dyn_cast<llm::CrossEntropyOp>(op))
    countAllTargets(loss);
  if (auto loss = dyn_cast<llm::TargetLossOp>(op))
    countAllTargets(loss);
  for (auto [result, sharding] : llvm::zip_equal(op.getResults(), *results)) {
    if (!sharding.axes().empty() && failed(setType(result, sharding)))
      return failure();
    if (!sharding.partial.empty())
      addends.insert(result);
  }
  return success();
}

LogicalResult MicroBatchSplit::checkLoss() {
  Operation *terminator = body.getTerminator();
  if (terminator->getNumOperands() > 0 &&
      llvm::all_of(terminator->getOperands(),
                   [&](Value result) { return addends.contains(result); }))
    return success();
  return emitError(loss.getLoc())
         << "returns something else than sums over the batch, which micro-batches do not "
            "add up to; return the loss alone, or leave micro-batches out";
}

LogicalResult MicroBatchSplit::run() {
  SmallVector<BlockArgument> arguments(body.getArguments());
  addNumber();
  for (BlockArgument argument : arguments) {
    if (getRole(argument) == llm::Role::Input && failed(takeRows(argument)))
      return failure();
    if (getRole(argument) == llm::Role::Seed)
      keySeed(argument);
  }
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
    if (failed(visit(op)))
      return failure();
  loss->setAttr(LlmDialect::kMicroBatches, Builder(loss.getContext()).getI64IntegerAttr(count));
  return checkLoss();
}

LogicalResult llmmem::splitMicroBatches(func::FuncOp loss, int64_t count) {
  if (count < 1)
    return emitError(loss.getLoc())
           << "is to be split into " << count << " micro-batches, expected 1 or more";
  if (loss->hasAttr(LlmDialect::kMicroBatches))
    return emitError(loss.getLoc()) << "is the function of one micro-batch already";
  if (loss.isExternal() || !llvm::hasSingleElement(loss.getBody()))
    return emitError(loss.getLoc(), "is not straight-line; micro-batches need a body of one block");
  return MicroBatchSplit(loss, count).run();
}
