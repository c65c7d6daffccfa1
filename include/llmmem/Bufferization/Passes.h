//===- Passes.h - From planned steps on tensors to one arena ---------------===//

#ifndef LLMMEM_BUFFERIZATION_PASSES_H
#define LLMMEM_BUFFERIZATION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace llmmem {

#define GEN_PASS_DECL
#include "llmmem/Bufferization/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "llmmem/Bufferization/Passes.h.inc"

} // namespace llmmem

#endif // LLMMEM_BUFFERIZATION_PASSES_H
