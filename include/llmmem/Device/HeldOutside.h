//===- HeldOutside.h - What a device holds that no plan counts -------------===//
//
// A plan counts every byte of a step. A process also holds the driver's context, the modules that
// it has loaded, what libraries take for themselves, and the buffers of NCCL. The reserve of a
// topology leaves room for them: `"reserve": "2GB"` for each kind of devices, or that of the card's
// table.
//
// NCCL allocates one buffer for each protocol of each connection of a channel. Its defaults
// (src/init.cc, src/include/device.h, 2.18 to 2.28):
//
//   Simple   4 MiB                             (DEFAULT_BUFFSIZE)
//   LL       8 lines * 512 threads * 8 steps * 16 bytes      (DEFAULT_LL_BUFFSIZE)
//   LL128    120 words * 640 threads * 8 steps * 8 bytes     (DEFAULT_LL128_BUFFSIZE)
//
// A ring has one connection from which a rank receives. On nodes of NVLink its log says 24 channels
// ("24 coll channels"). Trees and NVLS take more where NCCL chooses them, and channels are fewer on
// other links, so this is a stated number, not a bound: llmmem-run measures it (`nccl_measured`).
//
// Example: a strategy over dp and tp has three communicators (dp, tp, and all ranks together),
// which take 3 * 24 * 9,633,792 bytes = 693,633,024. One over pp, dp and tp has seven.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DEVICE_HELDOUTSIDE_H
#define LLMMEM_DEVICE_HELDOUTSIDE_H

#include <cstdint>

namespace llmmem {

inline constexpr int64_t kNcclSimpleBytes = 4 << 20;
inline constexpr int64_t kNcclLowLatencyBytes = 8 * 512 * 8 * 16;
inline constexpr int64_t kNcclLowLatency128Bytes = 120 * 640 * 8 * 8;
inline constexpr int64_t kNcclChannels = 24;

/// Returns the stated bytes of NCCL's buffers on one rank.
constexpr int64_t statedNcclBytes(int64_t communicators) {
  return communicators * kNcclChannels *
         (kNcclSimpleBytes + kNcclLowLatencyBytes + kNcclLowLatency128Bytes);
}

} // namespace llmmem

#endif // LLMMEM_DEVICE_HELDOUTSIDE_H
