//===- LibraryEpilogue.h - What a library computes beside a matmul ---------===//
//
// A GPU's matmul library (cuBLASLt) computes some ops as epilogues, in the same call. These are the
// same functions as ours: gelu is the tanh form in both. They read the matmul's result before it is
// rounded, where separate ops read the rounded one, so last bits differ.
//
//   linear with a bias, gelu                   gelu_bias
//   the same, the matmul is handed out too     gelu_aux_bias, aux is the matmul (bias included)
//   linear without a bias that is dy of        gelu_grad, aux is its x
//   a gelu_grad
//   linear, add to something else              none or bias, initial is that
//   linear_weight_grad, sum_rows of its dy     sum_b (in_out) or sum_a (out_in)
//
// The library overwrites the sum, so an accumulator is added by a launch. All of it is of one type,
// bf16 or f32. Rows of aux are a multiple of 8 elements.
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
  /// Operands or results of the two ops: what the call writes, what it writes or reads beside, and
  /// what it adds to the matmul. The last two may be null.
  mlir::Value c, aux, initial;
};

/// As what a library computes `matmul` and `reader` in one call, which hands the matmul
/// out too if `keepsMatmul`. None where there is no such call.
std::optional<LibraryEpilogue> libraryEpilogueOf(mlir::Operation *matmul, mlir::Operation *reader,
                                                 bool keepsMatmul);

/// Of a kernel that is made of two such ops.
std::optional<LibraryEpilogue> libraryEpilogueOf(KernelOp kernel);

/// The gradients of a linear's weight and bias, in one call.
struct LibrarySum {
  ProductEpilogue kind;
  LinearWeightGradOp matmul;
  SumRowsOp sum;
};

/// As what a library computes both in one call. None where they are no such gradients of one `dy`,
/// or of no type that a library has.
std::optional<LibrarySum> librarySumOf(mlir::Operation *matmul, mlir::Operation *sum);

/// Of a kernel that is made of two such ops.
std::optional<LibrarySum> librarySumOf(KernelOp kernel);

} // namespace llmmem::llm

#endif // LLMMEM_TARGETS_LIBRARYEPILOGUE_H
