//===- PlanRules.cpp - The verifier's own rules of whose bytes a result has --===//

#include "PlanRules.h"
#include "PlanRulesUpstream.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Dialect/TiledOps.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/EmptyOpInterface.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

//===----------------------------------------------------------------------===//
// What the ops of our dialect compute
//===----------------------------------------------------------------------===//

namespace {
enum class Meaning {
  /// A result shows the bits of an operand.
  View,
  /// An element or row of a result needs no more of the operands than that element or row.
  InStep,
  /// The results are the new values of operands, one after another, each read before it is written.
  NewValues,
};

constexpr int kNothing = -1; // a result that is the new value of no operand
constexpr int kSame = -2;    // result k is of operand k

/// Says whose bytes results may use. `groups` are operands of an op as its definition lists them,
/// of which one may be a list, and another left out.
struct Rule {
  llvm::StringLiteral op;
  Meaning meaning;
  int count;
  int groups[5];
};

template <typename... Groups>
constexpr Rule rule(llvm::StringLiteral op, Meaning meaning, Groups... groups) {
  return {op, meaning, sizeof...(groups), {groups...}};
}

constexpr Rule kRules[] = {
    rule("llm.reshape", Meaning::View, 0),
    rule("llm.replica", Meaning::View, 0),
    rule("llm.wait", Meaning::View, kSame),

    rule("llm.add_positions", Meaning::InStep, 0),
    rule("llm.add_bias", Meaning::InStep, 0),
    rule("llm.rope", Meaning::InStep, 0),
    rule("llm.causal_mask", Meaning::InStep, 0),
    rule("llm.softmax", Meaning::InStep, 0),
    rule("llm.gelu", Meaning::InStep, 0),
    rule("llm.silu", Meaning::InStep, 0),
    rule("llm.clamp", Meaning::InStep, 0),
    rule("llm.scale", Meaning::InStep, 0),
    rule("llm.softcap", Meaning::InStep, 0),
    rule("llm.logistic", Meaning::InStep, 0),
    rule("llm.softplus", Meaning::InStep, 0),
    rule("llm.exp", Meaning::InStep, 0),
    rule("llm.scale_columns", Meaning::InStep, 0),
    rule("llm.add", Meaning::InStep, 0, 1),
    rule("llm.mul", Meaning::InStep, 0, 1),
    rule("llm.cast", Meaning::InStep, 0),
    rule("llm.dropout", Meaning::InStep, 0),
    rule("llm.stored_dropout", Meaning::InStep, 0),
    rule("llm.apply_mask", Meaning::InStep, 0),
    rule("llm.softmax_grad", Meaning::InStep, 1, 0),
    rule("llm.gelu_grad", Meaning::InStep, 1, 0),
    rule("llm.silu_grad", Meaning::InStep, 1, 0),
    rule("llm.clamp_grad", Meaning::InStep, 1, 0),
    rule("llm.softcap_grad", Meaning::InStep, 1, 0),
    rule("llm.layer_norm_grad", Meaning::InStep, 4, 0),
    rule("llm.rms_norm_grad", Meaning::InStep, 3, 0),
    rule("llm.cross_entropy_grad", Meaning::InStep, 0),
    rule("llm.add_group_bias", Meaning::InStep, 0),
    rule("llm.gate_rows", Meaning::InStep, 0),
    rule("llm.add_relative_bias", Meaning::InStep, 0),

    // These are accumulators: the last of the operands that may be left out.
    rule("llm.linear_weight_grad", Meaning::NewValues, 2),
    rule("llm.sum_rows", Meaning::NewValues, 1),
    rule("llm.embedding_grad", Meaning::NewValues, 2),
    rule("llm.positions_grad", Meaning::NewValues, 1),
    rule("llm.norm_weight_grad", Meaning::NewValues, 4),
    rule("llm.attention_sink_grad", Meaning::NewValues, 4),
    rule("llm.grouped_weight_grad", Meaning::NewValues, 2),
    rule("llm.sum_group_rows", Meaning::NewValues, 1),
    rule("llm.relative_bias_grad", Meaning::NewValues, 1),
    rule("llm.causal_conv_weight_grad", Meaning::NewValues, 2),

    // These are caches with new rows.
    rule("llm.append_cache", Meaning::NewValues, 0, 1),
    rule("llm.append_rows", Meaning::NewValues, 0),
    rule("llm.append_state", Meaning::NewValues, 0),
    rule("llm.cached_scan", Meaning::NewValues, kNothing, 5),

    // What is sent has left its bytes before the first of a result arrives.
    rule("llm.all_reduce", Meaning::NewValues, 0),
    rule("llm.reduce", Meaning::NewValues, 0),
    rule("llm.broadcast", Meaning::NewValues, 0),
    rule("llm.all_reduce_bucket", Meaning::NewValues, kSame),

    // These are destinations.
    rule("llm.all_gather", Meaning::NewValues, 1),
    rule("llm.all_gather_bucket", Meaning::NewValues, 1),
    rule("llm.copy_up", Meaning::NewValues, 1),
    rule("llm.copy_down", Meaning::NewValues, 1),

    // These are a parameter, and what its optimizer keeps: moments, scales, a master copy.
    rule("llm.adamw", Meaning::NewValues, 0, 2, 3, 9, 6),
    rule("llm.sgd", Meaning::NewValues, 0, 4),
    rule("llm.lion", Meaning::NewValues, 0, 4),
    rule("llm.adafactor", Meaning::NewValues, 0, 4),
    rule("llm.muon", Meaning::NewValues, 0, 4),
    rule("llm.adjust_loss_scale", Meaning::NewValues, kNothing, 1, 2, 3),
};

/// Returns the first operand of a group and their number. An op of which no group is a list, and
/// only the last may be left out, does not say how long they are.
std::pair<unsigned, unsigned> extentOf(Operation *op, int group) {
  auto sizes = dyn_cast_or_null<DenseI32ArrayAttr>(
      op->getInherentAttr("operandSegmentSizes").value_or(Attribute()));
  if (!sizes)
    return {group, static_cast<unsigned>(group) < op->getNumOperands()};
  unsigned first = 0;
  for (int32_t size : sizes.asArrayRef().take_front(group))
    first += size;
  return {first, sizes[group]};
}
} // namespace

