//===- CounterSamples.h - Random numbers by their place ----------------------===//
//
// Sample i of a stream is a function of (stream, i) alone. It does not depend on order, threads or
// other samples.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_COUNTERSAMPLES_H
#define LLMMEM_EXECUTION_COUNTERSAMPLES_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace llmmem {

/// Returns 64 uniform bits.
uint64_t sampleWord(uint64_t stream, uint64_t counter);
/// Returns a number that is uniform in (0, 1), with 53 bits.
double sampleUniform(uint64_t stream, uint64_t counter);
/// Returns a normal number with mean 0 and standard deviation 1.
double sampleNormal(uint64_t stream, uint64_t counter);

/// Returns the stream of a seed. Streams of different seeds are independent.
uint64_t streamOf(uint64_t seed);
uint64_t streamOf(uint64_t seed, llvm::StringRef name);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_COUNTERSAMPLES_H
