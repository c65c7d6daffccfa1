//===- LlmHostCopies.cpp - Values that leave for the host -------------------===//

#include "llmmem/Dialect/LlmOps.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

bool llm::isOnHost(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa_and_nonnull<HostAttr>(tensor.getEncoding());
}

bool llm::isHostCopy(Operation *op) { return isa<CopyUpOp, CopyDownOp>(op); }

StartQueue llm::queueOf(Operation *op) {
  return isa<CopyUpOp>(op)     ? StartQueue::Up
         : isa<CopyDownOp>(op) ? StartQueue::Down
                               : StartQueue::Network;
}

Value llm::copiedFrom(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto wait = dyn_cast<WaitOp>(op);
    Operation *copy = wait ? wait.getStart() : op;
    if (!copy || !isHostCopy(copy))
      break;
    value = op->getOperand(0);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult llm::verifyOnDevice(Operation *op) {
  if (llvm::any_of(op->getOperandTypes(), isOnHost))
    return op->emitOpError("reads a value that lies in the host's memory; expected the result of "
                           "an 'llm.copy_down' of it");
  if (llvm::any_of(op->getResultTypes(), isOnHost))
    return op->emitOpError("writes to the host's memory; expected a result on the device, and an "
                           "'llm.copy_up' of it");
  return success();
}

/// Both have one shape and one type of elements, and this one is on the device.
static LogicalResult verifyCopy(Operation *op, Value onDevice, Value onHost) {
  auto device = cast<RankedTensorType>(onDevice.getType());
  auto host = cast<RankedTensorType>(onHost.getType());
  if (device.getEncoding())
    return op->emitOpError() << "has " << device << " on the device, expected a tensor without "
                             << device.getEncoding();
  if (device.getShape() == host.getShape() && device.getElementType() == host.getElementType())
    return success();
  return op->emitOpError() << "copies between " << device << " and " << host
                           << ", expected one shape and one type of elements";
}

LogicalResult CopyUpOp::verify() {
  if (getDestination() && getDestination().getType() != getHost().getType())
    return emitOpError() << "has a destination of type " << getDestination().getType()
                         << ", expected " << getHost().getType();
  return verifyCopy(*this, getX(), getHost());
}

LogicalResult CopyDownOp::verify() { return verifyCopy(*this, getY(), getHost()); }

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

SmallVector<unsigned> CopyUpOp::getInPlaceOperands(unsigned) {
  return getDestination() ? SmallVector<unsigned>{1} : SmallVector<unsigned>{};
}
