//===- Profile.h - Times around the calls of kernels -----------------------===//

#ifndef LLMMEM_LIB_CONVERSION_PROFILE_H
#define LLMMEM_LIB_CONVERSION_PROFILE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Returns what a profile records of a call of a planned op's kernel: kind, name, phase, block,
/// FLOPs, bytes.
mlir::DictionaryAttr describeCall(mlir::Operation &op);
/// Returns the same for several ops in one launch: FLOPs and bytes of all, and the first one's
/// name. There is no key, because the time is not that of a single op.
mlir::DictionaryAttr describeCall(llvm::ArrayRef<mlir::Operation *> run);

/// Emits code that writes the current time into `times[index]`.
void emitTime(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value times, int64_t index);

/// Emits a mark for an event of a GPU. The lowering to the runtime adds the run as an argument.
void emitMark(mlir::OpBuilder &builder, mlir::Location loc, int64_t number);

/// Names the function that a mark calls until launches become calls of the runtime.
inline constexpr llvm::StringLiteral kMarkFunction = "llmmem_cuda_mark";

} // namespace llmmem

#endif // LLMMEM_LIB_CONVERSION_PROFILE_H
