//===- Cluster.h - Blocks that read and write each other's shared memory ----===//
//
// On sm_90 neighbouring blocks of a launch, along x, may form a cluster: they run at the same time,
// wait for each other, and reach each other's shared memory (PTX ISA, "Cluster of Cooperative
// Thread Arrays"). A kernel says how many blocks its clusters have (`.reqnctapercluster`), so an
// ordinary launch launches clusters. In the form between emission and targets:
//
//   %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
//   nvvm.cluster.arrive {aligned, llm.cluster_blocks = 2 : i32}
//   nvvm.cluster.wait {aligned}
//   %own = llvm.inttoptr %address : i64 to !llvm.ptr<3>
//   %peer = nvvm.mapa %own, %other : !llvm.ptr<3> -> !llvm.ptr<7>
//   %x = llvm.load %peer {alignment = 16 : i64} : !llvm.ptr<7> -> vector<4xi32>
//
// where the attribute stands at the barriers, as a launch has no function yet when it is written; a
// kernel that is written by hand may have `known_cluster_size` in its place.
//
// A block may access another one's shared memory between two barriers of the cluster alone: the
// first says that the other block has begun, the second that it has not ended.
//
// Blocks may also arrive at each other's mbarriers, and copy to each other's shared memory by
// tensor maps (multicast: each block of a mask gets the box at the same address of its own, where
// the mbarrier lies, at the same address too, that counts its bytes):
//
//   nvvm.fence.mbarrier.init
//   nvvm.mbarrier.arrive %peer : !llvm.ptr<7>
//   nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %own, box[%x, %y] multicast_mask =
//   %both
//
// Such an arrival, and the wait for it, order what copies and wgmma do to shared memory and nothing
// else, so both have the scope of a block, as in CUTLASS. Whoever would hand over what a thread has
// written by an arrival, too, needs the scope of the cluster: a barrier of the memory at each, and
// an invalidated cache (docs/Design/Gpu.md says what they cost).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_GPU_CLUSTER_H
#define LLMMEM_CODEGEN_GPU_CLUSTER_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include <optional>

namespace llmmem {

/// What every device with clusters can run; more blocks need leave of the driver.
constexpr int64_t kMostClusterBlocks = 8;

//===----------------------------------------------------------------------===//
// Of kernels
//===----------------------------------------------------------------------===//

/// Blocks of a cluster; 1 where the kernel names none.
int64_t clusterBlocksOf(mlir::gpu::GPUFuncOp kernel);
/// Fails after a located diagnostic where a kernel names several sizes, one of several dimensions,
/// or more blocks than a cluster can have.
llvm::LogicalResult verifyClusterSize(mlir::gpu::GPUFuncOp kernel);
/// The same, and where the launch's grid is no multiple of the cluster. Of an unknown grid too, if
/// there are clusters.
llvm::LogicalResult verifyClusters(mlir::gpu::LaunchFuncOp launch);

/// A load from, or a store to, the shared memory of a block of the cluster.
class PeerAccess {
public:
  /// Nothing for other ops.
  static std::optional<PeerAccess> match(mlir::Operation *op);

  mlir::Operation *op() const { return access; }
  bool isWrite() const;
  /// An element or a vector.
  mlir::Type type() const;
  /// Where the bytes would lie in the block's own shared memory (i64), and the block's rank (i32).
  mlir::Value address() const;
  mlir::Value rank() const;
  mlir::Value pointer() const { return access->getOperand(isWrite() ? 1 : 0); }
  void setPointer(mlir::Value place) const { access->setOperand(isWrite() ? 1 : 0, place); }

private:
  explicit PeerAccess(mlir::Operation *access) : access(access) {}

  mlir::Operation *access;
};

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

/// The number of the block in its cluster.
Index clusterRank(KernelEmitter &e);
/// A barrier of all threads of the cluster's blocks, where control flow is uniform over all of
/// them.
void clusterBarrier(KernelEmitter &e, int64_t blocks);
/// `type`, a number or a vector of at most 16 bytes, from element `index` on of `buffer`, workgroup
/// memory, as block `rank` has it.
mlir::Value loadOfPeer(KernelEmitter &e, Buffer buffer, Index index, mlir::Type type, Index rank);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_CLUSTER_H
