//===- GpuGeometry.h - Multiprocessors, caches and rates of a GPU ----------===//
//
// How a kernel is divided into blocks of threads depends on these numbers. A device's table
// (lib/Device/Tables) has them as `gpu`:
//
// clang-format off
//   "gpu": {"multiprocessors": 132, "clock_mhz": 1830, "registers": 65536, "threads": 2048, "shared_bytes": 233472, "block_shared_bytes": 232448, "l2_bytes": 50000000,
//           "groups": [18, 18, 18, 16, 16, 16, 16, 14], "source": "whitepaper",
//           "per_clock": {"wgmma_multiply_adds": 1704, "shared_bytes": 128, "source": "measured"}}
// clang-format on
//
// `multiprocessors` and `block_shared_bytes` are required; any other missing number is 0, which
// means unknown.
//
// The choice of the kernel that computes an op, and of its tiles and parts, decides the bits of the
// result, and a result must not depend on the device that a plan is priced for. So kernels are
// tuned for one GPU, and run on the others: `tunedGpu()`.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DEVICE_GPUGEOMETRY_H
#define LLMMEM_DEVICE_GPUGEOMETRY_H

#include "llvm/Support/JSON.h"
#include <cstdint>
#include <string>
#include <vector>

namespace llmmem {

class JsonReader;

/// Says what one multiprocessor does in a clock, and how many clocks other things take.
/// lib/Device/Tables/README.md says where each number comes from. It has many fields because each
/// is a key of `per_clock`, and a price reads several of them.
struct ClockRates {
  double lanes = 0;             // Instructions.
  double multiplyAdds = 0;      // Multiply-adds of bf16, at the datasheet's rate.
  double mmaMultiplyAdds = 0;   // Multiply-adds of bf16 that mma.sync sustains.
  double wgmmaMultiplyAdds = 0; // Multiply-adds of bf16 that wgmma sustains.
  double sharedBytes = 0;       // Bytes from or to shared memory.
  double cacheBytes = 0;        // Bytes from the second-level cache.
  double apartBytes = 0;        // Bytes from it, where neighbouring blocks request nothing twice.
  double storedBytes = 0;       // Bytes to the second-level cache.
  double peerBytes = 0;         // Bytes from other multiprocessors of a cluster.
  double dramBytes = 0;         // Bytes that all multiprocessors together read from DRAM.
  double copyLatency = 0;       // Clocks from the start of a copy to its data.
  double meeting = 0;           // Clocks of two waits of the blocks of a cluster for each other.
  double pairing = 0;           // Clocks that a launch takes longer where two blocks share tiles.
  double launch = 0;            // Clocks of a second launch.
  double sharedStep = 0; // The part of its time that a step of two blocks with one tile takes.
  double mmaStepDramBytes = 0; // Bytes from DRAM in 128 x 128 x 32 multiply-adds of mma.sync.
  std::string source;
};

struct GpuGeometry {
  int64_t multiprocessors = 0;
  int64_t clockMHz = 0;         // At most.
  int64_t registers = 0;        // Those of a multiprocessor, of 32 bits.
  int64_t threads = 0;          // Those that a multiprocessor has at once.
  int64_t sharedBytes = 0;      // Those of a multiprocessor.
  int64_t blockSharedBytes = 0; // Those that one block may have.
  int64_t l2Bytes = 0;
  std::vector<int64_t> groups; // Multiprocessors of each GPC; a cluster lies in one.
  std::string source;
  ClockRates perClock;

  /// Returns the blocks that run at once where each has a multiprocessor for itself, in clusters of
  /// this size. Example: 120 in clusters of 8 in the groups above, 132 in clusters of 2.
  int64_t blocksAtOnce(int64_t cluster) const;

  /// Reads the object. Returns false after an error, which the reader keeps.
  bool read(JsonReader &reader);
  /// Returns the form that is read.
  llvm::json::Object toJson() const;
};

/// Returns the GPU for which kernels choose tiles and parts: the shipped table h100.
const GpuGeometry &tunedGpu();

/// Returns the smallest GPU that kernels for tensor cores are written for: a100 (sm_80).
const GpuGeometry &leastGpu();

} // namespace llmmem

#endif // LLMMEM_DEVICE_GPUGEOMETRY_H
