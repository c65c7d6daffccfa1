//===- Bytes.cpp - How many bytes a type and a value have -------------------===//

#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/EmptyOpInterface.h"
#include "llmmem/Support/Count.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace llmmem;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

std::optional<int64_t> llmmem::bytesOfElementType(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type)) {
    std::optional<int64_t> part = bytesOfElementType(complex.getElementType());
    return part ? std::optional(2 * *part) : std::nullopt;
  }
  if (type.isIndex())
    return 8;
  if (!type.isIntOrFloat())
    return std::nullopt;
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

int64_t llmmem::bytesOfNumber(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * bytesOfNumber(vector.getElementType());
  return bytesOfElementType(type).value_or(0);
}

int64_t llmmem::bytesOfBuffer(MemRefType type) {
  return type.getNumElements() * bytesOfNumber(type.getElementType());
}

int64_t llmmem::bytesOfType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return 0;
  Count elements = 1;
  for (int64_t dimension : tensor.getShape())
    elements *= dimension;
  if (tensor.getElementType().isInteger(4)) // two of them share a byte
    return divideCeil(elements, 2);
  return elements * bytesOfElementType(tensor.getElementType()).value_or(0);
}

int64_t llmmem::allocatedBytes(Type type) {
  return alignTo(Count(bytesOfType(type)), kArenaAlignment);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

int64_t llmmem::residentBytes(Value constant) {
  return isEmptyValue(constant) ? 0 : bytesOfType(constant.getType());
}

/// Returns whether it is a number, or a token that orders effects: it lies in a register, if
/// anywhere.
static bool isScalar(Type type) {
  auto opaque = dyn_cast<OpaqueType>(type);
  return bytesOfElementType(type) || isa<NoneType>(type) ||
         (opaque && opaque.getTypeData() == "token");
}

/// Returns whether it is a constant that is no tensor: a shape, which is part of the code.
static bool isConstantOfCode(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->hasTrait<OpTrait::ConstantLike>() && !isa<ShapedType>(value.getType());
}

FailureOr<int64_t> llmmem::getCheckedBytes(Value value) {
  auto emit = [&]() {
    Operation *op = value.getDefiningOp();
    return op ? op->emitError() : mlir::emitError(value.getLoc());
  };
  if (isScalar(value.getType()) || isConstantOfCode(value))
    return 0;
  if (isa<TupleType>(value.getType()))
    return emit()
           << "has a tuple, which has no bytes that can be planned; flatten tuples to values "
              "of their own first";
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  std::optional<int64_t> bytes =
      tensor ? bytesOfElementType(tensor.getElementType()) : std::nullopt;
  if (!bytes)
    return emit() << "type " << value.getType()
                  << " has no bytes that can be planned; expected a ranked tensor "
                  << "of integers or floats";
  if (!tensor.hasStaticShape())
    return emit() << "type " << value.getType()
                  << " has a dynamic shape; a plan in bytes needs every dimension "
                  << "as a number: import the model with a fixed batch and sequence";
  // A caller that computes sizes after this check may count in bits.
  std::optional<int64_t> bits = 8 * *bytes;
  for (int64_t dimension : tensor.getShape())
    if (bits)
      bits = llvm::checkedMul(*bits, dimension);
  if (!bits || *bits > INT64_MAX - 7)
    return emit() << "type " << value.getType()
                  << " has more than 2^63 bits; make the batch, the sequence or the "
                  << "vocabulary smaller";
  return bytesOfType(tensor);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Counts the bytes of a type of static shape, an element of fewer than 8 bits in a byte of its
/// own.
static Count countBytes(ShapedType type) {
  // A later stage counts what is no number here, as a vector in a buffer.
  Count bytes = bytesOfElementType(type.getElementType()).value_or(1);
  for (int64_t dimension : type.getShape())
    bytes *= dimension;
  return bytes;
}

static LogicalResult addSize(Value value, SizeLimit limit, Count &total) {
  auto type = dyn_cast<ShapedType>(value.getType());
  if (!type || !type.hasStaticShape())
    return success();
  Count bytes = countBytes(type);
  total += alignTo(bytes, kArenaAlignment);
  if (!bytes.isTooMany() && (limit == SizeLimit::BytesOfEach || !(8 * bytes + 7).isTooMany()))
    return success();
  Operation *op = value.getDefiningOp();
  return (op ? op->emitError() : mlir::emitError(value.getLoc()))
         << "type " << type
         << " has more than 2^63 bits; make the batch, the sequence or the vocabulary smaller";
}

/// The results of ops come first: the op there made what is too large.
LogicalResult llmmem::checkSizes(Operation *root, SizeLimit limit) {
  Count total;
  auto addAll = [&](ValueRange values) {
    return llvm::all_of(values,
                        [&](Value value) { return succeeded(addSize(value, limit, total)); })
               ? WalkResult::advance()
               : WalkResult::interrupt();
  };
  auto ofResults = [&](Operation *op) { return addAll(op->getResults()); };
  auto ofArguments = [&](Block *block) { return addAll(block->getArguments()); };
  if (root->walk(ofResults).wasInterrupted() || root->walk(ofArguments).wasInterrupted())
    return failure();
  if (limit == SizeLimit::BitsAndSum && total.isTooMany())
    return root->emitError("cannot be planned or run: the bytes of its values, rounded up to 256 "
                           "each, add up to 2^63 or more; make the batch, the sequence or the "
                           "model smaller");
  return success();
}
