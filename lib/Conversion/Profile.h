//===- Profile.h - Times around the calls of kernels -----------------------===//

#ifndef LLMMEM_LIB_CONVERSION_PROFILE_H
#define LLMMEM_LIB_CONVERSION_PROFILE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// What a call of a planned op's kernel is to a profile: kind, name, phase, block, FLOPs, bytes.
mlir::DictionaryAttr describeCall(mlir::Operation &op);

/// Writes the time at which the builder stands into `times[index]`.
void emitTime(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value times, int64_t index);

} // namespace llmmem

#endif // LLMMEM_LIB_CONVERSION_PROFILE_H
