//===- LibraryEpilogue.h - What a library computes beside a product --------===//
//
// A GPU's library of products (cuBLASLt) computes some ops at the end of a product, in the same
// call. These are the same functions as ours: gelu is the tanh form in both. They work on the
// product before it is rounded, where the ops apart work on the rounded one, so last bits differ.
//
//   linear with a bias, gelu                   gelu_bias
//   the same, the product is handed out too    gelu_aux_bias, aux is the product (bias included)
//   linear without a bias that is dy of        gelu_grad, aux is its x
//   a gelu_grad
//   linear, add to something else              none or bias, initial is that
//   linear_weight_grad, sum_rows of its dy     sum_b (in_out) or sum_a (out_in)
//
// The library writes the sum, so where it goes on from a sum so far it is added by a launch.
// All of it is of one type, bf16 or f32. Rows of aux are a multiple of 8 elements.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_LIBRARYEPILOGUE_H
#define LLMMEM_DIALECT_LIBRARYEPILOGUE_H

#include "llmmem/Dialect/LlmOps.h"

namespace llmmem::llm {

struct LibraryEpilogue {
  ProductEpilogue kind;
  LinearOp product;
  /// Operands or results of the two ops: what the call writes, what it writes or reads beside, and
  /// what it adds to the product. The last two may be null.
  mlir::Value c, aux, initial;
};

/// As what a library computes `product` and `reader` in one call, which hands the product out too
/// if `keepsProduct`. None where there is no such call.
std::optional<LibraryEpilogue> libraryEpilogueOf(mlir::Operation *product, mlir::Operation *reader,
                                                 bool keepsProduct);

/// Of a kernel that is made of two such ops.
std::optional<LibraryEpilogue> libraryEpilogueOf(KernelOp kernel);

/// The gradients of a linear's weight and bias, in one call.
struct LibrarySum {
  ProductEpilogue kind;
  LinearWeightGradOp product;
  SumRowsOp sum;
};

/// As what a library computes both in one call. None where they are no such gradients of one `dy`,
/// or of no type that a library has.
std::optional<LibrarySum> librarySumOf(mlir::Operation *product, mlir::Operation *sum);

/// Of a kernel that is made of two such ops.
std::optional<LibrarySum> librarySumOf(KernelOp kernel);

} // namespace llmmem::llm

namespace llmmem {

/// Whether the plan is made for a library that computes `op`: then `op` has what it may have as
/// workspace (`llm.library_workspace`).
bool isForLibrary(mlir::Operation *op);

} // namespace llmmem

#endif // LLMMEM_DIALECT_LIBRARYEPILOGUE_H
