//===- RegisterWgmma.h - wgmma whose A is in registers ---------------------===//
//
// wgmma.mma_async.m64nNk16 takes its A, 64 x 16 elements of 16 bits, from shared memory or from the
// registers of its four warps, in the fragments of mma.sync (PTX ISA, "Register Fragments and
// Shared Memory Matrix Layouts"). NVVM's op knows only the first variant. Kernels write the second
// as a call of an intrinsic that LLVM does not have, so that passes over kernels find its operands.
// It becomes inline assembly when kernels are lowered:
//
//   %next = llvm.call_intrinsic "llvm.llmmem.wgmma.bf16.turned"(%sums, %a0, %a1, %a2, %a3, %b)
//     : (!llvm.struct<(f32, ... )>, i32, i32, i32, i32, i64) -> !llvm.struct<(f32, ...)>
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_GPU_REGISTERWGMMA_H
#define LLMMEM_CODEGEN_GPU_REGISTERWGMMA_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <optional>

namespace llmmem {

class RegisterWgmma {
public:
  /// Computes sums + A B. `sums` is a struct of N / 2 f32, `a` has four words of two elements, and
  /// `b` is a descriptor. With `isTurned`, lines of B in shared memory are inner places.
  static mlir::Value create(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value sums,
                            mlir::ValueRange a, mlir::Value b, bool isTurned, bool isF16);
  /// Returns nothing for other ops.
  static std::optional<RegisterWgmma> match(mlir::Operation *op);

  mlir::Value result() const { return call.getResult(0); }
  mlir::Value sums() const { return call.getArgs().front(); }
  mlir::OperandRange a() const { return call.getArgs().slice(1, 4); }
  mlir::Value b() const { return call.getArgs().back(); }
  bool isTurned() const;
  bool isF16() const;
  /// Returns N.
  int64_t columns() const;
  /// Replaces the op by inline assembly.
  void lower(mlir::OpBuilder &builder) const;

private:
  explicit RegisterWgmma(mlir::LLVM::CallIntrinsicOp call) : call(call) {}
  std::string assembly() const;

  mutable mlir::LLVM::CallIntrinsicOp call;
};

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_REGISTERWGMMA_H
