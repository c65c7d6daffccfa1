//===- ShardingOpInterface.cpp - From rules to shardings --------------------===//

#include "llmmem/Interfaces/ShardingOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;
using namespace llmmem;

Sharding Sharding::whole(Type type) {
  Sharding sharding;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    llvm::append_range(sharding.wholeSizes, tensor.getShape());
  sharding.dimensions.resize(sharding.wholeSizes.size());
  return sharding;
}

bool Sharding::isWhole() const { return axes().empty() && partial.empty(); }

SmallVector<StringAttr, 1> Sharding::axes() const {
  SmallVector<StringAttr, 1> all;
  for (const DimensionSharding &dimension : dimensions)
    llvm::append_range(all, dimension.axes);
  return all;
}

//===----------------------------------------------------------------------===//
// Reading a rule
//===----------------------------------------------------------------------===//

bool FactorDimension::mustBeWhole() const { return llvm::isUpper(factors.front()[0]); }

static int64_t rankOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getRank() : 0;
}

/// Reads "... i" of a value of rank 3 as [0, 1, i].
static SmallVector<FactorDimension> readFactors(StringRef text, int64_t rank) {
  SmallVector<StringRef> words;
  llvm::SplitString(text, words);
  SmallVector<FactorDimension> factors;
  for (StringRef word : words)
    if (word == "...") {
      for (int64_t leading = 0; leading <= rank - static_cast<int64_t>(words.size()); ++leading)
        factors.push_back({{std::to_string(leading)}});
    } else {
      FactorDimension &dimension = factors.emplace_back();
      dimension.mayBePadded = word.consume_back("~");
      for (StringRef factor : llvm::split(word, '+'))
        dimension.factors.push_back(factor.str());
    }
  return factors;
}

static FailureOr<SmallVector<SmallVector<FactorDimension>>> readSide(Operation *op, StringRef text,
                                                                     TypeRange types) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  SmallVector<SmallVector<FactorDimension>> side;
  for (auto [number, type] : llvm::enumerate(types)) {
    side.push_back(number < parts.size() ? readFactors(parts[number], rankOf(type))
                                         : SmallVector<FactorDimension>());
    if (number >= parts.size() || static_cast<int64_t>(side.back().size()) != rankOf(type))
      return op->emitError() << "'" << op->getName() << "' has the sharding rule '" << text
                             << "', which does not name the dimensions of " << type;
  }
  return side;
}

FailureOr<ShardingRule> ShardingRule::of(Operation *op) {
  std::string text = cast<ShardingOpInterface>(op).getShardingRule();
  auto [operands, results] = StringRef(text).split("->");
  auto left = readSide(op, operands, op->getOperandTypes());
  auto right = readSide(op, results, op->getResultTypes());
  if (failed(left) || failed(right))
    return failure();
  return ShardingRule{std::move(*left), std::move(*right)};
}

bool ShardingRule::isInResults(StringRef factor) const {
  return llvm::any_of(results, [&](ArrayRef<FactorDimension> dimensions) {
    return llvm::any_of(dimensions, [&](const FactorDimension &dimension) {
      return llvm::is_contained(dimension.factors, factor);
    });
  });
}

//===----------------------------------------------------------------------===//
// Applying it
//===----------------------------------------------------------------------===//

namespace {
/// Holds what operands say about the factors of an op.
class Factors {
public:
  explicit Factors(Operation *op) : op(op) {}

  LogicalResult assign(unsigned operand, ArrayRef<FactorDimension> dimensions,
                       const Sharding &sharding);
  LogicalResult checkAxes() const;
  Sharding shardingOf(ArrayRef<FactorDimension> dimensions) const;

  /// Reads the sizes of factors in the whole, and which lie side by side.
  void measure(ArrayRef<FactorDimension> dimensions, ArrayRef<int64_t> wholeSizes);

private:
  LogicalResult check(unsigned operand, unsigned number, const FactorDimension &dimension,
                      const DimensionSharding &sharding) const;
  SmallVector<int64_t, 0> sizesOf(const FactorDimension &dimension) const;

  Operation *op;
  std::map<std::string, DimensionSharding> known; // ordered, for equal messages and results
  std::map<std::string, int64_t> sizes;
  /// Maps a factor to the first of those that it lies side by side with.
  std::map<std::string, std::string> neighbours;
};
} // namespace

void Factors::measure(ArrayRef<FactorDimension> dimensions, ArrayRef<int64_t> wholeSizes) {
  for (auto [number, dimension] : llvm::enumerate(dimensions)) {
    if (dimension.factors.size() == 1)
      sizes.try_emplace(dimension.factors.front(), wholeSizes[number]);
    else
      for (const std::string &factor : dimension.factors)
        neighbours[factor] = dimension.factors.front();
  }
}

SmallVector<int64_t, 0> Factors::sizesOf(const FactorDimension &dimension) const {
  SmallVector<int64_t, 0> all;
  for (const std::string &factor : dimension.factors)
    if (auto size = sizes.find(factor); size != sizes.end())
      all.push_back(size->second);
  return all;
}

