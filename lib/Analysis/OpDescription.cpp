//===- OpDescription.cpp - What an op table says about one op --------------===//

#include "llmmem/Analysis/OpDescription.h"
#include "LoopBody.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Support/Count.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace llmmem;

/// Returns none beyond 2^63.
static std::optional<int64_t> product(ArrayRef<int64_t> factors) {
  std::optional<int64_t> result = 1;
  for (int64_t factor : factors)
    if (result)
      result = llvm::checkedMul(*result, factor);
  return result;
}

static int64_t elementsOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getNumElements() : 1;
}

static ArrayRef<int64_t> shapeOf(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor ? tensor.getShape() : ArrayRef<int64_t>();
}

//===----------------------------------------------------------------------===//
// Attributes of dialects that are not here, as text
//===----------------------------------------------------------------------===//

static std::string textOf(Operation *op, StringRef name) {
  std::string text;
  if (Attribute attribute = op->getAttr(name))
    llvm::raw_string_ostream(text) << attribute;
  return text;
}

/// Returns the numbers of `name = [1, 2]` in a text; none where it is not there.
static SmallVector<int64_t> numbersOf(StringRef text, StringRef name) {
  SmallVector<int64_t> numbers;
  size_t begin = text.find((name + " = [").str());
  if (begin == StringRef::npos)
    return numbers;
  StringRef list = text.substr(begin).split('[').second.split(']').first;
  SmallVector<StringRef> parts;
  list.split(parts, ',');
  for (StringRef part : parts) {
    int64_t number;
    if (!part.trim().getAsInteger(10, number))
      numbers.push_back(number);
  }
  return numbers;
}

//===----------------------------------------------------------------------===//
// FLOPs
//===----------------------------------------------------------------------===//

static InFlightDiagnostic refuse(Operation *op) {
  InFlightDiagnostic error = op->emitError() << "'" << op->getName() << "' ";
  if (auto target = op->getAttrOfType<StringAttr>("call_target_name"))
    error << "of '" << target.getValue() << "' ";
  return error;
}

static FailureOr<int64_t> checked(Operation *op, std::optional<int64_t> flops) {
  if (flops)
    return *flops;
  return refuse(op) << "costs more than 2^63 FLOPs; make the batch, the sequence or the model "
                       "smaller";
}

static FailureOr<int64_t> flopsOfDotGeneral(Operation *op) {
  std::string numbers = textOf(op, "dot_dimension_numbers");
  if (numbers.empty() || op->getNumOperands() < 2)
    return refuse(op) << "has no 'dot_dimension_numbers', so its FLOPs are not known";
  SmallVector<int64_t> factors{2, elementsOf(op->getResult(0).getType())};
  ArrayRef<int64_t> shape = shapeOf(op->getOperand(0));
  for (int64_t dimension : numbersOf(numbers, "lhs_contracting_dimensions")) {
    if (dimension < 0 || dimension >= static_cast<int64_t>(shape.size()))
      return refuse(op) << "contracts dimension " << dimension << " of " << shape.size();
    factors.push_back(shape[dimension]);
  }
  return checked(op, product(factors));
}

static FailureOr<int64_t> flopsOfDot(Operation *op) {
  ArrayRef<int64_t> shape =
      op->getNumOperands() < 2 ? ArrayRef<int64_t>() : shapeOf(op->getOperand(0));
  if (shape.empty())
    return refuse(op) << "multiplies no matrices, so its FLOPs are not known";
  return checked(op, product({2, elementsOf(op->getResult(0).getType()), shape.back()}));
}

/// The kernel's part of `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]` says which of its dimensions the
/// output features are.
static FailureOr<int64_t> flopsOfConvolution(Operation *op) {
  std::string numbers = textOf(op, "dimension_numbers");
  StringRef kernel = StringRef(numbers).split("]x[").second.split(']').first;
  SmallVector<StringRef> names;
  kernel.split(names, ',');
  SmallVector<int64_t> factors{2, elementsOf(op->getResult(0).getType())};
  bool hasFeatures = false;
  ArrayRef<int64_t> shape =
      op->getNumOperands() < 2 ? ArrayRef<int64_t>() : shapeOf(op->getOperand(1));
  if (names.size() == shape.size())
    for (auto [name, extent] : llvm::zip(names, shape)) {
      bool isFeatures = name.trim() == "o";
      hasFeatures |= isFeatures;
      factors.push_back(isFeatures ? 1 : extent);
    }
  if (!hasFeatures)
    return refuse(op) << "has no 'dimension_numbers' for its kernel, so its FLOPs are not known";
  return checked(op, product(factors));
}

