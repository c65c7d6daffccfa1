//===- HostCopyCalls.cpp - Calls that copy to and from the host, and waits ---===//

#include "HostCopyCalls.h"
#include "llmmem/Codegen/Gpu/HostCopyCalls.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Runtime/HostCopies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace llmmem;

/// Calls a function of the runtime, and declares it where it is not known.
static func::CallOp callRuntime(OpBuilder &builder, Location loc, StringRef name,
                                ValueRange operands) {
  auto module = builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    function = func::FuncOp::create(top, loc, name, top.getFunctionType(operands.getTypes(), {}));
    function.setPrivate();
  }
  return func::CallOp::create(builder, loc, function, operands);
}

static Value number(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
}

static Value addressOf(OpBuilder &builder, Location loc, Value buffer) {
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, buffer);
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), address);
}

static Value pointerTo(OpBuilder &builder, Location loc, Value buffer) {
  return LLVM::IntToPtrOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
                                  addressOf(builder, loc, buffer));
}

static int64_t directionOf(Operation &copy) {
  return isa<llm::CopyToHostOp>(copy) ? LLMMEM_COPY_TO_HOST : LLMMEM_COPY_TO_DEVICE;
}

func::CallOp llmmem::emitHostCopy(OpBuilder &builder, Operation &copy, Value from, Value to,
                                  KernelTarget target) {
  Location loc = copy.getLoc();
  bool onDevice = target == KernelTarget::Gpu, isStarted = llm::isStarted(&copy);
  auto *address = onDevice ? addressOf : pointerTo;
  SmallVector<Value> operands = {address(builder, loc, to), address(builder, loc, from),
                                 number(builder, loc, bytesOfType(copy.getResultTypes()[0]))};
  if (onDevice || isStarted)
    operands.push_back(number(builder, loc, directionOf(copy)));
  if (onDevice)
    return callRuntime(builder, loc, isStarted ? kDeviceHostCopyStart : kDeviceHostCopy, operands);
  return callRuntime(builder, loc, isStarted ? "llmmem_copy_start" : "llmmem_copy", operands);
}

func::CallOp llmmem::emitHostWait(OpBuilder &builder, Operation &start, KernelTarget target) {
  Location loc = start.getLoc();
  bool onDevice = target == KernelTarget::Gpu;
  if (llm::runsOnHost(&start))
    return callRuntime(builder, loc, onDevice ? kDeviceUpdateWait : "llmmem_update_wait", {});
  return callRuntime(builder, loc, onDevice ? kDeviceHostCopyWait : "llmmem_copy_wait",
                     number(builder, loc, directionOf(start)));
}

func::CallOp llmmem::emitStartedWait(OpBuilder &builder, Location loc) {
  return callRuntime(builder, loc, "llmmem_wait", {});
}
