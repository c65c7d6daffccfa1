//===- Bytes.h - How many bytes a type and a value have ---------------------===//
//
// This is the one place that makes bytes of types. A plan counts what is stored: two elements of
// four bits share a byte, and any other element takes whole bytes. (`verify-plan` counts by itself:
// lib/Analysis/PlanBytes.h.)
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_INTERFACES_BYTES_H
#define LLMMEM_INTERFACES_BYTES_H

#include "llmmem/Alignment.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace llmmem {

/// Returns the bytes of one element of a tensor, whole ones: 1 of an i1. Returns none for a type
/// that is no number.
std::optional<int64_t> bytesOfElementType(mlir::Type type);

/// Returns the bytes of one number in memory, as generated code stores it: those of an element,
/// times the elements of a vector; 0 for a type that is no number.
int64_t bytesOfNumber(mlir::Type type);

/// Returns the bytes of a statically shaped buffer of generated code, whose elements take whole
/// bytes.
int64_t bytesOfBuffer(mlir::MemRefType type);

/// Returns the bytes of a statically shaped tensor (elements rounded up to whole bytes); 0 for any
/// other type, -1 for 2^63 bytes or more. Example: tensor<8x1024x768xbf16> has 12,582,912.
int64_t bytesOfType(mlir::Type type);

/// Returns the bytes of a buffer of its own for a value of this type: whole multiples of the
/// alignment.
int64_t allocatedBytes(mlir::Type type);

/// Returns the bytes that a result of a resident op (`isResidentOp`) holds throughout: 0 for an
/// empty one.
int64_t residentBytes(mlir::Value constant);

/// Returns the bytes of a statically shaped tensor, or 0 for a scalar. Emits a diagnostic at
/// `value` on any other type, or on overflow.
llvm::FailureOr<int64_t> getCheckedBytes(mlir::Value value);

/// Says how much is checked: that the bytes of each type can be counted, or the bits of each, and
/// the bytes of all values together, each rounded up to the alignment.
enum class SizeLimit { BytesOfEach, BitsAndSum };

/// Emits an error at the first value in `root`, or in its regions, whose size 2^63 - 1 cannot
/// count, or at `root` where all are too many together. After this check the elements and bytes of
/// a type, and sums of them over values, are what they seem. Products of two sizes are not:
/// llmmem/Support/Count.h counts those. Every pass and tool that computes with sizes of a program
/// from outside calls this first; where the extraction of a problem checks the sum, `BytesOfEach`
/// suffices. Types without a static shape pass: a caller that needs their bytes refuses them.
llvm::LogicalResult checkSizes(mlir::Operation *root, SizeLimit limit = SizeLimit::BitsAndSum);

} // namespace llmmem

#endif // LLMMEM_INTERFACES_BYTES_H