/// Counts the ops that a region applies to each element.
static int64_t opsInRegion(Operation *op) {
  int64_t count = 0;
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) { count += inner->getNumResults() > 0; });
  return std::max<int64_t>(count, 1);
}

static FailureOr<int64_t> flopsOfWindow(Operation *op) {
  auto window = op->getAttrOfType<DenseI64ArrayAttr>("window_dimensions");
  if (!window)
    return refuse(op) << "has no 'window_dimensions', so its FLOPs are not known";
  SmallVector<int64_t> factors{opsInRegion(op), elementsOf(op->getResult(0).getType())};
  factors.append(window.asArrayRef().begin(), window.asArrayRef().end());
  return checked(op, product(factors));
}

static FailureOr<int64_t> flopsOfProduct(Operation *op, const OpTableEntry &entry) {
  SmallVector<int64_t> factors{entry.factor};
  for (auto [operand, dimension] : entry.extents) {
    ArrayRef<int64_t> shape =
        operand < op->getNumOperands() ? shapeOf(op->getOperand(operand)) : ArrayRef<int64_t>();
    if (dimension >= static_cast<int64_t>(shape.size()))
      return refuse(op) << "has no dimension " << dimension << " of an operand " << operand
                        << ", which the 'flops_product' of its op table names";
    factors.push_back(shape[dimension]);
  }
  return checked(op, product(factors));
}

