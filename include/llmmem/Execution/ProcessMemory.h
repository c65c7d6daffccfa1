//===- ProcessMemory.h - What the system says this process holds -----------===//
//
// Pages in memory, as Linux counts them: of the heap, the arena, mapped files and code alike.
//
//   ProcessMemory memory = ProcessMemory::begin();   before the buffers are allocated
//   ... allocate, fill ...
//   memory.forgetPeak();                             temporary memory of filling is not the step's
//   ... run steps ...
//   memory.peakBytes();                              the peak since, less what was held at first
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
  /// Nothing if the system does not report it, or did not reset the peak.
  std::optional<int64_t> peakBytes() const;

  /// What is held now, less what was held at first.
  std::optional<int64_t> grownBytes() const;

private:
  std::optional<int64_t> before;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_PROCESSMEMORY_H
