//===- GemmWriter.h - Builders for the functions of matmuls ---------------===//
//
// A matmul is computed in blocks of C (Goto & van de Geijn 2008, "Anatomy of High-Performance
// Matrix Multiplication"). A block's parts of A and B are copied into panels on the stack and
// converted to the accumulators' type, so that the innermost tile reads them in order:
//
//   sums      rows x columns                    the block of C, not rounded
//   panel A   rows x depth, or transposed       as A lies in memory; no tile reads it in vectors
//   panel B   columns / tile x depth x tile     strips as wide as a tile
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_CPU_GEMMWRITER_H
#define LLMMEM_LIB_CODEGEN_CPU_GEMMWRITER_H

#include "Emitter/FewerBits.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace llmmem::gemm {

/// Gives the sizes for one accumulator type. A tile's 24 vectors of accumulators, 3 of B and one of
/// A occupy 28 of the 32 registers of AVX-512; a strip of B (36 KiB) fits in its first cache, all
/// panels (396 KiB) in its second, and on the stack of a thread.
struct Sizes {
  explicit Sizes(mlir::FloatType accumulatorType)
      : lanes(accumulatorType.isF64() ? 8 : 16), depth(12 * lanes) {}

  int64_t lanes, depth;
  static constexpr int64_t kTileRows = 8, kTileVectors = 3, kRows = 128;
  int64_t tileColumns() const { return kTileVectors * lanes; }
  int64_t columns() const { return 5 * tileColumns(); }
  int64_t strip() const { return depth * tileColumns(); }
};

/// Represents the address of elements of one type.
struct Pointer {
  mlir::OpBuilder *builder;
  mlir::Value address;
  mlir::Type element;
};
Pointer operator+(Pointer base, Index elements);

/// Emits one function of the module.
class Writer {
public:
  Writer(mlir::func::FuncOp function, mlir::FloatType accumulatorType, mlir::Type element,
         PackedFormat held)
      : function(function), builder(mlir::OpBuilder::atBlockEnd(&function.front())),
        accumulatorType(accumulatorType), element(element), held(held), sizes(accumulatorType) {}

  mlir::Location loc() { return function.getLoc(); }
  Pointer pointer(unsigned argument, mlir::Type type) {
    return {&builder, function.getArgument(argument), type};
  }
  Index index(unsigned argument) { return {&builder, function.getArgument(argument)}; }
  Index constant(int64_t value);
  /// Allocates memory on the stack of the function.
  Pointer panel(int64_t size);

  /// Loads one number, or `lanes` of them; `aligned` says that the address is a multiple of a whole
  /// vector.
  Num load(Pointer from, int64_t lanes, bool aligned = false);
  void store(Pointer to, Num x, bool aligned = false);
  /// Loads the first `count` lanes; the others are 0 and their memory is not accessed.
  Num loadFirst(Pointer from, Index count);
  void storeFirst(Pointer to, Index count, Num x);
  /// Prefetches the cache line that holds an address, which need not be in any buffer.
  void prefetch(Pointer from);
  /// Returns the number in every lane.
  Num spread(Num x);
  Num zeros();

  void forEach(Index lower, Index upper, int64_t step, llvm::function_ref<void(Index)> body);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> then);
  void call(mlir::func::FuncOp callee, llvm::ArrayRef<mlir::Value> arguments);

  mlir::func::FuncOp function;
  mlir::OpBuilder builder;
  mlir::FloatType accumulatorType;
  mlir::Type element;
  PackedFormat held; // The format of B, where it has fewer bits.
  Sizes sizes;
};

/// Turns rows into columns: interleaving pairs of vectors transposes squares inside of 128 bits,
/// then pairs exchange every other group of these, of twice as many, ...
void transpose(Writer &w, llvm::SmallVectorImpl<Num> &square);
/// Transposes only the squares inside of 128 bits, of each `side` vectors.
void transposeInside(Writer &w, llvm::SmallVectorImpl<Num> &square, int64_t side);

/// Holds the functions of one element type, emitted into the module when first requested. Where B
/// is `held` in fewer bits, those that read it take more arguments (FactorB.h).
class Functions {
public:
  Functions(mlir::ModuleOp module, mlir::Location loc, mlir::Type element, PackedFormat held = {});

  /// (a, b, sums, depth): adds A B to a tile of sums that is `vectors` vectors wide. A lies
  /// transposed in its panel or not.
  mlir::func::FuncOp tile(bool transposedA, unsigned vectors);
  /// (panel, a, pitch, rows, depth): fills a panel with A.
  mlir::func::FuncOp packA(bool transposed);
  /// (panel, b, pitch, columns, depth): fills a panel with B.
  mlir::func::FuncOp packB(bool transposed);
  /// (a, pitch, b, pitch, initial, pitch, c, pitch, rows, columns, inner, depth, terms, stepA,
  /// stepB, scale): computes one block of C; `depth` is how much of `inner` goes into the panels at
  /// a time.
  mlir::func::FuncOp block(bool transposedA, bool transposedB, bool initial);
  /// (a, pitch, b, pitch, initial, pitch, c, pitch, columns, inner, scale): computes `rows` rows of
  /// some columns of C, reading B in place (NarrowMatmul.h).
  mlir::func::FuncOp narrow(int64_t rows, bool transposedB, bool initial);
  /// (a, b, pitch, initial, c, columns): computes one row of at most `strip` columns of C, by a
  /// packed B whose factors are rounded in groups of `group` (RoundedMatmul.h).
  mlir::func::FuncOp rounded(int64_t inner, int64_t strip, int64_t group, bool transposedB,
                             bool initial, bool evenGroups);

  const Sizes sizes;

private:
  mlir::func::FuncOp define(llvm::StringRef name, mlir::TypeRange arguments,
                            llvm::function_ref<void(Writer &)> body);
  /// Does the same for a function that reads B.
  mlir::func::FuncOp defineWithB(llvm::StringRef name, mlir::TypeRange arguments,
                                 llvm::function_ref<void(Writer &)> body);

  mlir::ModuleOp module;
  mlir::Location loc;
  mlir::FloatType accumulatorType;
  mlir::Type element, pointer, index;
  PackedFormat held;
};

} // namespace llmmem::gemm

#endif // LLMMEM_LIB_CODEGEN_CPU_GEMMWRITER_H
