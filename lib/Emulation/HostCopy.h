//===- HostCopy.h - What may be in flight beside the launches ---*- C++ -*-===//

#ifndef LLMMEM_LIB_EMULATION_HOSTCOPY_H
#define LLMMEM_LIB_EMULATION_HOSTCOPY_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace llmmem::emulation {

/// What runs beside the launches, each queue one after another: copies up and down, by their
/// directions, and updates on the host.
enum HostQueue : int64_t { kQueueUp, kQueueDown, kQueueOfUpdates, kHostQueues };

struct HostBytes {
  const char *begin = nullptr;
  int64_t count = 0;

  bool meets(const HostBytes &other) const {
    return begin < other.begin + other.count && other.begin < begin + count;
  }
};

/// A copy between device and host.
struct HostCopy {
  char *to = nullptr;
  const char *from = nullptr;
  int64_t bytes = 0;
  int64_t call = -1; // that describes it
};

/// An update on the host: the kernel, and where its buffers and their sizes stand.
struct HostUpdate {
  void (*run)(const uint64_t *words) = nullptr;
  const uint64_t *words = nullptr;
  const int64_t *sizes = nullptr;
  int64_t call = -1; // that describes it
};

/// From its start to its wait it may read what it reads and write what it writes at any time.
struct HostFlight {
  std::vector<HostBytes> reads, writes;
  int64_t call = -1; // that starts it

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
