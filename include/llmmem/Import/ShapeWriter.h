//===- ShapeWriter.h - Parts, heads, rows and patches --------------------===//
//
// What a model does to shapes alone.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_IMPORT_SHAPEWRITER_H
#define LLMMEM_IMPORT_SHAPEWRITER_H

#include "llmmem/Import/OpWriter.h"

namespace llmmem::importer {

class ShapeWriter : public OpWriter {
public:
  llvm::SmallVector<mlir::Value> splitEvenly(llvm::StringRef name, mlir::Value x, int64_t parts);
  llvm::SmallVector<mlir::Value> split(llvm::StringRef name, mlir::Value x,
                                       llvm::ArrayRef<int64_t> widths);
  /// Views of [..., width] as [..., heads, width / heads], and back.
  mlir::Value separateHeads(llvm::StringRef name, mlir::Value x, int64_t heads);
  mlir::Value joinHeads(llvm::StringRef name, mlir::Value x);
  /// One row for each of `heads`, as [..., heads, width].
  mlir::Value repeatHeads(llvm::StringRef name, mlir::Value x, int64_t heads);
  /// Zeros behind the last dimension, up to `width`.
  mlir::Value padWidth(llvm::StringRef name, mlir::Value x, int64_t width);
  /// Side by side along the last dimension.
  mlir::Value concat(llvm::StringRef name, llvm::ArrayRef<mlir::Value> parts);

  /// Cuts [batch, channels, height, width] into squares: [batch, patches, channels * size * size],
  /// a patch's elements in the order of a convolution's weight.
  mlir::Value patches(llvm::StringRef name, mlir::Value pixels, int64_t size);
  /// From now on the parameter is read as [first dimension, all others]: a convolution of patches
  /// that do not overlap is a projection.
  void viewAsMatrix(llvm::StringRef name);
  /// Rows of zeros before and behind those of [batch, rows, width].
  mlir::Value padRows(llvm::StringRef name, mlir::Value x, int64_t before, int64_t after);
  /// The first row of each of [batch, rows, width], as [batch, width].
  mlir::Value firstRow(llvm::StringRef name, mlir::Value x);
  /// Adds [1, rows, width] to each of [batch, rows, width].
  mlir::Value addTable(llvm::StringRef name, mlir::Value x, mlir::Value table);

protected:
  using OpWriter::OpWriter;

  mlir::Value view(llvm::StringRef name, mlir::Value x, llvm::ArrayRef<int64_t> shape);
};

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_SHAPEWRITER_H
