//===- KernelEmulation.h - A kernel on its way to the emulator -------------===//
//
// EmulatedKernel.cpp emits the function of one thread, EmulatedTensorCores.cpp the work of tensor
// cores, and EmulatedBarriers.cpp and EmulatedClusters.cpp mbarriers and clusters.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_LOWERING_KERNELEMULATION_H
#define LLMMEM_LIB_EMULATION_LOWERING_KERNELEMULATION_H

#include "KernelSites.h"
#include "ThreadFunction.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

namespace llmmem {

/// Rewrites one kernel.
class KernelEmulation : ThreadFunction {
public:
  KernelEmulation(mlir::gpu::GPUFuncOp kernel, const mlir::LLVMTypeConverter &types,
                  EmulatedKernels &records)
      : ThreadFunction(kernel.getContext(), types), kernel(kernel), records(records),
        sites(kernel, records.sites) {}

  mlir::FailureOr<mlir::func::FuncOp> run();

private:
  void addKernel(llvm::StringRef name);
  void placeShared();

  void createFunction();
  void unpackArguments();

  llvm::LogicalResult rewrite(mlir::Operation *op);
  /// Returns where the accessed buffer or view begins, and how many bytes after it the access lies.
  std::pair<mlir::Value, mlir::Value> addressOf(const KernelAccess &access);
  void checkAccess(mlir::Operation *op, const KernelAccess &access);
  llvm::LogicalResult rewriteTileAccess(mlir::Operation *op);
  void rewriteCopy(mlir::nvgpu::DeviceAsyncCopyOp copy);
  void rewriteLoadMatrix(mlir::nvgpu::LdMatrixOp load);
  /// Returns the hook that an op as a whole becomes a call of, and its arguments after the thread;
  /// no name for other ops.
  struct HookCall {
    llvm::StringRef name;
    llvm::SmallVector<mlir::Value, 3> arguments = {};
  };
  HookCall hookOf(mlir::Operation *op);
  llvm::LogicalResult rewriteOther(mlir::Operation *op);
  void rewriteShuffle(mlir::gpu::ShuffleOp shuffle);
  llvm::LogicalResult rewriteMma(mlir::NVVM::MmaOp mma);
  void rewriteWgmma(mlir::NVVM::WgmmaMmaAsyncOp product);
  llvm::LogicalResult rewriteOfCluster(mlir::Operation *op);
  void rewritePeerAccess(const PeerAccess &access);
  llvm::LogicalResult rewriteClusterBarrier(mlir::Operation *op);
  llvm::LogicalResult rewriteBarrierObject(mlir::Operation *op);
  llvm::LogicalResult rewriteBoxCopy(mlir::NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp copy);
  llvm::LogicalResult rewriteIntrinsic(mlir::LLVM::CallIntrinsicOp call);
  llvm::LogicalResult moveTable(mlir::memref::GetGlobalOp use);

  mlir::gpu::GPUFuncOp kernel;
  EmulatedKernels &records;
  KernelSites sites;
  llvm::SmallVector<int64_t> sharedOffsets; // Those of the workgroup attributions.
  int64_t sharedBytes = 0;
};

} // namespace llmmem

#endif // LLMMEM_LIB_EMULATION_LOWERING_KERNELEMULATION_H
