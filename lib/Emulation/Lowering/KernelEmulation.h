//===- KernelEmulation.h - A kernel on its way to the emulator -------------===//
//
// The function of one thread is written by EmulatedKernel.cpp; what tensor cores do, by
// EmulatedTensorCores.cpp; mbarriers and clusters, by EmulatedBarriers.cpp and
// EmulatedClusters.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_LOWERING_KERNELEMULATION_H
#define LLMMEM_LIB_EMULATION_LOWERING_KERNELEMULATION_H

#include "EmulatedKernel.h"
#include "KernelSites.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

namespace llmmem {

/// The words of a thread (include/llmmem/Emulation/Hooks.h).
enum ThreadWord : int64_t {
  kThread = 0,
  kBlock = 3,
  kBlockSize = 6,
  kGridSize = 9,
  kShared = 12,
  kDynamicBytes = 13
};

/// Rewrites one kernel.
class KernelEmulation {
public:
  KernelEmulation(mlir::gpu::GPUFuncOp kernel, const mlir::LLVMTypeConverter &types,
                  EmulatedKernels &records)
      : kernel(kernel), types(types), records(records), builder(kernel.getContext()),
        pointer(mlir::LLVM::LLVMPointerType::get(kernel.getContext())),
        integer(builder.getI64Type()), sites(kernel, records.sites) {}

  mlir::FailureOr<mlir::func::FuncOp> run();

private:
  void addKernel(llvm::StringRef name);
  void placeShared();

  void createFunction();
  void unpackArguments();
  mlir::Value threadWord(int64_t number, mlir::Type type);
  mlir::Value clusterRank();
  mlir::Value wordAddress(mlir::Value base, int64_t number);
  mlir::Value cast(mlir::Type type, mlir::Value value) {
    return mlir::UnrealizedConversionCastOp::create(builder, loc, type, value).getResult(0);
  }
  mlir::Value integerConstant(int64_t value) {
    return mlir::arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
  }
  mlir::Value i32Constant(int32_t value) {
    return mlir::arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
  }
  mlir::Value toInteger(mlir::Value index) {
    return mlir::arith::IndexCastOp::create(builder, loc, integer, index);
  }
  mlir::Value toIndex(mlir::Value number) {
    return mlir::arith::IndexCastOp::create(builder, loc, builder.getIndexType(), number);
  }
  mlir::Value sharedMemory(int64_t offset, mlir::MemRefType type);
  /// `count` words of 32 bits on the thread's stack, allocated once; and one of them.
  mlir::Value entryWords(int64_t count);
  mlir::Value wordOfStack(mlir::Value words, int32_t number) {
    return mlir::LLVM::GEPOp::create(builder, loc, pointer, builder.getI32Type(), words,
                                     llvm::ArrayRef<mlir::LLVM::GEPArg>{number});
  }
  mlir::func::CallOp callHook(llvm::StringRef name, mlir::ValueRange operands,
                              mlir::TypeRange results = {});

  llvm::LogicalResult rewrite(mlir::Operation *op);
  /// Where the accessed buffer or view begins, and how many bytes behind that the access does.
  std::pair<mlir::Value, mlir::Value> addressOf(const KernelAccess &access);
  void checkAccess(mlir::Operation *op, const KernelAccess &access);
  llvm::LogicalResult rewriteTileAccess(mlir::Operation *op);
  void rewriteCopy(mlir::nvgpu::DeviceAsyncCopyOp copy);
  void rewriteLoadMatrix(mlir::nvgpu::LdMatrixOp load);
  mlir::Value threadIndexOf(mlir::Operation *op);
  llvm::LogicalResult rewriteOther(mlir::Operation *op);
  mlir::Value linearThread();
  void rewriteShuffle(mlir::gpu::ShuffleOp shuffle);
  llvm::LogicalResult rewriteMma(mlir::NVVM::MmaOp mma);
  void rewriteWgmma(mlir::NVVM::WgmmaMmaAsyncOp product);
  llvm::LogicalResult rewriteOfCluster(mlir::Operation *op);
  void rewritePeerAccess(const PeerAccess &access);
  llvm::LogicalResult rewriteClusterBarrier(mlir::Operation *op);
  llvm::LogicalResult rewriteBarrierObject(mlir::Operation *op);
  llvm::LogicalResult rewriteBoxCopy(mlir::NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp copy);
  llvm::LogicalResult rewriteIntrinsic(mlir::LLVM::CallIntrinsicOp call);
  mlir::Value storeSums(mlir::Value sums, int64_t count);
  void replaceBySums(mlir::Operation *product, mlir::Value stored, int64_t count);
  llvm::LogicalResult moveTable(mlir::memref::GetGlobalOp use);

  mlir::gpu::GPUFuncOp kernel;
  const mlir::LLVMTypeConverter &types;
  EmulatedKernels &records;
  mlir::OpBuilder builder;
  mlir::LLVM::LLVMPointerType pointer;
  mlir::IntegerType integer;
  mlir::Location loc = builder.getUnknownLoc();
  mlir::func::FuncOp function;
  mlir::Operation *entryEnd =
      nullptr; // an insertion point: words of the thread are loaded before it
  KernelSites sites;
  llvm::DenseMap<int64_t, mlir::Value> words;
  llvm::SmallVector<int64_t> sharedOffsets; // of the workgroup attributions
  int64_t sharedBytes = 0, clusterBlocks = 1;
};

} // namespace llmmem

#endif // LLMMEM_LIB_EMULATION_LOWERING_KERNELEMULATION_H
