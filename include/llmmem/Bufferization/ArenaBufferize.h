//===- ArenaBufferize.h - A planned step over views of one arena -----------===//
//
// The plan is the bufferization: every value has an offset already, so no analysis decides where it
// goes. An op of MLIR's own dialects becomes its form on memrefs, by its BufferizableOpInterface,
// writing into a `memref.view` of the arena at the offset of its result.
//
// Example: `%1 = linalg.exp ins(%x) outs(%e) {llm.offsets = array<i64: 256>}` becomes
// `%v = memref.view %arena[%c256][] : memref<1024xi8> to memref<64xf32>` and
// `linalg.exp ins(%x) outs(%v)`.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_BUFFERIZATION_ARENABUFFERIZE_H
#define LLMMEM_BUFFERIZATION_ARENABUFFERIZE_H

#include "llmmem/Analysis/StepStorage.h"

namespace llmmem {

/// Gives `step`, a function with `llm.offsets` and `llm.arena`, memrefs for its tensors and the
/// arena as its last argument, of `llm.arena` bytes, which begins on a multiple of 256 bytes. The
/// ops keep their order. Results are views of the arena, or the arguments that they overwrite.
/// Nothing is allocated. Fails, after a diagnostic at the op, where an op has no destination to
/// write into or no form on memrefs; most of that is known before the first op is changed.
llvm::LogicalResult arenaBufferize(mlir::func::FuncOp step, const StepStorage &storage);

/// Gives ops on tensors that have no destination one: elementwise arith and math become
/// `linalg.generic`, `tensor.pad`, `concat`, `generate`, `from_elements` and `splat` writes into
/// `tensor.empty`. They compute the same bits.
void giveDestinations(mlir::func::FuncOp step);

} // namespace llmmem

#endif // LLMMEM_BUFFERIZATION_ARENABUFFERIZE_H
