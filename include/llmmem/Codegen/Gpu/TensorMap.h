//===- TensorMap.h - Matrices that the tensor memory accelerator copies -----===//
//
// cp.async.bulk.tensor.2d copies a box of a matrix to shared memory. A tensor map of 128 bytes says
// where the matrix lies, and how large it and a box are. It is an argument of the kernel that the
// driver encodes (cuTensorMapEncodeTiled) before the launch. Kernels say what it describes by a
// call of an intrinsic that LLVM does not have:
//
//   %map = llvm.call_intrinsic "llvm.llmmem.tensor.map.bf16"(%matrix, %first) {map = array<i64: 0,
//   768, 2304, 2304, 192>}
//     : (i64, i64) -> !llvm.ptr
//
// This map has 768 rows of 2304 elements, 2304 apart, from element 0 + %first after the beginning
// of the buffer at address %matrix, and boxes of 192 rows. Boxes are 64 elements wide, 128 bytes,
// and have the 128-byte swizzle in shared memory (WarpgroupTile.h). Elements of a box that lie
// outside of the matrix are 0. The lowering of kernels appends an argument for each map in order,
// and that of launches describes the maps (LaunchList.h, Runtime/TensorMaps.h).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_GPU_TENSORMAP_H
#define LLMMEM_CODEGEN_GPU_TENSORMAP_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <optional>

namespace llmmem {

class TensorMap {
public:
  /// Counts elements, except for the rows.
  struct Shape {
    int64_t begin, rows, columns, pitch, boxRows;
  };

  /// Describes the matrix in a buffer of bf16 or f16, `first` (may be null) elements after where
  /// `shape` says.
  static mlir::Value create(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffer,
                            mlir::Value first, Shape shape);
  /// Returns nothing for other ops, and for null.
  static std::optional<TensorMap> match(mlir::Operation *op);

  mlir::Value result() const { return call.getResult(0); }
  Shape shape() const;
  bool isF16() const;
  /// Return the buffer, null where the address belongs to none; and the number of elements before
  /// the matrix, null for none.
  mlir::Value buffer() const;
  mlir::Value first() const;
  mlir::LLVM::CallIntrinsicOp op() const { return call; }

private:
  explicit TensorMap(mlir::LLVM::CallIntrinsicOp call) : call(call) {}

  mutable mlir::LLVM::CallIntrinsicOp call;
};

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_TENSORMAP_H
