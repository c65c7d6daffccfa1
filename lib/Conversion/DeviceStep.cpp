//===- DeviceStep.cpp - What a step for a GPU says in addition to its calls ===//

#include "DeviceStep.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/AccumulatingOpInterface.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace llmmem;

/// Returns the accumulator that `value` continues in place, some of whose bytes may stay unwritten.
Value ValueNumbers::continued(Value value) const {
  auto sum = value.getDefiningOp<AccumulatingOpInterface>();
  Value before = sum ? sum.getInto() : Value();
  return before && places.placeOf(before) == places.placeOf(value) ? before : Value();
}

int64_t ValueNumbers::of(Value value) {
  Place place = places.placeOf(value);
  if (place.argument)
    return *place.argument;
  value = viewedValue(value);
  if (Value before = continued(value))
    return of(before);
  auto [known, isNew] = numbers.try_emplace(value, next);
  next += isNew;
  return known->second;
}

void llmmem::describeBuffers(Operation *call, ArrayRef<int64_t> values, ArrayRef<int64_t> writes) {
  call->setAttr(llm::LlmDialect::kValues, DenseI64ArrayAttr::get(call->getContext(), values));
  call->setAttr(llm::LlmDialect::kWrites, DenseI64ArrayAttr::get(call->getContext(), writes));
}

void llmmem::describeBuffers(Operation &op, func::CallOp call, ValueNumbers &numbers) {
  SmallVector<int64_t> values, writes;
  for (Value operand : op.getOperands())
    values.push_back(numbers.of(operand));
  for (Value result : op.getResults()) {
    writes.push_back(values.size());
    values.push_back(numbers.of(result));
  }
  for (Value argument : call.getOperands().drop_front(values.size()))
    if (isa<MemRefType>(argument.getType())) { // This is the workspace.
      writes.push_back(values.size());
      values.push_back(numbers.fresh());
      call->setAttr(llm::LlmDialect::kWorkspace, op.getAttr(llm::LlmDialect::kWorkspace));
    } else {
      values.push_back(-1);
    }
  describeBuffers(call, values, writes);
}

LogicalResult llmmem::checkDeviceKernel(Operation *op, func::FuncOp kernel) {
  // Values of these types are indices and counts, never data.
  auto isPlace = [](Operation *inner) {
    return isa<arith::ArithDialect>(inner->getDialect()) &&
           llvm::all_of(inner->getResultTypes(),
                        [](Type type) { return type.isIntOrIndex() || type.isFloat(); });
  };
  // A collective is a call of the runtime, on addresses of the device.
  auto isOfRuntime = [&](Operation *inner) {
    auto call = dyn_cast<func::CallOp>(inner);
    auto callee =
        call ? kernel->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(call.getCallee())
             : func::FuncOp();
    return callee
               ? callee.isExternal()
               : isa<memref::ExtractAlignedPointerAsIndexOp, LLVM::IntToPtrOp, LLVM::ZeroOp>(inner);
  };
  Operation *fault = nullptr;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *inner) {
    bool inLaunch = inner->getParentOfType<gpu::LaunchOp>() != nullptr;
    bool allowed =
        inLaunch ? !isa<memref::AllocaOp, memref::AllocOp, scf::ForallOp, func::CallOp>(inner)
                 : isPlace(inner) || isOfRuntime(inner) ||
                       isa<func::FuncOp, func::ReturnOp, gpu::LaunchOp, scf::ForOp, scf::YieldOp,
                           memref::ViewOp, memref::GetGlobalOp, llm::LibraryProductOp>(inner);
    if (allowed)
      return WalkResult::advance();
    fault = inner;
    return WalkResult::interrupt();
  });
  if (!fault)
    return success();
  return op->emitOpError("has no kernel for a GPU: '")
         << fault->getName() << "' "
         << (fault->getParentOfType<gpu::LaunchOp>() ? "is not allowed inside a launch"
                                                     : "is outside of launches");
}
