//===- KernelSites.h - The ops of a kernel that the emulator checks --------===//
//
// A site is an op that reads or writes memory, or synchronizes threads. Which buffer an access
// means is found in the IR, from the access back through views to an argument or to shared memory:
// so an address inside another buffer is a fault, not an access of that buffer.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_LOWERING_KERNELSITES_H
#define LLMMEM_LIB_EMULATION_LOWERING_KERNELSITES_H

#include "llmmem/Codegen/Gpu/KernelAccess.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/AsmState.h"

namespace llmmem {

/// Numbers the sites of a kernel and adds their records (`llm.emulation` in Passes.td) to those of
/// the module.
class KernelSites {
public:
  KernelSites(mlir::gpu::GPUFuncOp kernel, llvm::SmallVector<mlir::Attribute> &records)
      : kernel(kernel), records(records), builder(kernel.getContext()), names(kernel) {}

  /// Adds `op` if it is a site. Fails after a located diagnostic if the buffer of an access cannot
  /// be found.
  llvm::LogicalResult add(mlir::Operation *op);

  /// The number of an op's site; the first of a copy's two, of which the second is its write.
  int64_t numberOf(mlir::Operation *op) const { return numbers.lookup(op); }
  /// Whether one of the sites synchronizes threads.
  bool synchronize() const { return synchronizes; }

private:
  llvm::LogicalResult addAccess(mlir::Operation *op, const KernelAccess &access);
  void addSynchronization(mlir::Operation *op, llvm::StringRef kind);
  mlir::FailureOr<int64_t> bufferOf(mlir::Operation *op, mlir::Value memref);
  void record(mlir::Operation *op, mlir::NamedAttrList site);

  mlir::gpu::GPUFuncOp kernel;
  llvm::SmallVector<mlir::Attribute> &records;
  mlir::Builder builder;
  mlir::AsmState names;
  llvm::DenseMap<mlir::Operation *, int64_t> numbers;
  bool synchronizes = false;
};

} // namespace llmmem

#endif // LLMMEM_LIB_EMULATION_LOWERING_KERNELSITES_H
