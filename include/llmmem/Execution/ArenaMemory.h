//===- ArenaMemory.h - The arena of a run, and how much of it was touched --===//
//
// The arena ends at an inaccessible page, so that a write past it ends the process instead of
// changing another value. Untouched pages are not resident, and the last page holds a pattern. So
// the bytes that a run wrote are measured independently of the plan.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_ARENAMEMORY_H
#define LLMMEM_EXECUTION_ARENAMEMORY_H

#include "llvm/Support/Error.h"
#include <cstdint>

namespace llmmem {

class ArenaMemory {
public:
  ArenaMemory() = default;
  ArenaMemory(ArenaMemory &&other) { swap(other); }
  ArenaMemory &operator=(ArenaMemory &&other) {
    swap(other);
    return *this;
  }
  ~ArenaMemory();

  static llvm::Expected<ArenaMemory> allocate(int64_t bytes);

  /// Returns the first byte, which is at a multiple of 256.
  void *base() const { return first; }
  int64_t size() const { return bytes; }

  /// Returns one past the highest written byte, rounded up to 256 inside the arena. A write past
  /// the arena's end is included.
  int64_t measureHighWater() const;
  /// Returns the bytes of the resident pages.
  int64_t measureTouchedPages() const;

private:
  void swap(ArenaMemory &other);
  llvm::SmallVector<unsigned char> residentPages() const;

  char *mapping = nullptr; // Two guard pages, with the pages of the arena between them.
  int64_t mapped = 0;
  char *first = nullptr;
  int64_t bytes = 0;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_ARENAMEMORY_H
