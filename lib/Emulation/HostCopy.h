//===- HostCopy.h - A copy between device and host that may be in flight ---===//

#ifndef LLMMEM_LIB_EMULATION_HOSTCOPY_H
#define LLMMEM_LIB_EMULATION_HOSTCOPY_H

#include <cstdint>
#include <deque>

namespace llmmem::emulation {

/// From its start to its wait it may read what it reads and write what it writes at any time.
struct HostCopy {
  char *to = nullptr;
  const char *from = nullptr;
  int64_t bytes = 0;
  int64_t call = -1; // that describes it

  /// Whether an access of these bytes by something else meets it.
  bool isRead(const char *begin, int64_t count) const {
    return begin < from + bytes && from < begin + count;
  }
  bool isWritten(const char *begin, int64_t count) const {
    return begin < to + bytes && to < begin + count;
  }
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_HOSTCOPY_H
