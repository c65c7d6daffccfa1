//===- GpuGeometry.h - Multiprocessors, caches and rates of a GPU ----------===//
//
// How a kernel is divided into blocks of threads depends on these numbers. They stand in a device's
// table (lib/Device/Tables), as `gpu`:
//
// clang-format off
//   "gpu": {"multiprocessors": 132, "clock_mhz": 1830, "registers": 65536, "threads": 2048, "shared_bytes": 233472, "block_shared_bytes": 232448, "l2_bytes": 50000000,
//           "groups": [18, 18, 18, 16, 16, 16, 16, 14], "source": "whitepaper",
//           "per_clock": {"wgmma_multiply_adds": 1704, "shared_bytes": 128, "source": "measured"}}
// clang-format on
//
// `multiprocessors` and `block_shared_bytes` are needed; what else is left out is 0: not known.
//
// Which kernel computes an op, and in which tiles and parts, decides the bits of its result, and a
// result must not depend on the device that a plan is priced for. So kernels are tuned for one GPU,
// and run on the others: `tunedGpu()`.
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

/// What one multiprocessor does in a clock, and what takes it how many clocks.
/// lib/Device/Tables/README.md says where each comes from.
struct ClockRates {
  double lanes = 0;             // of instructions
  double multiplyAdds = 0;      // of bf16, at the datasheet's rate
  double mmaMultiplyAdds = 0;   // of bf16, that mma.sync sustains
  double wgmmaMultiplyAdds = 0; // of bf16, that wgmma sustains
  double sharedBytes = 0;       // from or to shared memory
  double cacheBytes = 0;        // from the second-level cache
  double apartBytes = 0;        // from it, where neighbouring blocks ask for nothing twice
  double storedBytes = 0;       // to the second-level cache
  double peerBytes = 0;         // from other multiprocessors of a cluster
  double dramBytes = 0;         // that all multiprocessors together read from DRAM
  double copyLatency = 0;       // clocks from the start of a copy to its data
  double meeting = 0;           // clocks in which the blocks of a cluster wait for each other twice
  double pairing = 0;           // clocks that a launch takes longer where two blocks share tiles
  double launch = 0;            // clocks of a second launch
  double sharedStep = 0; // the part of its time that a step takes where two blocks share a tile
  double mmaStepDramBytes =
      0; // bytes that DRAM moves during 128 x 128 x 32 multiply-adds of mma.sync
  std::string source;
};

struct GpuGeometry {
  int64_t multiprocessors = 0;
  int64_t clockMHz = 0;         // at most
  int64_t registers = 0;        // of a multiprocessor, of 32 bits
  int64_t threads = 0;          // that a multiprocessor has at once
  int64_t sharedBytes = 0;      // of a multiprocessor
  int64_t blockSharedBytes = 0; // that one block may have
  int64_t l2Bytes = 0;
  std::vector<int64_t> groups; // multiprocessors of each GPC; a cluster lies in one
  std::string source;
  ClockRates perClock;

  /// Blocks that run at once where each has a multiprocessor for itself, in clusters of so many.
  /// Example: 120 in clusters of 8 in the groups above, 132 in clusters of 2.
  int64_t blocksAtOnce(int64_t cluster) const;

  /// Reads the object; false after an error, which the reader keeps.
  bool read(JsonReader &reader);
  /// The form that is read.
  llvm::json::Object toJson() const;
};

/// The GPU for which kernels choose tiles and parts: the shipped table h100.
const GpuGeometry &tunedGpu();

/// The least GPU that kernels for tensor cores are written for: a100 (sm_80).
const GpuGeometry &leastGpu();

} // namespace llmmem

#endif // LLMMEM_DEVICE_GPUGEOMETRY_H
