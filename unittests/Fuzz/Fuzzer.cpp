//===- Fuzzer.cpp - The entry of libFuzzer, for one reader -------------------------===//

#include "Readers.h"

/// LLMMEM_FUZZED names a function of Readers.h.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llmmem::fuzz::LLMMEM_FUZZED(llvm::StringRef(reinterpret_cast<const char *>(data), size));
  return 0;
}
