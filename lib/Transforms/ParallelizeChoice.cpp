//===- ParallelizeChoice.cpp - Which dimensions of parameters are split ----===//

#include "ValueShardings.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Transforms/Parallelize.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

/// Is an op that reads parameters of which nothing is decided.
struct ParameterChoice::Reading {
  Operation *op;
  ShardingRule rule;
  SmallVector<unsigned> parameters; // numbers of operands

  bool isParameter(unsigned operand) const { return llvm::is_contained(parameters, operand); }
  /// Returns whether something other than those parameters has a factor.
  bool isReadElsewhere(StringRef factor) const;
};

bool ParameterChoice::Reading::isReadElsewhere(StringRef factor) const {
  for (auto [number, dimensions] : llvm::enumerate(rule.operands))
    for (const FactorDimension &dimension : dimensions)
      if (!isParameter(number) && llvm::is_contained(dimension.factors, factor))
        return true;
  return false;
}

/// Finds a factor of a parameter that another operand has split.
bool ParameterChoice::follow(const Reading &reading, DimensionSharding &split,
                             std::string &factor) const {
  for (auto [number, dimensions] : llvm::enumerate(reading.rule.operands)) {
    if (reading.isParameter(number))
      continue;
    ValueSharding state = shardings.of(reading.op->getOperand(number));
    for (auto [place, dimension] : llvm::enumerate(dimensions)) {
      if (dimension.mustBeWhole())
        continue;
      split = state.sharding.dimensions[place];
      factor = dimension.factors.front();
      bool isInParameters = llvm::any_of(reading.parameters, [&](unsigned parameter) {
        return llvm::any_of(reading.rule.operands[parameter], [&](const FactorDimension &own) {
          return llvm::is_contained(own.factors, factor);
        });
      });
      if (isInParameters && llvm::is_contained(split.axes, axis))
        return true;
    }
  }
  return false;
}

/// Returns whether an op reads the result of `sum`, a product, together with a value of its sizes
/// whose last dimension the axis has split.
bool ParameterChoice::isReadNextToParts(Operation *sum) const {
  const Sharding whole = Sharding::whole(sum->getResult(0).getType());
  auto isPart = [&](Value operand) {
    const Sharding sharding = shardings.of(operand).sharding;
    return sharding.wholeSizes == whole.wholeSizes && !sharding.dimensions.empty() &&
           llvm::is_contained(sharding.dimensions.back().axes, axis);
  };
  return llvm::any_of(sum->getUsers(), [&](Operation *reader) {
    return llvm::any_of(reader->getOperands(), isPart);
  });
}

/// Returns the sizes of what `written`, a dimension of a result of `op`, joins; none where it is
/// one factor.
SmallVector<int64_t> ParameterChoice::sizesOfJoined(Operation *op, const ShardingRule &rule,
                                                    const FactorDimension &written) const {
  SmallVector<int64_t> sizes;
  if (written.factors.size() == 1)
    return sizes;
  for (const std::string &factor : written.factors)
    for (auto [operand, dimensions] : llvm::zip_equal(op->getOperands(), rule.operands))
      for (auto [number, read] : llvm::enumerate(dimensions))
        if (read.factors.size() == 1 && read.factors.front() == factor)
          sizes.push_back(shardings.of(operand).sharding.wholeSizes[number]);
  return sizes;
}

/// Returns whether everything that reads `value`, and what follows from it, can run on parts of a
/// dimension, up to ops that sum over it. `pieces` are those that it must be split in; none, or
/// known before.
bool ParameterChoice::canFollow(Value value, unsigned dimension, bool padded,
                                SmallVectorImpl<int64_t> &pieces) const {
  llvm::SetVector<std::pair<Value, unsigned>> places;
  places.insert({value, dimension});
  // The pieces of what an op has joined on the way to a place are its own, and not those of
  // `value`.
  SmallVector<SmallVector<int64_t>> joined(1);
  for (size_t next = 0; next < places.size(); ++next) {
    auto [place, number] = places[next];
    for (OpOperand &use : place.getUses()) {
      Operation *user = use.getOwner();
      if (gathersResults && isa<func::ReturnOp>(user)) {
        // Padding is cut off at the end of a row.
        auto type = cast<RankedTensorType>(place.getType());
        if (padded && number + 1 != type.getRank())
          return false;
        continue;
      }
      FailureOr<ShardingRule> rule =
          isa<ShardingOpInterface>(user) ? ShardingRule::of(user) : FailureOr<ShardingRule>();
      if (failed(rule))
        return false;
      const FactorDimension &read = rule->operands[use.getOperandNumber()][number];
      if (read.mustBeWhole() || (padded && !read.mayBePadded))
        return false;
      SmallVector<int64_t> sizes;
      for (auto [result, dimensions] : llvm::zip_equal(user->getResults(), rule->results))
        for (auto [at, written] : llvm::enumerate(dimensions))
          if (llvm::is_contained(read.factors, written.factors.front())) {
            SmallVector<int64_t> own = sizesOfJoined(user, *rule, written);
            if (places.insert({result, static_cast<unsigned>(at)}))
              joined.push_back(own.empty() ? joined[next] : own);
            sizes.push_back(Sharding::whole(result.getType()).wholeSizes[at]);
          }
      if (sizes.empty() && isReadNextToParts(user))
        return false;
      if (read.factors.size() == 1)
        continue;
      SmallVectorImpl<int64_t> &known = joined[next].empty() ? pieces : joined[next];
      if (!known.empty() && ArrayRef(known) != ArrayRef(sizes))
        return false;
      known.assign(sizes.begin(), sizes.end());
    }
  }
  return true;
}

