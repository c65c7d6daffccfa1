//===- KernelOpInterface.h - How an op becomes a kernel --------------------===//

#ifndef LLMMEM_CONVERSION_KERNELOPINTERFACE_H
#define LLMMEM_CONVERSION_KERNELOPINTERFACE_H

#include "llmmem/Conversion/KernelEmitter.h"
#include "mlir/IR/OpDefinition.h"

#include "llmmem/Conversion/KernelOpInterface.h.inc"

namespace llmmem {

/// Gives every op of the llm dialect its kernel.
void registerKernelModels(mlir::DialectRegistry &registry);

} // namespace llmmem

#endif // LLMMEM_CONVERSION_KERNELOPINTERFACE_H
