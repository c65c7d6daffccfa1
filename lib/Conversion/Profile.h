//===- Profile.h - Times around the calls of kernels -----------------------===//

#ifndef LLMMEM_LIB_CONVERSION_PROFILE_H
#define LLMMEM_LIB_CONVERSION_PROFILE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// What a call of a planned op's kernel is to a profile: kind, name, phase, block, FLOPs, bytes.
mlir::DictionaryAttr describeCall(mlir::Operation &op);
/// Of several ops in one launch: FLOPs and bytes of all, the first one's name. It has no key, as
/// its time is the price of none of them.
mlir::DictionaryAttr describeCall(llvm::ArrayRef<mlir::Operation *> run);

/// Writes the time at which the builder stands into `times[index]`.
void emitTime(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value times, int64_t index);

/// Marks the place where the builder stands for events of a GPU: the runtime is given the run.
void emitMark(mlir::OpBuilder &builder, mlir::Location loc, int64_t number);

/// What a device's mark calls before its launches become calls of the runtime.
inline constexpr llvm::StringLiteral kMarkFunction = "llmmem_cuda_mark";

} // namespace llmmem

#endif // LLMMEM_LIB_CONVERSION_PROFILE_H
