//===- HostCopy.h - What may be in flight during launches -------*- C++ -*-===//

#ifndef LLMMEM_LIB_EMULATION_HOSTCOPY_H
#define LLMMEM_LIB_EMULATION_HOSTCOPY_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace llmmem::emulation {

/// Names what overlaps the launches, each queue one call after another: device-to-host and
/// host-to-device copies, by their directions, and updates on the host.
enum HostQueue : int64_t { kQueueUp, kQueueDown, kQueueOfUpdates, kHostQueues };

struct HostBytes {
  const char *begin = nullptr;
  int64_t count = 0;

  bool meets(const HostBytes &other) const {
    return begin < other.begin + other.count && other.begin < begin + count;
  }
};

/// Describes a copy between device and host.
struct HostCopy {
  char *to = nullptr;
  const char *from = nullptr;
  int64_t bytes = 0;
  int64_t call = -1; // The call that describes it.
};

/// Describes an update on the host: the kernel, and the addresses and sizes of its buffers.
struct HostUpdate {
  void (*run)(const uint64_t *words) = nullptr;
  const uint64_t *words = nullptr;
  const int64_t *sizes = nullptr;
  int64_t call = -1; // The call that describes it.
};

/// From its start to its wait it may read what it reads and write what it writes at any time.
struct HostFlight {
  std::vector<HostBytes> reads, writes;
  int64_t call = -1; // The call that starts it.

  bool doesRead(const HostBytes &bytes) const { return meets(reads, bytes); }
  bool doesWrite(const HostBytes &bytes) const { return meets(writes, bytes); }

private:
  static bool meets(const std::vector<HostBytes> &own, const HostBytes &bytes) {
    return std::any_of(own.begin(), own.end(),
                       [&](const HostBytes &each) { return each.meets(bytes); });
  }
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_HOSTCOPY_H
