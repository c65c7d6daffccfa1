//===- Buffers.h - The memory of a step, and whose bytes it holds ----------===//
//
// Holds for each byte the number of the value that wrote it last. A plan reuses the bytes of dead
// values; a later read of a dead value finds another number there, whatever the plan says.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_BUFFERS_H
#define LLMMEM_LIB_EMULATION_BUFFERS_H

#include "AccessHistory.h"
#include "llmmem/Emulation/Emulator.h"

namespace llmmem::emulation {

/// Owners other than the numbers of values: bytes that calls may read as any value, and as none.
constexpr int32_t kAnyone = -1, kNobody = -2;

struct Buffer {
  Buffer(char *begin, int64_t bytes, Emulator::Contents contents)
      : begin(begin), bytes(bytes), contents(contents), owners(bytes), history(bytes) {}

  void beginStep() {
    std::fill(owners.begin(), owners.end(),
              contents == Emulator::Contents::Given ? kAnyone : kNobody);
  }

  char *begin;
  int64_t bytes;
  Emulator::Contents contents;
  std::vector<int32_t> owners;
  AccessHistory history;
};

/// Describes an argument of the current launch.
struct Argument {
  char *begin = nullptr;
  int64_t bytes = 0;
  Buffer *buffer = nullptr; // The buffer that contains it; null if it is a number.
  int64_t first = 0;        // Its place there.
  int32_t value = kAnyone;  // The value that the call names for it.
  bool writable = true;
  // Say whether a byte of it may be written in this launch, and whether reads must check owners.
  bool watched = true, asksOwners = true;

  bool overlaps(const Argument &other) const {
    return buffer && buffer == other.buffer && first < other.first + other.bytes &&
           other.first < first + bytes;
  }
  bool mayRead(int32_t owner) const { return owner == value || owner == kAnyone; }
  /// Returns the first byte from `begin` on, of `count`, that belongs to another value, or -1.
  int64_t firstTaken(int64_t begin, int64_t count) const {
    const int32_t *owner = buffer->owners.data() + first + begin;
    bool taken = false;
    for (int64_t i = 0; i < count; ++i)
      taken |= !mayRead(owner[i]);
    if (!taken)
      return -1;
    return begin +
           (std::find_if(owner, owner + count, [&](int32_t each) { return !mayRead(each); }) -
            owner);
  }
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_BUFFERS_H
