//===- LibraryCalls.h - Calls of cuBLASLt, but for addresses ----*- C++ -*-===//

#ifndef LLMMEM_CONVERSION_LIBRARYCALLS_H
#define LLMMEM_CONVERSION_LIBRARYCALLS_H

#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Runtime/CudaProducts.h"

namespace llmmem {

/// Returns everything in a call except its addresses and its number, which are 0.
llmmem_product constantsOf(llm::LibraryProductOp op);

} // namespace llmmem

#endif // LLMMEM_CONVERSION_LIBRARYCALLS_H
