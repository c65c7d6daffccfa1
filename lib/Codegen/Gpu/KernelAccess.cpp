//===- KernelAccess.cpp - What an op of a GPU kernel reads and writes ------===//

#include "llmmem/Codegen/Gpu/KernelAccess.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace llmmem;

using Accesses = SmallVector<KernelAccess, 2>;

static Accesses accessesOfCopy(nvgpu::DeviceAsyncCopyOp copy) {
  Type element = cast<MemRefType>(copy.getSrc().getType()).getElementType();
  auto moved = VectorType::get({copy.getDstElements().getSExtValue()}, element);
  return {{copy.getSrc(), copy.getSrcIndices(), moved, /*isWrite=*/false, copy.getSrcElements()},
          {copy.getDst(), copy.getDstIndices(), moved, /*isWrite=*/true}};
}

/// A lane names one row of 8 elements, but receives parts of other lanes' rows.
static Accesses accessesOfMatrices(nvgpu::LdMatrixOp load) {
  constexpr int64_t kRow = 8;
  auto row = VectorType::get({kRow}, load.getRes().getType().getElementType());
  KernelAccess access{load.getSrcMemref(), load.getIndices(), row};
  access.matrices = load.getNumTiles();
  return {access};
}

Accesses llmmem::kernelAccessesOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Accesses>(op)
      .Case([](memref::LoadOp load) -> Accesses {
        return {{load.getMemref(), load.getIndices(), load.getType()}};
      })
      .Case([](memref::StoreOp store) -> Accesses {
        return {{store.getMemref(), store.getIndices(), store.getValue().getType(), true}};
      })
      .Case([](vector::LoadOp load) -> Accesses {
        return {{load.getBase(), load.getIndices(), load.getType()}};
      })
      .Case([](vector::StoreOp store) -> Accesses {
        return {{store.getBase(), store.getIndices(), store.getValueToStore().getType(), true}};
      })
      .Case(accessesOfCopy)
      .Case(accessesOfMatrices)
      .Default([](Operation *) { return Accesses(); });
}

std::optional<unsigned> llmmem::kernelArgumentOf(gpu::GPUFuncOp kernel, Value buffer) {
  auto argument = dyn_cast<BlockArgument>(memref::skipViewLikeOps(cast<MemrefValue>(buffer)));
  if (!argument || argument.getOwner() != &kernel.getBody().front() ||
      argument.getArgNumber() >= kernel.getNumArguments())
    return std::nullopt;
  return argument.getArgNumber();
}
