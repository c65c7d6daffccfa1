//===- KernelCounts.h - What a GPU kernel does, counted statically ---------===//
//
// Bank conflicts, sectors, barriers, mma and other instructions of one launch, from the index
// arithmetic of a few blocks that stand for all (WarpInterpreter.h). Example, 32 lanes that read
// 4 bytes each, `stride` words apart, from shared memory:
//
//   stride 1: all 32 banks, one pass;     stride 2: 16 banks, two passes;     stride 32: 32 passes
//
// From global memory, 4 bytes each: stride 1 touches 4 sectors of 32 bytes, stride 8 and more 32.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_GPU_KERNELCOUNTS_H
#define LLMMEM_CODEGEN_GPU_KERNELCOUNTS_H

#include "llmmem/Support/MatrixDescriptor.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <array>
#include <optional>
#include <vector>

namespace llmmem {

/// The addresses, in bytes, that lanes of a warp name in one instruction; nothing where a lane does
/// not take part.
using WarpAddresses = std::array<std::optional<int64_t>, 32>;

/// Passes of shared memory in one instruction: lanes go together as many as name 128 bytes (32 of 4
/// bytes, 16 of 8, 8 of 16), and lanes that go together take as many passes as one of the 32 banks
/// of 4 bytes has different words to give.
struct SharedPasses {
  int64_t all = 0;
  /// Groups of lanes that go together, one pass each without conflicts.
  int64_t fewest = 0;
  /// Most passes of one group: the degree of the conflict, 1 if there is none.
  int64_t degree = 0;
};
SharedPasses sharedPasses(const WarpAddresses &addresses, int64_t bytes);

/// Passes in which shared memory gives wgmma `rows` rows of A, or columns of B, and 16 inner
/// places.
SharedPasses passesOfOperand(MatrixDescriptor descriptor, int64_t rows, bool isTurned);

/// The same for global memory, in sectors of 32 bytes: how many are touched, and the fewest that
/// could hold the bytes.
struct GlobalSectors {
  int64_t all = 0, fewest = 0;
};
GlobalSectors globalSectors(const WarpAddresses &addresses, int64_t bytes);

/// An op that reads or writes shared or global memory, over all warps of the launch. Of shared
/// memory of another block of the cluster (Cluster.h) these are the passes there, where they
/// conflict like that block's own.
struct AccessCounts {
  mlir::Operation *op = nullptr;
  bool isShared = false, isWrite = false;
  double requests = 0;
  /// Passes of shared memory, or sectors of global memory; the fewest possible.
  double units = 0, fewest = 0;
  /// Of shared memory; 0 if data decides all addresses.
  int64_t degree = 0;
};

/// Of all warps of one launch.
struct KernelCounts {
  std::vector<AccessCounts> accesses;
  double mmas = 0, barriers = 0; // barriers: of all blocks, those of clusters too
  /// What wgmma multiplies, in as many mma of 16 x 8 x 16; and how much of that the product needs,
  /// without what tiles have behind the end of C, where tensor maps say how large A and B are.
  double wgmmas = 0;
  std::optional<double> neededWgmmas;
  /// Blocks of a cluster, and what they load from, and store to, each other's shared memory.
  int64_t clusterBlocks = 1;
  double peerBytes = 0;
  /// Sectors that copies to several blocks bring to all but the first of them, which are read once.
  double multicastSectors = 0;
  /// Sectors that arrive at and leave the block with most of them, of those that are followed: one
  /// whose tile does not end behind C. Of a tile that several blocks copy, each other part counts
  /// as this block's own.
  double mostSectors = 0;
  /// Instructions that compute and move data, a vector's element each, mma included. Indices are
  /// left out, as most of their arithmetic moves out of loops.
  double instructions = 0;
  /// Those of loops that start wgmma, which runs beside them; of these, those that wait for what it
  /// has computed in the same turn.
  double besideWgmma = 0, behindWgmma = 0;
  /// Of all instructions and of those behind wgmma: ex2 and rcp, for which a multiprocessor has few
  /// units.
  double specials = 0, specialsBehindWgmma = 0;
  /// How many more turns than a block on the average the busiest one takes of a loop whose turns
  /// the blocks share, over tiles of C: 4 / 3.88 of 512 tiles of 132 blocks.
  double busiest = 1;
  /// Whether data decides how often some op runs (as in KernelTraffic.h).
  bool isEstimate = false;

  double sharedUnits() const { return sum(true, &AccessCounts::units); }
  double fewestSharedUnits() const { return sum(true, &AccessCounts::fewest); }
  double sectors() const { return sum(false, &AccessCounts::units); }
  double fewestSectors() const { return sum(false, &AccessCounts::fewest); }
  /// The worst site of shared memory; 1 if there is none.
  int64_t degree() const;

private:
  double sum(bool isShared, double AccessCounts::*number) const;
};

/// Of one launch of so many blocks of threads.
KernelCounts countKernel(mlir::gpu::GPUFuncOp kernel, std::array<int64_t, 3> grid,
                         std::array<int64_t, 3> block);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_KERNELCOUNTS_H
