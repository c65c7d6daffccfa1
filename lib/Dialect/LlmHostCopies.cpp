//===- LlmHostCopies.cpp - Values that leave for the host -------------------===//

#include "llmmem/Dialect/LlmOps.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

bool llm::isOnHost(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa_and_nonnull<HostAttr>(tensor.getEncoding());
}

bool llm::isHostCopy(Operation *op) { return isa<CopyToHostOp, CopyToDeviceOp>(op); }

bool llm::runsOnHost(Operation *op) {
  return op->hasTrait<InOneMemory>() && op->getNumResults() > 0 &&
         isOnHost(op->getResultTypes().front());
}

StartQueue llm::queueOf(Operation *op) {
  return isa<CopyToHostOp>(op)     ? StartQueue::ToHost
         : isa<CopyToDeviceOp>(op) ? StartQueue::ToDevice
         : runsOnHost(op)          ? StartQueue::Host
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

LogicalResult llm::verifyInOneMemory(Operation *op) {
  if (llvm::none_of(op->getOperandTypes(), isOnHost) &&
      llvm::none_of(op->getResultTypes(), isOnHost)) {
    if (isStarted(op))
      return op->emitOpError("is started on the device, whose ops run one after another; expected "
                             "all of its operands and results in the host's memory");
    return success();
  }
  for (auto [number, type] : llvm::enumerate(op->getOperandTypes()))
    if (!isOnHost(type))
      return op->emitOpError() << "runs on the host and reads operand " << number << ", " << type
                               << " on the device; expected the result of an 'llm.copy_up' of it";
  for (auto [number, type] : llvm::enumerate(op->getResultTypes()))
    if (!isOnHost(type))
      return op->emitOpError() << "runs on the host and writes result " << number << ", " << type
                               << " on the device; expected a result with #llm.host, and an "
                                  "'llm.copy_down' of it";
  return success();
}

/// Both must have one shape and one element type, and this one must be on the device.
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

static LogicalResult verifyDestination(Operation *op, Value destination, Value result) {
  if (!destination || destination.getType() == result.getType())
    return success();
  return op->emitOpError() << "has a destination of type " << destination.getType() << ", expected "
                           << result.getType();
}

LogicalResult CopyToHostOp::verify() {
  if (failed(verifyDestination(*this, getDestination(), getHost())))
    return failure();
  return verifyCopy(*this, getX(), getHost());
}

LogicalResult CopyToDeviceOp::verify() {
  if (failed(verifyDestination(*this, getDestination(), getY())))
    return failure();
  return verifyCopy(*this, getY(), getHost());
}
