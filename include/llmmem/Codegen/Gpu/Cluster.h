//===- Cluster.h - Blocks that read and write each other's shared memory ----===//
//
// On sm_90, neighbouring blocks of a launch, along x, may form a cluster: they run at the same
// time, wait for each other, and access each other's shared memory (PTX ISA, "Cluster of
// Cooperative Thread Arrays"). A kernel says how many blocks its clusters have
// (`.reqnctapercluster`), so an ordinary launch launches clusters. Between emission and targets the
// ops are:
//
//   %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
//   nvvm.cluster.arrive {aligned, llm.cluster_blocks = 2 : i32}
//   nvvm.cluster.wait {aligned}
//   %own = llvm.inttoptr %address : i64 to !llvm.ptr<3>
//   %peer = nvvm.mapa %own, %other : !llvm.ptr<3> -> !llvm.ptr<7>
//   %x = llvm.load %peer {alignment = 16 : i64} : !llvm.ptr<7> -> vector<4xi32>
//
// The attribute is on the barriers, because a launch has no function yet when it is emitted. A
// kernel that is written by hand may have `known_cluster_size` instead.
//
// A block may access another one's shared memory only between two barriers of the cluster: the
// first says that the other block has begun, the second that it has not ended.
//
// Blocks may also arrive at each other's mbarriers, and copy to each other's shared memory by
// tensor maps. With multicast, each block of a mask gets the box at the same address of its own
// shared memory, and its mbarrier, also at the same address, counts the bytes:
//
//   nvvm.fence.mbarrier.init
//   nvvm.mbarrier.arrive %peer : !llvm.ptr<7>
//   nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %own, box[%x, %y] multicast_mask =
//   %both
//
// Such an arrival, and the wait for it, order what copies and wgmma do to shared memory and nothing
// else, so both have the scope of a block, as in CUTLASS. An arrival that also publishes what a
// thread has written needs the scope of the cluster: a memory barrier at each, and an invalidated
// cache (docs/Design/Gpu.md says what they cost).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_GPU_CLUSTER_H
#define LLMMEM_CODEGEN_GPU_CLUSTER_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include <optional>

namespace llmmem {

/// Every device with clusters can run this number; more blocks need a permission of the driver.
constexpr int64_t kMostClusterBlocks = 8;

//===----------------------------------------------------------------------===//
// Of kernels
//===----------------------------------------------------------------------===//

/// Returns the blocks of a cluster; 1 where the kernel names none.
int64_t clusterBlocksOf(mlir::gpu::GPUFuncOp kernel);
/// Fails after a located diagnostic where a kernel names several sizes, one of several dimensions,
/// or more blocks than a cluster can have.
llvm::LogicalResult verifyClusterSize(mlir::gpu::GPUFuncOp kernel);
/// Does the same, and fails where the launch's grid is no multiple of the cluster. Fails also for
/// an unknown grid if there are clusters.
llvm::LogicalResult verifyClusters(mlir::gpu::LaunchFuncOp launch);

/// Represents a load from, or a store to, the shared memory of a block of the cluster.
class PeerAccess {
public:
  /// Returns nothing for other ops.
  static std::optional<PeerAccess> match(mlir::Operation *op);

  mlir::Operation *op() const { return access; }
  bool isWrite() const;
  /// Returns the type of an element or a vector.
  mlir::Type type() const;
  /// Return where the bytes would lie in the block's own shared memory (i64), and the block's rank
  /// (i32).
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

/// Returns the number of the block in its cluster.
Index clusterRank(KernelEmitter &e);
/// Emits a barrier of all threads of the cluster's blocks, where control flow is uniform over all
/// of them.
void clusterBarrier(KernelEmitter &e, int64_t blocks);
/// Loads `type`, a number or a vector of at most 16 bytes, from element `index` of `buffer` on. The
/// buffer is workgroup memory of block `rank`.
mlir::Value loadOfPeer(KernelEmitter &e, Buffer buffer, Index index, mlir::Type type, Index rank);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_CLUSTER_H
