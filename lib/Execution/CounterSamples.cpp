//===- CounterSamples.cpp - Random numbers by their place --------------------===//

#include "llmmem/Execution/CounterSamples.h"
#include "llmmem/Runtime/Samples.h"
#include "llvm/Support/xxhash.h"

using namespace llmmem;

uint64_t llmmem::streamOf(uint64_t seed) { return llmmem_sample_stream(seed); }

uint64_t llmmem::streamOf(uint64_t seed, llvm::StringRef name) {
  return streamOf(seed) ^ llvm::xxh3_64bits(name);
}

uint64_t llmmem::sampleWord(uint64_t stream, uint64_t counter) {
  return llmmem_sample_word(stream, counter);
}

double llmmem::sampleUniform(uint64_t stream, uint64_t counter) {
  return llmmem_sample_uniform(stream, counter);
}

double llmmem::sampleNormal(uint64_t stream, uint64_t counter) {
  return llmmem_sample_normal(stream, counter);
}
