//===- Readers.h - What a fuzzer asks of each reader ------------------------------===//
//
// Each function hands `bytes` to one reader of files that people bring. It returns where the reader
// takes them and where it refuses them with a message, and aborts where the reader breaks a
// promise. The readers of problems, plans and buffers are asked in Planning/fuzz.
//
// clang-format off
//   cmake --preset sanitize-mlir && ninja -C build-sanitize-mlir ConfigFuzzer
//   mkdir found && build-sanitize-mlir/bin/ConfigFuzzer -max_total_time=600
//     -dict=unittests/Fuzz/dictionaries/config.dict found unittests/Fuzz/corpus/config
// clang-format on
//
// They need libclang-rt-22-dev. The preset `sanitize` builds those that need no MLIR:
// SafeTensorsFuzzer and TokenIdsFuzzer. CorpusTest.cpp replays the corpora in the normal suite.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UNITTESTS_FUZZ_READERS_H
#define LLMMEM_UNITTESTS_FUZZ_READERS_H

#include "llvm/ADT/StringRef.h"
#include <cstdlib>

namespace llmmem::fuzz {

inline void require(bool holds) {
  if (!holds)
    std::abort();
}

/// A config.json: what is read is built, in two forms, and the graph verifies.
void readConfig(llvm::StringRef bytes);
/// A device table: what is read prints as what reads back the same, and no time is negative.
void readDeviceTable(llvm::StringRef bytes);
/// A safetensors file: the tensors tile the data, each is found by its name.
void readSafeTensors(llvm::StringRef bytes);
/// Token ids, and bytes as ids: batches have ids of the vocabulary, wherever the feed stands.
void readTokenIds(llvm::StringRef bytes);

} // namespace llmmem::fuzz

#endif // LLMMEM_UNITTESTS_FUZZ_READERS_H
