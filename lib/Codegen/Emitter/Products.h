//===- Products.h - Matrix products of kernels ------------------------------===//
//
//   C = scale * sum over t < terms of op(A_t) op(B_t) + initial
//
// In generated code every element of C is one chain of fused multiply-adds in f32 (f64 for f64),
// over `inner` from 0 up and then over the terms, beginning with 0, and is rounded once where it is
// stored. Neither the sizes of blocks nor threads nor the machine take part in that, so they change
// no bit. Where C has no bytes (`Buffer::access`), what follows in the same kernel gets each
// element so rounded, once it is made.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_PRODUCTS_H
#define LLMMEM_LIB_CODEGEN_EMITTER_PRODUCTS_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include <optional>

namespace llmmem {

/// A matrix inside a buffer, from element `begin` on: row-major, rows `pitch` elements apart.
struct Matrix {
  Buffer buffer;
  int64_t pitch = 0;
  bool transposed = false;
  std::optional<Index> begin = std::nullopt;
  /// Elements to the matrix of the next product of a batch; 0 where all share it.
  int64_t stride = 0;
};

/// What the softmax of C's rows needs of each tile of columns: element (row, tile) of two buffers
/// is the tile's largest element, as it is stored, and the sum of exp(element - largest).
struct TileSoftmax {
  Buffer maxima, powers;
  Index begin;
  int64_t tiles; // of a row
};

/// A_t and B_t lie t * `stepA` and t * `stepB` elements behind A and B. `initial` may be left out,
/// may be C itself, and repeats one row (a bias) where its pitch is 0.
struct Product {
  Matrix a, b, initial = {}, c;
  int64_t rows, columns, inner;
  double scale = 1.0;
  int64_t terms = 1, stepA = 0, stepB = 0;
  /// Products that a library computes in one call.
  int64_t batch = 1;
  /// Written beside C where `makesTileSoftmax`; nothing may be added to such a product.
  std::optional<TileSoftmax> softmax = std::nullopt;
};

/// Whether a library computes products of `element`. What multiplies decides last bits, so the
/// answer is one for a whole step, with and without an epilogue.
bool isMultipliedByLibrary(const KernelOptions &options, mlir::Type element);

/// Writes the product into the kernel of `op`: a call of the library where `isMultipliedByLibrary`
/// and C has bytes, else generated code.
void emitProduct(mlir::Operation *op, KernelEmitter &e, const Product &product);

/// The products make(0), ..., make(count - 1), of equal sizes and strides, as turns of a parallel
/// loop. In bf16 a CPU's are generated code.
void emitProducts(mlir::Operation *op, KernelEmitter &e, int64_t count,
                  llvm::function_ref<Product(Index number)> make);

/// As one launch of a GPU; `first` is one of them.
void emitDeviceProducts(KernelEmitter &e, int64_t count, const Product &first,
                        llvm::function_ref<Product(Index number)> make);

/// Whether the product is made tile by tile in generated code whose threads see whole rows of a
/// tile.
bool makesTileSoftmax(KernelEmitter &e, const Product &product);

/// Whether the options ask for cuBLASLt and it can compute the product.
bool isLibraryProduct(KernelEmitter &e, const Product &product);

/// Writes the product (a batch of them) into a host function, for cuBLASLt.
void emitLibraryProduct(KernelEmitter &e, const Product &product);

/// As generated code: calls of functions of the module that all products of one type share.
void emitGeneratedProduct(mlir::Operation *op, KernelEmitter &e, const Product &product);

/// The address of a matrix's first element; null for one that is not there.
mlir::Value addressOf(mlir::Operation *op, KernelEmitter &e, const Matrix &matrix);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_EMITTER_PRODUCTS_H
