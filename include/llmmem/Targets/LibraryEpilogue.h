//===- LibraryEpilogue.h - What a library computes with a matmul -----------===//
//
// A GPU's matmul library (cuBLASLt) computes some ops as epilogues, in the same call. They are the
// same functions as ours: gelu is the tanh approximation in both. An epilogue reads the matmul's
// result before it is rounded, where a separate op reads the rounded one, so the last bits differ.
//
//   linear with a bias, gelu                   gelu_bias
//   the same, the matmul is also a result      gelu_aux_bias, aux is the matmul (bias included)
//   linear without a bias that is dy of        gelu_grad, aux is its x
//   a gelu_grad
//   linear, add to something else              none or bias, initial is that
//   linear_weight_grad, sum_rows of its dy     sum_b (in_out) or sum_a (out_in)
//
// The library overwrites the sum, so a launch adds an accumulator. All values have one type, bf16
// or f32. Rows of aux are a multiple of 8 elements.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TARGETS_LIBRARYEPILOGUE_H
#define LLMMEM_TARGETS_LIBRARYEPILOGUE_H

#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"

namespace llmmem::llm {

struct LibraryEpilogue {
  ProductEpilogue kind;
  LinearOp matmul;
  /// These are operands or results of the two ops: what the call writes, what else it writes or
  /// reads, and what it adds to the matmul. The last two may be null.
  mlir::Value c, aux, initial;
};

/// Returns how a library computes `matmul` and `reader` in one call, which also returns the matmul
/// if `keepsMatmul`; none where there is no such call.
std::optional<LibraryEpilogue> libraryEpilogueOf(mlir::Operation *matmul, mlir::Operation *reader,
                                                 bool keepsMatmul);

/// Does the same for a kernel that consists of two such ops.
std::optional<LibraryEpilogue> libraryEpilogueOf(KernelOp kernel);

/// Describes the gradients of a linear's weight and bias in one call.
struct LibrarySum {
  ProductEpilogue kind;
  LinearWeightGradOp matmul;
  SumRowsOp sum;
};

/// Returns how a library computes both in one call; none where they are no such gradients of one
/// `dy`, or have no type that a library supports.
std::optional<LibrarySum> librarySumOf(mlir::Operation *matmul, mlir::Operation *sum);

/// Does the same for a kernel that consists of two such ops.
std::optional<LibrarySum> librarySumOf(KernelOp kernel);

} // namespace llmmem::llm

#endif // LLMMEM_TARGETS_LIBRARYEPILOGUE_H
