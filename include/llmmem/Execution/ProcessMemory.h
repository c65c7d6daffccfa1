//===- ProcessMemory.h - What the system says this process holds -----------===//
//
// Measures pages in memory as Linux counts them: heap, arena, mapped files and code.
//
//   ProcessMemory memory = ProcessMemory::begin();   before the buffers are allocated
//   ... allocate, fill ...
//   memory.forgetPeak();                             excludes temporary memory of filling
//   ... run steps ...
//   memory.peakBytes();                              the peak since then, less the initial bytes
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_PROCESSMEMORY_H
#define LLMMEM_EXECUTION_PROCESSMEMORY_H

#include <cstdint>
#include <optional>

namespace llmmem {

class ProcessMemory {
public:
  static ProcessMemory begin();
  void forgetPeak();
  /// Returns nothing if the system does not report the peak, or did not reset it.
  std::optional<int64_t> peakBytes() const;

  /// Returns what is held now, less what was held at first.
  std::optional<int64_t> grownBytes() const;

private:
  std::optional<int64_t> before;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_PROCESSMEMORY_H
