//===- CollectiveCall.h - Calls of the runtime that ranks make together ----===//

#ifndef LLMMEM_LIB_CODEGEN_KERNELS_COLLECTIVECALL_H
#define LLMMEM_LIB_CODEGEN_KERNELS_COLLECTIVECALL_H

#include "Emitter/Matmuls.h"
#include "Emitter/Ranks.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

namespace llmmem {

/// Builds the call of one collective (include/llmmem/Runtime/Collectives.h): buffers, then the
/// numbers that all have, then those of its own.
///
///   CollectiveCall(op, e, axes).pass(part).pass(whole).passGroup(count, type)
///       .emit("llmmem_all_gather");
class CollectiveCall {
public:
  CollectiveCall(mlir::Operation *op, KernelEmitter &e, mlir::ArrayAttr axes)
      : op(op), e(e), axisBits(llm::meshOf(op).getAxisBits(axes)) {}

  /// Passes null where the buffer is null.
  CollectiveCall &pass(Buffer buffer) {
    arguments.push_back(addressOf(op, e, Matrix{.buffer = buffer}));
    return *this;
  }
  CollectiveCall &pass(int64_t number) {
    mlir::OpBuilder &builder = e.builder();
    arguments.push_back(
        mlir::arith::ConstantOp::create(builder, op->getLoc(), builder.getI64IntegerAttr(number)));
    return *this;
  }
  /// Passes the number of elements, their type, and the group.
  CollectiveCall &passGroup(int64_t count, mlir::Type element) {
    return pass(count).pass(elementCode(element)).passAxes();
  }
  CollectiveCall &passAxes() { return pass(axisBits); }

  void emit(llvm::StringRef function) { callRuntime(e, function, arguments); }

private:
  /// Returns the runtime's code for elements of a type.
  static int64_t elementCode(mlir::Type element) {
    return llvm::TypeSwitch<mlir::Type, int64_t>(element)
        .Case<mlir::Float32Type>([](auto) { return 0; })
        .Case<mlir::Float64Type>([](auto) { return 1; })
        .Case<mlir::BFloat16Type>([](auto) { return 2; })
        .Case<mlir::Float16Type>([](auto) { return 4; })
        .Default([](mlir::Type other) { return other.isInteger(32) ? 3 : 5; }); // 5 is a byte.
  }

  mlir::Operation *op;
  KernelEmitter &e;
  int64_t axisBits;
  llvm::SmallVector<mlir::Value> arguments;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_KERNELS_COLLECTIVECALL_H