static const Rule *ruleOf(Operation *op) {
  StringRef name = op->getName().getStringRef();
  const Rule *found = llvm::find_if(kRules, [&](const Rule &rule) { return rule.op == name; });
  return found == std::end(kRules) ? nullptr : found;
}

static bool hasTypeOf(OpResult result, unsigned operand) {
  return result.getOwner()->getOperand(operand).getType() == result.getType();
}

/// Returns the operand whose new value `result` is, where the op's groups are those of its results.
static std::optional<unsigned> oldValueOf(OpResult result, llvm::ArrayRef<int> groups) {
  unsigned before = 0;
  for (int group : groups) {
    if (group == kSame)
      return result.getResultNumber();
    auto [first, length] =
        group == kNothing ? std::pair(0u, 1u) : extentOf(result.getOwner(), group);
    if (result.getResultNumber() < before + length)
      return group == kNothing ? std::nullopt
                               : std::optional(first + result.getResultNumber() - before);
    before += length;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Ops with a rule of their own
//===----------------------------------------------------------------------===//

/// Lets dx overwrite x, of which a row is not read again once its chunk was read; dw is the
/// accumulator's new value.
static SmallVector<unsigned> operandsOfLossHead(llm::LossHeadOp head, OpResult result) {
  if (result == head.getDx())
    return {0};
  auto [first, length] = extentOf(head, /*into*/ 3);
  return result == head.getDw() && length == 1 ? SmallVector<unsigned>{first}
                                               : SmallVector<unsigned>();
}

/// Lets a sum over rows be the new value of its accumulator, which nothing else reads.
static SmallVector<unsigned> operandsOfTiled(llm::TiledOp tiled, OpResult result) {
  Value yielded = tiled.getYielded()[result.getResultNumber()];
  Operation *sum = yielded.getDefiningOp();
  const Rule *rule =
      llvm::is_contained({"llm.linear_weight_grad", "llm.sum_rows"}, sum->getName().getStringRef())
          ? ruleOf(sum)
          : nullptr;
  if (!rule || static_cast<unsigned>(rule->groups[0]) >= sum->getNumOperands())
    return {};
  auto accumulator = dyn_cast<BlockArgument>(sum->getOperand(rule->groups[0]));
  return accumulator && accumulator.hasOneUse() ? SmallVector<unsigned>{accumulator.getArgNumber()}
                                                : SmallVector<unsigned>();
}

/// Where the master copy is what an update reads, parameter and gradient may be one value.
static bool readsGradientInStep(OpResult result) {
  Operation *op = result.getOwner();
  auto update = dyn_cast<UpdateOpInterface>(op);
  return update && isa<llm::AdamWOp, llm::SGDOp, llm::LionOp>(op) &&
         result.getResultNumber() == 0 && op->getOperand(0) == op->getOperand(1);
}

/// Returns whether every op from `use` to what the kernel gives goes element by element or row by
/// row.
static bool goesInStep(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<llm::YieldOp>(op))
    return true;
  return llvm::is_contained(planInPlaceOperands(op->getResult(0)), use.getOperandNumber()) &&
         llvm::all_of(op->getUses(), goesInStep);
}

/// A kernel reads what it needs of an element or a row before it writes that, unless a matmul in it
/// is written first. A library does as it likes.
static SmallVector<unsigned> operandsOfKernel(llm::KernelOp kernel, OpResult result) {
  const unsigned number = result.getResultNumber();
  SmallVector<unsigned> operands;
  if (kernel.getSumOp()) {
    // A matmul and a sum, each onto an accumulator that the other does not read.
    Operation *writer = kernel.getYielded()[number].getDefiningOp();
    for (unsigned operand : planInPlaceOperands(writer->getResult(0)))
      if (auto argument = cast<BlockArgument>(writer->getOperand(operand)); argument.hasOneUse())
        operands.push_back(argument.getArgNumber());
    return operands;
  }
  if (isForLibrary(kernel) && kernel.multipliesMatrices())
    return operands;
  Operation *matmul = kernel.getProductBeforeEpilogue();
  const bool isWrittenFirst = kernel.getResultOfProduct() == number;
  auto type = cast<RankedTensorType>(result.getType());
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    auto given = dyn_cast<RankedTensorType>(argument.getType());
    if (!given || given.getNumElements() != type.getNumElements() ||
        given.getElementTypeBitWidth() != type.getElementTypeBitWidth())
      continue;
    bool isReadLater = isWrittenFirst && llvm::any_of(argument.getUsers(), [&](Operation *user) {
                         return user != matmul;
                       });
    if (!isReadLater && llvm::all_of(argument.getUses(), goesInStep))
      operands.push_back(argument.getArgNumber());
  }
  return operands;
}

