//===- ShardingOpInterface.cpp - From rules to shardings --------------------===//

#include "llmmem/Interfaces/ShardingOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace llmmem;

Sharding Sharding::whole(int64_t rank) {
  Sharding sharding;
  sharding.dimensions.resize(rank);
  return sharding;
}

bool Sharding::isWhole() const { return axes().empty() && partial.empty(); }

SmallVector<StringAttr, 1> Sharding::axes() const {
  SmallVector<StringAttr, 1> all;
  for (ArrayRef<StringAttr> axes : dimensions)
    llvm::append_range(all, axes);
  return all;
}

//===----------------------------------------------------------------------===//
// Reading a rule
//===----------------------------------------------------------------------===//

namespace {
/// The factor of each dimension of each value.
struct Rule {
  SmallVector<SmallVector<std::string>> operands, results;
};
} // namespace

static int64_t rankOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getRank() : 0;
}

/// "... i" of a value of rank 3 is [0, 1, i].
static SmallVector<std::string> readFactors(StringRef text, int64_t rank) {
  SmallVector<StringRef> words;
  llvm::SplitString(text, words);
  SmallVector<std::string> factors;
  for (StringRef word : words)
    if (word == "...")
      for (int64_t leading = 0; leading <= rank - static_cast<int64_t>(words.size()); ++leading)
        factors.push_back(std::to_string(leading));
    else
      factors.push_back(word.str());
  return factors;
}

static FailureOr<SmallVector<SmallVector<std::string>>> readSide(Operation *op, StringRef text,
                                                                 TypeRange types) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  SmallVector<SmallVector<std::string>> side;
  for (auto [number, type] : llvm::enumerate(types)) {
    side.push_back(number < parts.size() ? readFactors(parts[number], rankOf(type))
                                         : SmallVector<std::string>());
    if (number >= parts.size() || static_cast<int64_t>(side.back().size()) != rankOf(type))
      return op->emitError() << "'" << op->getName() << "' has the sharding rule '" << text
                             << "', which does not name the dimensions of " << type;
  }
  return side;
}

static FailureOr<Rule> readRule(Operation *op) {
  std::string text = cast<ShardingOpInterface>(op).getShardingRule();
  auto [operands, results] = StringRef(text).split("->");
  auto left = readSide(op, operands, op->getOperandTypes());
  auto right = readSide(op, results, op->getResultTypes());
  if (failed(left) || failed(right))
    return failure();
  return Rule{std::move(*left), std::move(*right)};
}

//===----------------------------------------------------------------------===//
// Applying it
//===----------------------------------------------------------------------===//

using AxesOfFactors = llvm::StringMap<SmallVector<StringAttr, 1>>;

/// Which axes the factors are split over.
static LogicalResult assign(Operation *op, unsigned operand, ArrayRef<std::string> factors,
                            const Sharding &sharding, AxesOfFactors &known) {
  for (auto [dimension, factor] : llvm::enumerate(factors)) {
    const auto &axes = sharding.dimensions[dimension];
    if (!axes.empty() && llvm::isUpper(factor[0]))
      return op->emitError() << "'" << op->getName() << "' needs dimension " << dimension
                             << " of operand " << operand << " whole, and it is split over "
                             << axes.front();
    auto [it, isNew] = known.try_emplace(factor, axes);
    if (!isNew && it->second != axes)
      return op->emitError() << "'" << op->getName() << "' reads dimension " << dimension
                             << " of operand " << operand
                             << " beside one that is split differently; split both alike";
  }
  return success();
}

FailureOr<SmallVector<Sharding>> llmmem::propagate(Operation *op, ArrayRef<Sharding> operands) {
  FailureOr<Rule> rule = readRule(op);
  if (failed(rule))
    return failure();
  AxesOfFactors axesOf;
  for (auto [number, factors] : llvm::enumerate(rule->operands))
    if (failed(assign(op, number, factors, operands[number], axesOf)))
      return failure();
  SmallVector<Sharding> results;
  for (ArrayRef<std::string> factors : rule->results) {
    Sharding &sharding = results.emplace_back();
    for (const std::string &factor : factors)
      sharding.dimensions.push_back(axesOf.lookup(factor));
    for (const auto &entry : axesOf)
      if (!llvm::is_contained(factors, entry.first()))
        llvm::append_range(sharding.partial, entry.second);
    // The map has no order.
    llvm::sort(sharding.partial,
               [](StringAttr a, StringAttr b) { return a.getValue() < b.getValue(); });
  }
  return results;
}

#include "llmmem/Interfaces/ShardingOpInterface.cpp.inc"
