//===- StochasticRounding.h - Stores in bf16 that lose nothing on average ------===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_STOCHASTICROUNDING_H
#define LLMMEM_LIB_CODEGEN_EMITTER_STOCHASTICROUNDING_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include <array>

namespace llmmem {

/// Returns two random numbers of 16 bits in 32 for each element, from the values that an update
/// reads and from the number of the step alone (Philox4x32-10). `step` is an i32 as an index.
std::array<mlir::Value, 2> randomBitsOf(KernelEmitter &e, std::array<Num, 4> values, Index step);

/// Stores `x`, f32, as bf16: the lower or the upper neighbour, with the probability of its
/// nearness. `randomBits` has 16 random bits for each lane.
void storeStochastically(KernelEmitter &e, Buffer buffer, Index index, Num x,
                         mlir::Value randomBits);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_EMITTER_STOCHASTICROUNDING_H
