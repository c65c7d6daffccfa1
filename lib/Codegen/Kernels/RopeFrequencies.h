//===- RopeFrequencies.h - Angles per position of rotary embeddings -------===//

#ifndef LLMMEM_LIB_CODEGEN_KERNELS_ROPEFREQUENCIES_H
#define LLMMEM_LIB_CODEGEN_KERNELS_ROPEFREQUENCIES_H

#include "llmmem/Dialect/LlmOps.h"

namespace llmmem {

/// Returns the number of elements of a head that rotate.
int64_t rotaryElements(llm::RopeOp op);

/// Returns theta^(-2i/d) / divisors[i] for i < d/2, where d elements of a head rotate.
llvm::SmallVector<double> ropeFrequencies(llm::RopeOp op);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_KERNELS_ROPEFREQUENCIES_H