static FailureOr<int64_t> flopsOf(Operation *op, const OpTableEntry &entry) {
  int64_t elements = 0;
  for (Type type : op->getResultTypes())
    elements += elementsOf(type);
  int64_t given = op->getNumOperands() > 0 ? elementsOf(op->getOperand(0).getType()) : 0;
  switch (entry.flops) {
  case FlopRule::Elements:
    return checked(op, product({entry.flopsPerElement, elements}));
  case FlopRule::Product:
    return flopsOfProduct(op, entry);
  case FlopRule::DotGeneral:
    return flopsOfDotGeneral(op);
  case FlopRule::Dot:
    return flopsOfDot(op);
  case FlopRule::Convolution:
    return flopsOfConvolution(op);
  case FlopRule::Reduce:
    return checked(op, product({given, opsInRegion(op)}));
  case FlopRule::Window:
    return flopsOfWindow(op);
  case FlopRule::Sort:
    return checked(op, product({given, llvm::Log2_64_Ceil(given + 1), opsInRegion(op)}));
  case FlopRule::Branches:
  case FlopRule::Loop:
    return 0;
  }
  llvm_unreachable("all rules are listed");
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

static int64_t bytesOf(Operation *op, ByteRule rule) {
  Count results;
  for (Type type : op->getResultTypes())
    results += bytesOfType(type);
  switch (rule) {
  case ByteRule::All:
    return sumOfOperandAndResultBytes(op);
  case ByteRule::Results:
    return 2 * results;
  case ByteRule::Updates: {
    // Indices are scalars, or small compared with what they place.
    Count updates;
    for (Value operand : llvm::drop_begin(op->getOperands()))
      updates += bytesOfType(operand.getType());
    return 2 * updates;
  }
  case ByteRule::None:
    return 0;
  }
  llvm_unreachable("all rules are listed");
}

//===----------------------------------------------------------------------===//
// Other devices
//===----------------------------------------------------------------------===//

/// Returns how many devices meet: the second extent of `replica_groups`; none without it.
static std::optional<int64_t> devicesOf(Operation *op) {
  auto groups = op->getAttrOfType<DenseIntElementsAttr>("replica_groups");
  if (!groups || groups.getType().getRank() != 2 || groups.getType().getDimSize(1) < 1)
    return std::nullopt;
  return groups.getType().getDimSize(1);
}

static LogicalResult addTransfer(Operation *op, TransferRule rule, OpDescription &description) {
  if (rule == TransferRule::None)
    return success();
  Count whole;
  for (Type type : rule == TransferRule::Gather ? TypeRange(op->getResultTypes())
                                                : TypeRange(op->getOperandTypes()))
    whole += bytesOfType(type);
  std::optional<int64_t> devices = rule == TransferRule::Permute ? 2 : devicesOf(op);
  if (!devices)
    return refuse(op) << "has no 'replica_groups', so how many devices meet is not known; write "
                         "'llm.cost' with its time on it";
  int64_t times = rule == TransferRule::AllReduce ? 2 : 1;
  // Of a permutation each device sends the whole value to one other device.
  Count parts = rule == TransferRule::Permute ? 1 : *devices;
  Count bytes = whole * (times * (*devices - 1)) / parts;
  if (bytes.isTooMany())
    return op->emitError("sends more than 2^63 bytes; make the value or the group smaller");
  description.messages = times * (*devices - 1);
  description.bytesSent = bytes;
  return success();
}

static bool haveSameElements(Type a, Type b) {
  auto mine = dyn_cast<RankedTensorType>(a), its = dyn_cast<RankedTensorType>(b);
  return mine && its && mine.getShape() == its.getShape() &&
         bytesOfElementType(mine.getElementType()) == bytesOfElementType(its.getElementType());
}

/// Returns whether a broadcast keeps the order of dimensions. One that transposes is no view: an op
/// that overwrites the source in place would read elements that it has written.
static bool keepsOrder(Operation *op) {
  SmallVector<int64_t> dimensions;
  Attribute attribute = op->getAttr("broadcast_dimensions");
  if (auto numbers = dyn_cast_or_null<DenseI64ArrayAttr>(attribute))
    dimensions.append(numbers.asArrayRef().begin(), numbers.asArrayRef().end());
  if (auto numbers = dyn_cast_or_null<DenseIntElementsAttr>(attribute))
    for (APInt number : numbers.getValues<APInt>())
      dimensions.push_back(number.getSExtValue());
  return llvm::is_sorted(dimensions);
}

static bool isView(Operation *op, const OpTableEntry *entry) {
  return entry && entry->isView && op->getNumOperands() >= op->getNumResults() && keepsOrder(op);
}

/// Returns whose bytes `value` looks at, by the table.
static Value rootOf(Value value, const OpTable &table) {
  auto result = dyn_cast<OpResult>(value);
  while (result && isView(result.getOwner(), table.find(result.getOwner()))) {
    value = result.getOwner()->getOperand(result.getResultNumber());
    result = dyn_cast<OpResult>(value);
  }
  return value;
}

/// Returns whether another operand looks at the same bytes. An op that overwrites whole operands,
/// and not element by element, would then read what it has written.
static bool isReadTwice(Operation *op, unsigned number, const OpTable &table) {
  Value root = rootOf(op->getOperand(number), table);
  return llvm::any_of(op->getOpOperands(), [&](OpOperand &other) {
    return other.getOperandNumber() != number && rootOf(other.get(), table) == root;
  });
}

static SmallVector<int64_t> inPlaceOf(OpResult result, InPlaceRule rule, const OpTable &table) {
  SmallVector<int64_t> operands;
  Operation *op = result.getOwner();
  int64_t number = result.getResultNumber();
  switch (rule) {
  case InPlaceRule::None:
    break;
  case InPlaceRule::Elements:
    for (OpOperand &operand : op->getOpOperands())
      if (haveSameElements(operand.get().getType(), result.getType()))
        operands.push_back(operand.getOperandNumber());
    break;
  case InPlaceRule::First:
    if (number == 0 && op->getNumOperands() > 0 && !isReadTwice(op, 0, table))
      operands.push_back(0);
    break;
  case InPlaceRule::Each:
    if (number < op->getNumOperands() && !isReadTwice(op, number, table))
      operands.push_back(number);
    break;
  }
  return operands;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Returns whether both regions get what the loop carries, and the body gives that on. After it
/// come arguments that each round reads (RegionCaptures.h).
static bool hasFormOfLoop(Operation *op) {
  auto isGiven = [&](Region &region) {
    return region.hasOneBlock() && !region.front().empty() &&
           region.getNumArguments() == op->getNumOperands();
  };
  return op->getNumRegions() == 2 && llvm::all_of(op->getRegions(), isGiven) &&
         op->getNumResults() <= op->getNumOperands() &&
         op->getRegion(1).front().back().getNumOperands() == op->getNumResults();
}

static LogicalResult addLoop(Operation *op, const OpTable &table, OpDescription &description) {
  if (!hasFormOfLoop(op))
    return refuse(op) << "is a loop by its op table, and has not its form: a condition and a body "
                         "of one block each, which get every operand, and a body that returns one "
                         "value for each result";
  std::optional<int64_t> rounds = countRounds(op);
  if (!rounds)
    return refuse(op) << "runs as often as its data say, so it has no cost and no peak; write "
                         "'llm.cost' with both on it, or count to a constant";
  FailureOr<OpDescription> round = describeRegion(op->getRegion(1), op->getNumResults(), table);
  // The body reads what the condition read.
  FailureOr<OpDescription> question = describeRegion(op->getRegion(0), /*carried=*/0, table);
  if (failed(round) || failed(question))
    return failure();
  FailureOr<int64_t> flops =
      checked(op, product({*rounds, std::max(round->flops, question->flops)}));
  FailureOr<int64_t> bytes = checked(op, product({*rounds, round->bytesMoved}));
  FailureOr<int64_t> messages = checked(op, product({*rounds, round->messages}));
  FailureOr<int64_t> sent = checked(op, product({*rounds, round->bytesSent}));
  if (failed(flops) || failed(bytes) || failed(messages) || failed(sent))
    return failure();
  description.messages = *messages;
  description.bytesSent = *sent;
  description.flops = *flops;
  description.bytesMoved = *bytes;
  description.workspace = std::max(round->workspace, question->workspace);
  description.isPure &= round->isPure && question->isPure;
  return success();
}

static LogicalResult addBranches(Operation *op, const OpTable &table, OpDescription &description) {
  for (Region &region : op->getRegions()) {
    FailureOr<OpDescription> branch = describeRegion(region, /*carried=*/0, table);
    if (failed(branch))
      return failure();
    description.flops = std::max(description.flops, branch->flops);
    description.bytesMoved = std::max(description.bytesMoved, branch->bytesMoved);
    description.workspace = std::max(description.workspace, branch->workspace);
    description.messages = std::max(description.messages, branch->messages);
    description.bytesSent = std::max(description.bytesSent, branch->bytesSent);
    description.isPure &= branch->isPure;
  }
  return success();
}

FailureOr<OpDescription> llmmem::describeOp(Operation *op, const OpTableEntry &entry,
                                            const OpTable &table) {
  if (!entry.refusal.empty())
    return refuse(op) << entry.refusal;
  auto hasBytes = [](Value value) { return succeeded(getCheckedBytes(value)); };
  if (!llvm::all_of(op->getOperands(), hasBytes) || !llvm::all_of(op->getResults(), hasBytes))
    return failure();
  FailureOr<int64_t> flops = flopsOf(op, entry);
  if (failed(flops))
    return failure();
  OpDescription description;
  description.flops = *flops;
  description.isPure = entry.isPure;
  description.isConstant = entry.isConstant;
  if (entry.isView && op->getNumOperands() < op->getNumResults())
    return refuse(op) << "is a view by its op table, and has no operand for each result";
  for (OpResult result : op->getResults()) {
    description.views.push_back(isView(op, &entry) ? int64_t(result.getResultNumber()) : -1);
    description.inPlace.push_back(inPlaceOf(result, entry.inPlace, table));
  }
  description.bytesMoved = bytesOf(op, entry.bytes);
  if (failed(addTransfer(op, entry.transfer, description)))
    return failure();
  if (entry.flops == FlopRule::Loop && failed(addLoop(op, table, description)))
    return failure();
  if (entry.flops == FlopRule::Branches && failed(addBranches(op, table, description)))
    return failure();
  return description;
}
