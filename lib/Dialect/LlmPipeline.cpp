//===- LlmPipeline.cpp - Micro-batches and exchanges between stages --------===//

#include "LlmVerify.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Support/Count.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

static Count bytes(Value value) { return bytesOfType(value.getType()); }

//===----------------------------------------------------------------------===//
// Micro-batches
//===----------------------------------------------------------------------===//

/// The number must be given once, and there must be such a micro-batch.
static LogicalResult verifyNumber(Operation *op, Value at, std::optional<int64_t> number,
                                  int64_t of) {
  if (of < 1)
    return op->emitOpError() << "is of " << of << " micro-batches, expected 1 or more";
  if (static_cast<bool>(at) == number.has_value())
    return op->emitOpError() << "has its number " << (at ? "twice" : "nowhere")
                             << ", expected an operand at(%number) or an attribute";
  if (number && (*number < 0 || *number >= of))
    return op->emitOpError() << "is micro-batch " << *number << ", expected one from 0 to "
                             << of - 1;
  return success();
}

LogicalResult MicroBatchOp::verify() {
  if (failed(verifyNumber(*this, getAt(), getNumber(), getOf())))
    return failure();
  SmallVector<int64_t> shape(tensorType(getX()).getShape());
  if (shape.empty() || shape[0] % getOf() != 0)
    return emitOpError() << "takes rows of " << getX().getType() << ", whose first dimension is "
                         << "no multiple of " << getOf() << " micro-batches";
  shape[0] /= getOf();
  return expectShape(*this, "y", getY(), shape);
}

LogicalResult MicroBatchSeedOp::verify() {
  if (failed(verifyNumber(*this, getAt(), getNumber(), getOf())) ||
      failed(expectShape(*this, "x", getX(), {2})))
    return failure();
  return expectShape(*this, "y", getY(), {4});
}

int64_t MicroBatchOp::getFlops() { return 0; }
int64_t MicroBatchOp::getBytesMoved() { return 2 * bytes(getY()); } // The rest of x is not read.
int64_t MicroBatchSeedOp::getFlops() { return 0; }
int64_t MicroBatchSeedOp::getBytesMoved() { return bytes(getX()) + bytes(getY()); }

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

/// There must be one other position of the group for each value.
static LogicalResult verifyPositions(ExchangeOp op, StringRef name, ArrayRef<int64_t> positions,
                                     size_t values) {
  if (positions.size() != values)
    return op.emitOpError() << "names " << positions.size() << " positions in '" << name << "' for "
                            << values << " values";
  for (int64_t position : positions)
    if (position < 0 || position >= op.getGroupSize())
      return op.emitOpError() << "names position " << position << " in '" << name
                              << "', expected one of the " << op.getGroupSize() << " of its group";
  return success();
}

LogicalResult ExchangeOp::verify() {
  if (failed(expectAxes(*this, getAxes())) ||
      failed(verifyPositions(*this, "to", getTo(), getSent().size())))
    return failure();
  return verifyPositions(*this, "from", getFrom(), getReceived().size());
}

int64_t ExchangeOp::getGroupSize() { return groupSizeOf(*this, getAxes()); }
int64_t ExchangeOp::getFlops() { return 0; }
int64_t ExchangeOp::getBytesMoved() {
  Count sum;
  for (Value value : getSent())
    sum += bytes(value);
  for (Value value : getReceived())
    sum += bytes(value);
  return sum;
}

// A link carries both directions at once. What is received is what others send.
std::optional<TransferCost> ExchangeOp::getTransfer() {
  Count sent = 0;
  for (Value value : getSent())
    sent += bytes(value);
  return TransferCost{1, sent, getGroupSize(), sent};
}
int64_t ExchangeOp::getWorkspaceBytes() { return 0; }
