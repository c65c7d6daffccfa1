//===- Sizes.cpp - Whether the sizes of a program can be counted -------------===//

#include "llmmem/Interfaces/Sizes.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Support/Count.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace llmmem;

/// Bytes of a type of static shape, an element of fewer than 8 bits in a byte of its own.
static Count countBytes(ShapedType type) {
  // What is no number here, as a vector in a buffer, is for a later stage to count.
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
  total += alignTo(bytes, 256);
  if (!bytes.isTooMany() && (limit == SizeLimit::BytesOfEach || !(8 * bytes + 7).isTooMany()))
    return success();
  Operation *op = value.getDefiningOp();
  return (op ? op->emitError() : mlir::emitError(value.getLoc()))
         << "type " << type
         << " has more than 2^63 bits; make the batch, the sequence or the vocabulary smaller";
}

/// The results of ops first: there stands who made what is too large.
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
