//===- CounterSamples.h - The stream of random numbers that a name has -------===//

#ifndef LLMMEM_EXECUTION_COUNTERSAMPLES_H
#define LLMMEM_EXECUTION_COUNTERSAMPLES_H

#include "llmmem/Runtime/Samples.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/xxhash.h"

namespace llmmem {

/// Returns the stream of a seed and a name, whose samples `llmmem_sample_*` gives. Streams of
/// different seeds or names are independent.
inline uint64_t streamOf(uint64_t seed, llvm::StringRef name) {
  return llmmem_sample_stream(seed) ^ llvm::xxh3_64bits(name);
}

} // namespace llmmem

#endif // LLMMEM_EXECUTION_COUNTERSAMPLES_H