LogicalResult Factors::check(unsigned operand, unsigned number, const FactorDimension &dimension,
                             const DimensionSharding &sharding) const {
  auto refuse = [&] { return op->emitError() << "'" << op->getName() << "' "; };
  if (sharding.isWhole())
    return success();
  if (dimension.mustBeWhole())
    return refuse() << "needs dimension " << number << " of operand " << operand
                    << " whole, and it is split over " << sharding.axes.front();
  if (sharding.padded && !dimension.mayBePadded)
    return refuse() << "reads padding in dimension " << number << " of operand " << operand
                    << ", which " << sharding.axes.front()
                    << " does not divide; take a number of ranks that does";
  if (dimension.factors.size() > 1 && ArrayRef(sharding.pieces) != ArrayRef(sizesOf(dimension)))
    return refuse()
           << "reads columns of operand " << operand << " that are split over "
           << sharding.axes.front()
           << " in other pieces than its own; give their sizes as `pieces` of its sharding";
  return success();
}

LogicalResult Factors::assign(unsigned operand, ArrayRef<FactorDimension> dimensions,
                              const Sharding &sharding) {
  for (auto [number, dimension] : llvm::enumerate(dimensions)) {
    DimensionSharding split = sharding.dimensions[number];
    if (failed(check(operand, number, dimension, split)))
      return failure();
    if (dimension.factors.size() > 1)
      split.pieces.clear();
    for (const std::string &factor : dimension.factors) {
      auto [it, isNew] = known.try_emplace(factor, split);
      if (!isNew && !(it->second == split))
        return op->emitError() << "'" << op->getName() << "' reads dimension " << number
                               << " of operand " << operand
                               << " together with one that is split differently; split both alike, "
                               << "or neither of them over "
                               << (split.isWhole() ? it->second : split).axes.front();
    }
  }
  return success();
}

/// Checks that one axis splits one factor, or all that lie side by side.
LogicalResult Factors::checkAxes() const {
  std::map<StringRef, StringRef> factorOf;
  for (const auto &[factor, split] : known)
    for (StringAttr axis : split.axes) {
      auto neighbour = neighbours.find(factor);
      StringRef one = neighbour == neighbours.end() ? factor : neighbour->second;
      auto [it, isNew] = factorOf.try_emplace(axis.getValue(), one);
      if (!isNew && it->second != one)
        return op->emitError() << "'" << op->getName()
                               << "' reads two dimensions that are split over " << axis
                               << ", of which it can have one; gather the other";
    }
  return success();
}

Sharding Factors::shardingOf(ArrayRef<FactorDimension> dimensions) const {
  Sharding sharding;
  SmallVector<StringRef> used;
  for (const FactorDimension &dimension : dimensions) {
    DimensionSharding &split = sharding.dimensions.emplace_back();
    for (const std::string &factor : dimension.factors) {
      used.push_back(factor);
      if (auto it = known.find(factor); it != known.end())
        split = it->second;
    }
    if (dimension.factors.size() > 1 && !split.isWhole())
      split.pieces = sizesOf(dimension);
  }
  for (const auto &[factor, split] : known)
    if (!llvm::is_contained(used, factor))
      llvm::append_range(sharding.partial, split.axes);
  llvm::sort(sharding.partial,
             [](StringAttr a, StringAttr b) { return a.getValue() < b.getValue(); });
  sharding.partial.erase(llvm::unique(sharding.partial), sharding.partial.end());
  return sharding;
}

FailureOr<SmallVector<Sharding>> llmmem::propagate(Operation *op, ArrayRef<Sharding> operands) {
  FailureOr<ShardingRule> rule = ShardingRule::of(op);
  if (failed(rule))
    return failure();
  Factors factors(op);
  for (auto [dimensions, sharding] : llvm::zip_equal(rule->operands, operands))
    factors.measure(dimensions, sharding.wholeSizes);
  for (auto [dimensions, type] : llvm::zip_equal(rule->results, op->getResultTypes()))
    factors.measure(dimensions, Sharding::whole(type).wholeSizes);
  for (auto [number, dimensions] : llvm::enumerate(rule->operands))
    if (failed(factors.assign(number, dimensions, operands[number])))
      return failure();
  if (failed(factors.checkAxes()))
    return failure();
  SmallVector<Sharding> results;
  for (ArrayRef<FactorDimension> dimensions : rule->results) {
    Sharding sharding = factors.shardingOf(dimensions);
    sharding.wholeSizes = Sharding::whole(op->getResult(results.size()).getType()).wholeSizes;
    // What other results have of a factor is no sum in this one.
    llvm::erase_if(sharding.partial,
                   [&](StringAttr axis) { return llvm::is_contained(sharding.axes(), axis); });
    results.push_back(std::move(sharding));
  }
  return results;
}

#include "llmmem/Interfaces/ShardingOpInterface.cpp.inc"