static SmallVector<unsigned> inPlaceOperandsOfOurs(OpResult result) {
  Operation *op = result.getOwner();
  if (auto kernel = dyn_cast<llm::KernelOp>(op))
    return operandsOfKernel(kernel, result);
  if (auto head = dyn_cast<llm::LossHeadOp>(op))
    return operandsOfLossHead(head, result);
  if (auto tiled = dyn_cast<llm::TiledOp>(op))
    return operandsOfTiled(tiled, result);
  const Rule *rule = ruleOf(op);
  SmallVector<unsigned> operands;
  if (!rule || rule->meaning == Meaning::View)
    return operands;
  llvm::ArrayRef<int> groups(rule->groups, rule->count);
  if (rule->meaning == Meaning::InStep) {
    for (int operand : groups)
      if (hasTypeOf(result, operand))
        operands.push_back(operand);
    return operands;
  }
  if (std::optional<unsigned> operand = oldValueOf(result, groups);
      operand && hasTypeOf(result, *operand))
    operands.push_back(*operand);
  if (readsGradientInStep(result))
    operands.push_back(1);
  return operands;
}

static std::optional<unsigned> viewedOperandOfOurs(OpResult result) {
  const Rule *rule = ruleOf(result.getOwner());
  if (!rule || rule->meaning != Meaning::View)
    return std::nullopt;
  return rule->groups[0] == kSame ? result.getResultNumber() : rule->groups[0];
}

//===----------------------------------------------------------------------===//
// Ops of all dialects
//===----------------------------------------------------------------------===//

/// Returns the numbers that an op without interfaces states of `result`.
static SmallVector<unsigned> statedOperands(OpResult result) {
  SmallVector<unsigned> operands;
  auto lists = result.getOwner()->getAttrOfType<ArrayAttr>(LlmDialect::kInPlace);
  if (lists && lists.size() == result.getOwner()->getNumResults())
    if (auto list = dyn_cast<DenseI64ArrayAttr>(lists[result.getResultNumber()]))
      llvm::append_range(operands, list.asArrayRef());
  return operands;
}

static std::optional<unsigned> statedView(OpResult result) {
  auto views = result.getOwner()->getAttrOfType<DenseI64ArrayAttr>(LlmDialect::kViews);
  if (!views || views.size() != static_cast<int64_t>(result.getOwner()->getNumResults()) ||
      views[result.getResultNumber()] < 0)
    return std::nullopt;
  return views[result.getResultNumber()];
}

static bool isOurs(Operation *op) { return isa_and_present<LlmDialect>(op->getDialect()); }

/// Returns whether the verifier has to take the op's own attributes for its meaning.
static bool speaksForItself(Operation *op) {
  bool states = op->hasAttr(LlmDialect::kViews) || op->hasAttr(LlmDialect::kInPlace);
  return !isKnownUpstream(op) || (states && !isa<BufferOpInterface>(op));
}

std::optional<unsigned> llmmem::planViewedOperand(OpResult result) {
  Operation *op = result.getOwner();
  if (isOurs(op))
    return viewedOperandOfOurs(result);
  if (!speaksForItself(op))
    return viewedOperandUpstream(result);
  if (auto stating = dyn_cast<BufferOpInterface>(op))
    return stating.getViewedOperand(result.getResultNumber());
  return statedView(result);
}

Value llmmem::planRootOf(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    std::optional<unsigned> viewed = planViewedOperand(result);
    if (!viewed)
      break;
    value = result.getOwner()->getOperand(*viewed);
  }
  return value;
}

SmallVector<unsigned> llmmem::planInPlaceOperands(OpResult result) {
  Operation *op = result.getOwner();
  if (isOurs(op))
    return inPlaceOperandsOfOurs(result);
  if (!speaksForItself(op))
    return inPlaceOperandsUpstream(result);
  if (auto stating = dyn_cast<BufferOpInterface>(op))
    return stating.getInPlaceOperands(result.getResultNumber());
  return statedOperands(result);
}

bool llmmem::isPlanConstant(Operation *op) {
  if (op->hasAttr(LlmDialect::kResident))
    return true;
  return op->getNumOperands() == 0 &&
         (op->hasTrait<OpTrait::ConstantLike>() || isa<EmptyOpInterface>(op));
}