bool ParameterChoice::canBeSplit(const Reading &reading, const FactorDimension &dimension,
                                 bool padded, DimensionSharding &split) const {
  if (padded && !dimension.mayBePadded)
    return false;
  split = DimensionSharding{{axis}, {}, padded};
  for (auto [result, dimensions] : llvm::zip_equal(reading.op->getResults(), reading.rule.results))
    for (auto [number, written] : llvm::enumerate(dimensions))
      if (llvm::is_contained(written.factors, dimension.factors.front()) &&
          !canFollow(result, number, padded, split.pieces))
        return false;
  return true;
}

/// Finds a factor that parameters alone have.
bool ParameterChoice::find(const Reading &reading, DimensionSharding &split,
                           std::string &factor) const {
  for (unsigned parameter : reading.parameters)
    for (auto [number, dimension] : llvm::enumerate(reading.rule.operands[parameter])) {
      factor = dimension.factors.front();
      if (dimension.mustBeWhole() || dimension.factors.size() > 1 ||
          reading.isReadElsewhere(factor))
        continue;
      int64_t size =
          Sharding::whole(reading.op->getOperand(parameter).getType()).wholeSizes[number];
      bool divides = size % shardings.ranksOf({axis}) == 0;
      if (!divides && canBeSplit(reading, dimension, /*padded=*/true, split))
        return true;
      // What cannot be padded and does not divide is refused where it is set.
      if (canBeSplit(reading, dimension, /*padded=*/false, split))
        return true;
    }
  return false;
}

/// Returns whether ranks hold it from step to step.
static bool isHeld(BlockArgument argument) {
  llm::Role role = getRole(argument);
  return role == llm::Role::Param || role == llm::Role::KvCache;
}

int64_t llmmem::countExperts(func::FuncOp loss) {
  int64_t count = 0;
  for (Operation &op : loss.getBody().front()) {
    FailureOr<ShardingRule> rule =
        isa<ShardingOpInterface>(op) ? ShardingRule::of(&op) : FailureOr<ShardingRule>();
    if (failed(rule))
      continue;
    for (auto [operand, dimensions] : llvm::zip_equal(op.getOperands(), rule->operands))
      for (auto [number, dimension] : llvm::enumerate(dimensions))
        if (dimension.factors.front() == kExpertFactor)
          count = std::gcd(count, cast<RankedTensorType>(operand.getType()).getDimSize(number));
  }
  return count;
}

LogicalResult ParameterChoice::splitExperts(Operation *op, StringAttr experts) {
  if (!isa<ShardingOpInterface>(op))
    return success();
  FailureOr<ShardingRule> rule = ShardingRule::of(op);
  if (failed(rule))
    return failure();
  for (auto [number, dimensions] : llvm::enumerate(rule->operands)) {
    auto argument = dyn_cast<BlockArgument>(op->getOperand(number));
    if (!argument || !isHeld(argument) || decided.contains(argument))
      continue;
    ValueSharding state = shardings.of(argument);
    for (auto [dimension, split] : llvm::zip_equal(dimensions, state.sharding.dimensions))
      if (dimension.factors.front() == kExpertFactor)
        split.axes = {experts};
    if (state.isSplitOver(experts) && failed(shardings.set(argument, state)))
      return failure();
  }
  return success();
}

LogicalResult ParameterChoice::decide(Operation *op) {
  if (!isa<ShardingOpInterface>(op))
    return success();
  Reading reading{op, {}, {}};
  for (OpOperand &operand : op->getOpOperands()) {
    auto argument = dyn_cast<BlockArgument>(operand.get());
    if (argument && isHeld(argument) && !decided.contains(argument) &&
        !shardings.of(argument).isSplitOver(axis))
      reading.parameters.push_back(operand.getOperandNumber());
  }
  if (reading.parameters.empty())
    return success();
  FailureOr<ShardingRule> rule = ShardingRule::of(op);
  if (failed(rule))
    return failure();
  reading.rule = std::move(*rule);
  DimensionSharding split;
  std::string factor;
  bool isSplit = follow(reading, split, factor) || find(reading, split, factor);
  for (unsigned parameter : reading.parameters) {
    Value value = op->getOperand(parameter);
    decided.insert(value);
    ValueSharding state = shardings.of(value);
    for (auto [number, dimension] : llvm::enumerate(reading.rule.operands[parameter]))
      if (isSplit && dimension.factors.front() == factor)
        state.sharding.dimensions[number] = split;
    if (isSplit && failed(shardings.set(value, state)))
      return failure();
  }
  return success();
}
