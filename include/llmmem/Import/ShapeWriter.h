//===- ShapeWriter.h - Parts, heads, rows and patches --------------------===//
//
// Writes what a model does to shapes alone.
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
  /// Convert between [..., width] and [..., heads, width / heads] by views.
  mlir::Value separateHeads(llvm::StringRef name, mlir::Value x, int64_t heads);
  mlir::Value joinHeads(llvm::StringRef name, mlir::Value x);
  /// Repeats one row for each of `heads`, as [..., heads, width].
  mlir::Value repeatHeads(llvm::StringRef name, mlir::Value x, int64_t heads);
  /// Pads the last dimension with zeros up to `width`.
  mlir::Value padWidth(llvm::StringRef name, mlir::Value x, int64_t width);
  /// Concatenates along the last dimension.
  mlir::Value concat(llvm::StringRef name, llvm::ArrayRef<mlir::Value> parts);

  /// Cuts [batch, channels, height, width] into squares: [batch, patches, channels * size * size].
  /// The elements of a patch have the order of a convolution's weight.
  mlir::Value patches(llvm::StringRef name, mlir::Value pixels, int64_t size);
  /// Makes later reads of the parameter see [first dimension, all others]. A convolution of patches
  /// that do not overlap is then a projection.
  void viewAsMatrix(llvm::StringRef name);
  /// Adds rows of zeros before and after those of [batch, rows, width].
  mlir::Value padRows(llvm::StringRef name, mlir::Value x, int64_t before, int64_t after);
  /// Cuts sequences, [batch, rows, width], into sequences of `chunk` rows each, the last one padded
  /// with zeros: [batch * chunks, chunk, width].
  mlir::Value cutRows(llvm::StringRef name, mlir::Value x, int64_t chunk);
  /// Joins such chunks to sequences of `rows` rows, without the padding.
  mlir::Value joinRows(llvm::StringRef name, mlir::Value x, int64_t batch, int64_t rows);
  /// Returns the first row of each sequence of [batch, rows, width], as [batch, width].
  mlir::Value firstRow(llvm::StringRef name, mlir::Value x);
  /// Adds [1, rows, width] to each of [batch, rows, width].
  mlir::Value addTable(llvm::StringRef name, mlir::Value x, mlir::Value table);

protected:
  using OpWriter::OpWriter;

  mlir::Value view(llvm::StringRef name, mlir::Value x, llvm::ArrayRef<int64_t> shape);
};

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_SHAPEWRITER_H
