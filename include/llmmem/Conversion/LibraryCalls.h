//===- LibraryCalls.h - Calls of cuBLASLt, but for addresses ----*- C++ -*-===//

#ifndef LLMMEM_CONVERSION_LIBRARYCALLS_H
#define LLMMEM_CONVERSION_LIBRARYCALLS_H

#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Runtime/CudaProducts.h"

namespace llmmem {

/// All of a call that its addresses and its number do not say; those are 0.
llmmem_product constantsOf(llm::LibraryProductOp op);

} // namespace llmmem

#endif // LLMMEM_CONVERSION_LIBRARYCALLS_H
