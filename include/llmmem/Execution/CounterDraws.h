//===- CounterDraws.h - Random numbers by their place ----------------------===//
//
// Draw number i of a stream is a function of (stream, i) alone: in any order, by any number of
// threads, beside whatever else is drawn.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_COUNTERDRAWS_H
#define LLMMEM_EXECUTION_COUNTERDRAWS_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace llmmem {

/// 64 uniform bits.
uint64_t drawWord(uint64_t stream, uint64_t counter);
/// Uniform in (0, 1), with 53 bits.
double drawUniform(uint64_t stream, uint64_t counter);
/// Normal, with mean 0 and deviation 1.
double drawNormal(uint64_t stream, uint64_t counter);

/// Streams of one seed that have nothing to do with each other.
uint64_t streamOf(uint64_t seed);
uint64_t streamOf(uint64_t seed, llvm::StringRef name);

/// The number below which a normal draw lies with probability `p`, 0 < p < 1.
/// Example: 0.5 gives 0, 0.975 gives 1.95996.
double normalQuantile(double p);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_COUNTERDRAWS_H
