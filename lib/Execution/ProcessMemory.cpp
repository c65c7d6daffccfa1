//===- ProcessMemory.cpp - What the system says this process holds ---------===//

#include "llmmem/Execution/ProcessMemory.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <malloc.h>

using namespace llmmem;

/// Reads a line of /proc/self/status, such as `VmHWM: 123456 kB`, in bytes.
static std::optional<int64_t> readStatus(llvm::StringRef key) {
  auto text = llvm::MemoryBuffer::getFileAsStream("/proc/self/status");
  if (!text)
    return std::nullopt;
  for (llvm::StringRef line : llvm::split((*text)->getBuffer(), '\n')) {
    int64_t kilobytes = 0;
    if (line.consume_front(key) && line.consume_front(":") && line.consume_back("kB") &&
        !line.trim().getAsInteger(10, kilobytes))
      return kilobytes * 1024;
  }
  return std::nullopt;
}

ProcessMemory ProcessMemory::begin() {
  ProcessMemory memory;
  // Without this, memory that the compiler has freed would be reused without a change of the
  // resident size.
  malloc_trim(0);
  memory.before = readStatus("VmRSS");
  return memory;
}

void ProcessMemory::forgetPeak() {
  malloc_trim(0);
  std::error_code code;
  llvm::raw_fd_ostream os("/proc/self/clear_refs", code, llvm::sys::fs::CD_OpenExisting);
  if (!code) {
    os << "5\n"; // proc(5): resets the peak to the current value
    os.flush();
    code = os.error();
    os.clear_error();
  }
  if (code)
    before.reset();
}

std::optional<int64_t> ProcessMemory::peakBytes() const {
  std::optional<int64_t> peak = readStatus("VmHWM");
  if (!before || !peak)
    return std::nullopt;
  return *peak - *before;
}

std::optional<int64_t> ProcessMemory::grownBytes() const {
  std::optional<int64_t> now = readStatus("VmRSS");
  if (!before || !now)
    return std::nullopt;
  return *now - *before;
}
