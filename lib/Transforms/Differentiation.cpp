//===- Differentiation.cpp - Reverse mode over straight-line code ----------===//

#include "llmmem/Transforms/Differentiation.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

static bool holdsFloats(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

namespace {
/// Holds the ops that one rule and its sums have built.
using BuiltOps = llvm::SmallPtrSet<Operation *, 8>;

class ReverseSweep {
public:
  ReverseSweep(OpBuilder &builder, ArrayRef<Value> wanted, GradientMap &gradients)
      : builder(builder), wanted(wanted), gradients(gradients) {}

  LogicalResult run(ArrayRef<Operation *> ops);

private:
  bool readsActive(Operation *op) const;
  LogicalResult visit(Operation *op);
  LogicalResult checkContributions(Operation *op, ArrayRef<Value> contributions) const;
  void addContributions(Operation *op, ArrayRef<Value> contributions, const BuiltOps &built);
  Value addTo(Value sum, Value contribution, Location loc, const BuiltOps &built);
  BuiltOps opsBuiltAfter(Operation *op) const;

  OpBuilder &builder;
  ArrayRef<Value> wanted;
  GradientMap &gradients;
  llvm::DenseSet<Value> active; // depends on what is wanted, and can have a gradient
};
} // namespace

bool ReverseSweep::readsActive(Operation *op) const {
  auto isActive = [&](Value value) { return active.contains(value); };
  if (llvm::any_of(op->getOperands(), isActive))
    return true;
  // What regions capture counts as read, so that it is refused and not forgotten.
  bool captures = false;
  for (Region &region : op->getRegions())
    region.walk(
        [&](Operation *nested) { captures |= llvm::any_of(nested->getOperands(), isActive); });
  return captures;
}

BuiltOps ReverseSweep::opsBuiltAfter(Operation *op) const {
  BuiltOps built;
  for (auto it = std::next(op->getIterator()), end = builder.getInsertionPoint(); it != end; ++it)
    built.insert(&*it);
  return built;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static void setNameIfNone(Operation *op, const Twine &name) {
  if (!op->hasAttr(LlmDialect::kName))
    op->setAttr(LlmDialect::kName, StringAttr::get(op->getContext(), name));
}

/// Names the op of a gradient after the value that it is the gradient of, if that has a name.
static void nameGradient(Value gradient, Value of) {
  Operation *op = gradient.getDefiningOp(), *forward = of.getDefiningOp();
  if (op && op->getNumResults() == 1 && (!forward || forward->hasAttr(LlmDialect::kName)))
    setNameIfNone(op, getName(of) + ".gradient");
}

/// `llm.core_attention` and the like are not copied: they describe the forward.
static void annotateBuilt(Operation *built, Operation *forward) {
  llm::writePhase(built, llm::Phase::Backward);
  if (Attribute block = forward->getAttr(LlmDialect::kBlock))
    built->setAttr(LlmDialect::kBlock, block);
  if (auto name = forward->getAttrOfType<StringAttr>(LlmDialect::kName))
    setNameIfNone(built, name.getValue() + ".vjp");
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

LogicalResult ReverseSweep::checkContributions(Operation *op, ArrayRef<Value> contributions) const {
  for (auto [operand, contribution] : llvm::zip_equal(op->getOperands(), contributions))
    if (contribution && contribution.getType() != operand.getType())
      return op->emitError() << "'" << op->getName() << "' gives a gradient of type "
                             << contribution.getType() << " for an operand of type "
                             << operand.getType();
  return success();
}

Value ReverseSweep::addTo(Value sum, Value contribution, Location loc, const BuiltOps &built) {
  // A contribution that can go on from the accumulator needs no bytes and no addition of its own.
  // Only what this rule has built may change, because older values may be gradients of something
  // else, too. The sum must be older as well.
  Operation *op = contribution.getDefiningOp();
  auto accumulating = dyn_cast_or_null<AccumulatingOpInterface>(op);
  if (accumulating && !accumulating.getInto() && contribution.use_empty() && built.contains(op) &&
      !built.contains(sum.getDefiningOp())) {
    accumulating.getIntoMutable().assign(sum);
    return contribution;
  }
  return llm::AddOp::create(builder, loc, contribution.getType(), sum, contribution);
}

void ReverseSweep::addContributions(Operation *op, ArrayRef<Value> contributions,
                                    const BuiltOps &built) {
  for (auto [operand, contribution] : llvm::zip_equal(op->getOperands(), contributions)) {
    if (!contribution || !active.contains(operand))
      continue;
    if (built.contains(contribution.getDefiningOp()))
      nameGradient(contribution, operand);
    Value &sum = gradients[operand];
    if (!sum) {
      sum = contribution;
      continue;
    }
    // One value for two operands must keep its meaning for the other.
    bool isShared = llvm::count(contributions, contribution) > 1;
    sum = addTo(sum, contribution, op->getLoc(), isShared ? BuiltOps() : built);
    nameGradient(sum, operand);
  }
}

//===----------------------------------------------------------------------===//
// The sweep
//===----------------------------------------------------------------------===//

LogicalResult ReverseSweep::visit(Operation *op) {
  auto resultGradients =
      llvm::map_to_vector(op->getResults(), [&](Value result) { return gradients.lookup(result); });
  if (llvm::none_of(resultGradients, [](Value gradient) { return static_cast<bool>(gradient); }) ||
      !readsActive(op))
    return success();
  auto rule = dyn_cast<DifferentiableOpInterface>(op);
  if (!rule)
    return op->emitError() << "'" << op->getName()
                           << "' has no rule for its gradient, which is needed here; implement "
                           << "DifferentiableOpInterface, or attach it as an external model";
  auto wantsGradient = llvm::map_to_vector(op->getOperands(),
                                           [&](Value operand) { return active.contains(operand); });
  Operation *before = &*std::prev(builder.getInsertionPoint());
  SmallVector<Value> contributions(op->getNumOperands());
  if (failed(rule.buildVJP(builder, resultGradients, wantsGradient, contributions)) ||
      failed(checkContributions(op, contributions)))
    return failure();
  addContributions(op, contributions, opsBuiltAfter(before));
  for (Operation *built : opsBuiltAfter(before))
    annotateBuilt(built, op);
  return success();
}

LogicalResult ReverseSweep::run(ArrayRef<Operation *> ops) {
  active.insert(wanted.begin(), wanted.end());
  for (Operation *op : ops)
    if (readsActive(op))
      active.insert_range(llvm::make_filter_range(
          op->getResults(), [](Value v) { return holdsFloats(v.getType()); }));
  for (Operation *op : llvm::reverse(ops))
    if (failed(visit(op)))
      return failure();
  return success();
}

LogicalResult llmmem::buildGradients(OpBuilder &builder, ArrayRef<Value> wanted,
                                     GradientMap &gradients) {
  SmallVector<Operation *> ops;
  for (auto it = builder.getBlock()->begin(), end = builder.getInsertionPoint(); it != end; ++it)
    ops.push_back(&*it);
  return buildGradients(builder, ops, wanted, gradients);
}

LogicalResult llmmem::buildGradients(OpBuilder &builder, ArrayRef<Operation *> ops,
                                     ArrayRef<Value> wanted, GradientMap &gradients) {
  GradientMap all = gradients;
  if (failed(ReverseSweep(builder, wanted, all).run(ops)))
    return failure();
  gradients.clear();
  for (Value value : wanted)
    if (Value gradient = all.lookup(value))
      gradients[value] = gradient;
  return success();
}

//===----------------------------------------------------------------------===//
// A function of gradients
//===----------------------------------------------------------------------===//

FailureOr<func::FuncOp> llmmem::buildGradientFunction(func::FuncOp function, StringRef name,
                                                      ArrayRef<unsigned> wanted) {
  if (!llvm::hasSingleElement(function.getBody()))
    return emitError(function.getLoc(),
                     "is not straight-line; its gradient needs a body of one block");
  for (unsigned number : wanted)
    if (number >= function.getNumArguments() || !holdsFloats(function.getArgumentTypes()[number]))
      return emitError(function.getLoc())
             << "has no argument " << number << " of floats to be differentiated by";

  func::FuncOp result = cast<func::FuncOp>(function->clone());
  result.setName(name);
  OpBuilder builder(function.getContext());
  builder.setInsertionPointAfter(function);
  builder.insert(result);
  Block &body = result.getBody().front();
  SmallVector<Value> wantedValues, results(body.getTerminator()->getOperands());
  for (unsigned number : wanted)
    wantedValues.push_back(body.getArgument(number));

  builder.setInsertionPoint(body.getTerminator());
  GradientMap gradients;
  for (Value value : ArrayRef(results)) {
    if (!holdsFloats(value.getType()))
      continue;
    Value gradient = body.addArgument(value.getType(), value.getLoc());
    Value &sum = gradients[value];
    sum = sum ? llm::AddOp::create(builder, value.getLoc(), value.getType(), sum, gradient)
              : gradient;
  }
  if (failed(buildGradients(builder, wantedValues, gradients))) {
    result.erase();
    return failure();
  }
  for (Value value : wantedValues) {
    Value gradient = gradients.lookup(value);
    results.push_back(gradient ? gradient
                               : llm::FillOp::create(builder, value.getLoc(), value.getType(),
                                                     builder.getF64FloatAttr(0.0)));
  }
  body.getTerminator()->setOperands(results);
  SmallVector<DictionaryAttr> attributes;
  function.getAllArgAttrs(attributes);
  attributes.resize(body.getNumArguments(), builder.getDictionaryAttr({}));
  result.setType(builder.getFunctionType(body.getArgumentTypes(), TypeRange(results)));
  result.setAllArgAttrs(attributes);
  return result;
}
