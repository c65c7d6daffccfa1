//===- Fuzzer.cpp - The entry of libFuzzer, for one reader -------------------------===//

#include "Readers.h"

/// LLVM's allocators poison memory in headers, and Debian's libMLIR, which is not instrumented,
/// hands it out without lifting the poison.
extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0"; }

/// LLMMEM_FUZZED names a function of Readers.h.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llmmem::fuzz::LLMMEM_FUZZED(llvm::StringRef(reinterpret_cast<const char *>(data), size));
  return 0;
}
