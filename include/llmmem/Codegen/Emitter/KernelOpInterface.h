//===- KernelOpInterface.h - How an op becomes a kernel -------------------===//

#ifndef LLMMEM_CODEGEN_EMITTER_KERNELOPINTERFACE_H
#define LLMMEM_CODEGEN_EMITTER_KERNELOPINTERFACE_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include "mlir/IR/OpDefinition.h"

namespace llmmem {
/// Holds the buffers of one of several ops that share a launch.
struct OpBuffers {
  llvm::SmallVector<Buffer> operands, results;
};
} // namespace llmmem

#include "llmmem/Codegen/Emitter/KernelOpInterface.h.inc"

namespace llmmem {

/// Gives every op of the llm dialect its kernel.
void registerKernelModels(mlir::DialectRegistry &registry);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_EMITTER_KERNELOPINTERFACE_H
