//===- RopeFrequencies.h - Angles per position of rotary embeddings -------===//

#ifndef LLMMEM_LIB_CODEGEN_KERNELS_ROPEFREQUENCIES_H
#define LLMMEM_LIB_CODEGEN_KERNELS_ROPEFREQUENCIES_H

#include "llmmem/Dialect/LlmOps.h"

namespace llmmem {

/// theta^(-2i/d) for i < d/2, scaled as the op says (Llama 3.1).
llvm::SmallVector<double> ropeFrequencies(llm::RopeOp op);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_KERNELS_ROPEFREQUENCIES_H
