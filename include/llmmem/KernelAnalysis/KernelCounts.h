//===- KernelCounts.h - What a GPU kernel does, counted statically ---------===//
//
// Counts bank conflicts, sectors, barriers, mma and other instructions of one launch, by the index
// arithmetic of a few blocks that represent all (WarpInterpreter.h). Example: 32 lanes read 4 bytes
// each, `stride` words apart, from shared memory:
//
//   stride 1: all 32 banks, one pass;     stride 2: 16 banks, two passes;     stride 32: 32 passes
//
// From global memory, reads of 4 bytes with stride 1 touch 4 sectors of 32 bytes, and with stride 8
// and more 32.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_KERNELANALYSIS_KERNELCOUNTS_H
#define LLMMEM_KERNELANALYSIS_KERNELCOUNTS_H

#include "llmmem/Support/MatrixDescriptor.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <array>
#include <optional>
#include <vector>

namespace llmmem {

/// Holds the addresses, in bytes, that lanes of a warp name in one instruction; nothing where a
/// lane does not take part.
using WarpAddresses = std::array<std::optional<int64_t>, 32>;

/// Counts the passes of shared memory in one instruction. Lanes form groups that name 128 bytes (32
/// lanes of 4 bytes, 16 of 8, 8 of 16). A group takes as many passes as the most different words
/// that one of the 32 banks of 4 bytes has to deliver.
struct SharedPasses {
  int64_t all = 0;
  /// Counts the groups of lanes; without conflicts each takes one pass.
  int64_t fewest = 0;
  /// Gives the most passes of one group: the degree of the conflict, 1 if there is none.
  int64_t degree = 0;
};
SharedPasses sharedPasses(const WarpAddresses &addresses, int64_t bytes);

/// Returns the passes in which shared memory delivers to wgmma `rows` rows of A, or columns of B,
/// and 16 inner places.
SharedPasses passesOfOperand(MatrixDescriptor descriptor, int64_t rows, bool isTurned);

/// Counts the sectors of 32 bytes of global memory: how many are touched, and the fewest that could
/// hold the bytes.
struct GlobalSectors {
  int64_t all = 0, fewest = 0;
};
GlobalSectors globalSectors(const WarpAddresses &addresses, int64_t bytes);

/// Describes an op that reads or writes shared or global memory, over all warps of the launch. For
/// shared memory of another block of the cluster (Cluster.h) it counts the passes there, where they
/// conflict like that block's own.
struct AccessCounts {
  mlir::Operation *op = nullptr;
  bool isShared = false, isWrite = false;
  double requests = 0;
  /// Count the passes of shared memory, or sectors of global memory, and the fewest possible.
  double units = 0, fewest = 0;
  /// Applies to shared memory; 0 if data decides all addresses.
  int64_t degree = 0;
};

/// Counts over all warps of one launch. It has many fields because each is a figure of the report,
/// `report-kernel-counts`.
struct KernelCounts {
  std::vector<AccessCounts> accesses;
  double mmas = 0, barriers = 0; // Barriers count once per block, those of clusters too.
  /// Count what wgmma multiplies, in units of mma of 16 x 8 x 16, and how much of that the product
  /// needs. Where tensor maps say how large A and B are, the latter excludes what tiles have beyond
  /// the end of C.
  double wgmmas = 0;
  std::optional<double> neededWgmmas;
  /// Count the blocks of a cluster, and what they load from, and store to, each other's shared
  /// memory.
  int64_t clusterBlocks = 1;
  double peerBytes = 0;
  /// Counts the sectors that multicast copies bring to all blocks but the first, which are read
  /// once.
  double multicastSectors = 0;
  /// Counts the sectors that arrive at and leave the block with most of them, among those that are
  /// followed. Its tile does not end beyond C. Of a tile that several blocks copy, each other part
  /// counts as this block's own.
  double mostSectors = 0;
  /// Counts the instructions that compute and move data, once per element of a vector, mma
  /// included. Index arithmetic is left out, because most of it moves out of loops.
  double instructions = 0;
  /// Count the instructions of loops that start wgmma, which overlap it, and the ones among them
  /// that wait for what it has computed in the same iteration.
  double inLoopsOfWgmma = 0, dependentOnWgmma = 0;
  /// Count the ex2 and rcp among all instructions and among those that wait for wgmma. A
  /// multiprocessor has few units for them.
  double specials = 0, specialsDependentOnWgmma = 0;
  /// Says how many more iterations than an average block the busiest one takes of a loop over tiles
  /// of C whose iterations the blocks share: 4 / 3.88 for 512 tiles on 132 blocks.
  double busiest = 1;
  /// Says whether data decides how often some op runs (as in KernelTraffic.h).
  bool isEstimate = false;

  double sharedUnits() const { return sum(true, &AccessCounts::units); }
  double fewestSharedUnits() const { return sum(true, &AccessCounts::fewest); }
  double sectors() const { return sum(false, &AccessCounts::units); }
  double fewestSectors() const { return sum(false, &AccessCounts::fewest); }
  /// Returns the degree of the worst site of shared memory; 1 if there is none.
  int64_t degree() const;

private:
  double sum(bool isShared, double AccessCounts::*number) const;
};

/// Counts one launch of this number of blocks of threads.
KernelCounts countKernel(mlir::gpu::GPUFuncOp kernel, std::array<int64_t, 3> grid,
                         std::array<int64_t, 3> block);

} // namespace llmmem

#endif // LLMMEM_KERNELANALYSIS_KERNELCOUNTS_H
