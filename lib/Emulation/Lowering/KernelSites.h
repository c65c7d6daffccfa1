//===- KernelSites.h - The ops of a kernel that the emulator checks --------===//
//
// A site is an op that reads or writes memory, or synchronizes threads. Which buffer an access
// means is found in the IR, from the access back through views to an argument or to shared memory:
// so an address inside another buffer is a fault, not an access of that buffer.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_LOWERING_KERNELSITES_H
#define LLMMEM_LIB_EMULATION_LOWERING_KERNELSITES_H

#include "llmmem/Codegen/Gpu/Cluster.h"
#include "llmmem/Codegen/Gpu/KernelAccess.h"
#include "llmmem/Codegen/Gpu/RegisterWgmma.h"
#include "llmmem/Codegen/Gpu/TensorMap.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/AsmState.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace llmmem {

/// Numbers the sites of a kernel and adds their records (`llm.emulation` in Passes.td) to those of
/// the module.
class KernelSites {
public:
  KernelSites(mlir::gpu::GPUFuncOp kernel, llvm::SmallVector<mlir::Attribute> &records)
      : kernel(kernel), records(records), builder(kernel.getContext()), names(kernel) {
    numberSums();
  }

  /// Adds `op` if it is a site. Fails after a located diagnostic if the buffer of an access cannot
  /// be found.
  llvm::LogicalResult add(mlir::Operation *op);

  /// Returns the number of an op's site. A copy has two sites: this is the first, and its write is
  /// the second.
  int64_t numberOf(mlir::Operation *op) const { return numbers.lookup(op); }
  /// Does the same for an op that may be no site.
  int64_t numberOf(mlir::Operation *op, int64_t otherwise) const {
    auto known = numbers.find(op);
    return known == numbers.end() ? otherwise : known->second;
  }
  /// Returns whether one of the sites synchronizes threads.
  bool synchronize() const { return synchronizes; }
  /// Returns whether one of the sites is a wgmma.
  bool haveWgmma() const { return !sumNumbers.empty(); }

private:
  llvm::LogicalResult addAccess(mlir::Operation *op, const KernelAccess &access);
  void addPeerAccess(const PeerAccess &access);
  void addSynchronization(mlir::Operation *op, llvm::StringRef kind);
  mlir::FailureOr<int64_t> bufferOf(mlir::Operation *op, mlir::Value memref);
  llvm::LogicalResult addBoxCopy(mlir::NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp copy);
  llvm::LogicalResult addWgmma(mlir::NVVM::WgmmaMmaAsyncOp op);
  void recordWgmma(mlir::Operation *op, int64_t columns,
                   llvm::ArrayRef<std::pair<llvm::StringRef, bool>> facts);
  void numberSums();
  int64_t numberOfSums(mlir::Value value) const;
  void record(mlir::Operation *op, mlir::NamedAttrList site);

  mlir::gpu::GPUFuncOp kernel;
  llvm::SmallVector<mlir::Attribute> &records;
  mlir::Builder builder;
  mlir::AsmState names;
  llvm::DenseMap<mlir::Operation *, int64_t> numbers;
  /// Groups values that are the same sums of wgmma, with the number of each such set by its leader.
  llvm::EquivalenceClasses<const void *> sums;
  llvm::DenseMap<const void *, int64_t> sumNumbers;
  bool synchronizes = false;
};

} // namespace llmmem

#endif // LLMMEM_LIB_EMULATION_LOWERING_KERNELSITES_H
