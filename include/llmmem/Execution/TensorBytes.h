//===- TensorBytes.h - Elements of tensors on the host ---------------------===//

#ifndef LLMMEM_EXECUTION_TENSORBYTES_H
#define LLMMEM_EXECUTION_TENSORBYTES_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringRef.h"

namespace llmmem {

/// A float of 64, 32 or 16 bits, as files and tensors have them.
enum class FloatKind {
#define LLMMEM_ELEMENT_TYPE(KIND, ...) KIND,
#include "llmmem/Dialect/ElementTypes.def"
};

std::optional<FloatKind> floatKindOf(mlir::Type element);
/// Parses the name that safetensors files use: F64, F32, BF16, F16.
std::optional<FloatKind> floatKindOf(llvm::StringRef dtype);
llvm::StringRef dtypeOf(FloatKind kind);
int64_t bytesOf(FloatKind kind);

double readFloat(FloatKind kind, const void *bytes, int64_t index);
/// Rounds to nearest even.
void writeFloat(FloatKind kind, void *bytes, int64_t index, double value);

/// Converts `count` floats of one kind to another, rounded to nearest even.
void convertFloats(FloatKind fromKind, const void *from, FloatKind toKind, void *to, int64_t count);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_TENSORBYTES_H
