//===- ArenaBufferize.h - A planned step over views of one arena -----------===//
//
// The plan is the bufferization: every value has an offset already, so no analysis decides where it
// goes. An op of MLIR's own dialects becomes its variant on memrefs, by its
// BufferizableOpInterface, and writes into a `memref.view` of the arena at the offset of its
// result.
//
// Example: `%1 = linalg.exp ins(%x) outs(%e) {llm.offsets = array<i64: 256>}` becomes `%v =
// memref.view %arena[%c256][] : memref<1024xi8> to memref<64xf32>` and `linalg.exp ins(%x)
// outs(%v)`.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_BUFFERIZATION_ARENABUFFERIZE_H
#define LLMMEM_BUFFERIZATION_ARENABUFFERIZE_H

#include "llmmem/Layout/StepStorage.h"

namespace llmmem {

/// Replaces the tensors of `step`, a function with `llm.offsets` and `llm.arena`, by memrefs, and
/// appends the arena as its last argument, of `llm.arena` bytes, which begins on a multiple of 256
/// bytes. The ops keep their order. Results are views of the arena, or the arguments that they
/// overwrite. Nothing is allocated. Fails, after a diagnostic at the op, where an op has no
/// destination to write into or no variant on memrefs; most failures occur before the first op is
/// changed.
llvm::LogicalResult arenaBufferize(mlir::func::FuncOp step, const StepStorage &storage);

/// Gives a destination to ops on tensors that have none: elementwise arith and math become
/// `linalg.generic`, and `tensor.pad`, `concat`, `generate`, `from_elements` and `splat` write into
/// `tensor.empty`. They compute the same bits.
void giveDestinations(mlir::func::FuncOp step);

} // namespace llmmem

#endif // LLMMEM_BUFFERIZATION_ARENABUFFERIZE_H
