//===- FewerBits.h - Numbers held in fewer bits than computed in -*- C++ -*-===//
//
// A tensor of one of the types below is an operand of products. Each group of neighbours in a row
// has a scale, and an element is the stored number times the scale. Scales are a tensor of their
// own, with a column for each group, and so are zero points, which i4 has
// (docs/Design/FewerBits.md).
//
//   type       stored numbers             element                bytes of 128 elements, bf16 scales
//   i4         0 to 15                    (number - zero) scale  64 + 2 + 1/2
//   i8         -127 to 127                number scale           128 + 2
//   f8E4M3FN   -448 to 448                number scale           128 + 2
//   f8E5M2     -57344 to 57344            number scale           128 + 2
//
// Example: a row [0.5, -1.0, 0.25, 0.0] of one group in i8 with f32 scales has the scale 1 / 127
// and the numbers [64, -127, 32, 0]: 63.5 and 31.75 are rounded to nearest, with ties to even.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_FEWERBITS_H
#define LLMMEM_DIALECT_FEWERBITS_H

#include "mlir/IR/Operation.h"

namespace llmmem::llm {

/// Returns whether the type is one of the four.
bool isPacked(mlir::Type element);

/// An argument's scales and zero points are the arguments after it: "x.weight", "x.weight.scales".
inline constexpr llvm::StringLiteral kScalesSuffix = ".scales", kZerosSuffix = ".zeros";
/// Returns whether the argument is one of these, and no tensor of the model.
bool hasHeldParameter(mlir::BlockArgument argument);

/// Returns the largest stored number.
double largestPacked(mlir::Type element);

/// Returns the elements of a group: the columns of `held` over those of `scales`.
int64_t groupSizeOf(mlir::Value held, mlir::Value scales);

/// Groups of weights and tables are a multiple of this, so that whole vectors share a scale.
inline constexpr int64_t kGroupStep = 32;

/// Groups of activations that are rounded to 8 bits are a multiple of the first, so that whole
/// vectors of i4 share a scale, and at most the second, so that sums of their products are exact in
/// 16 bits.
inline constexpr int64_t kActivationStep = 64, kMostActivations = 256;

/// Verifies `held`: it is a tensor of `computed` without scales; or it has fewer bits and scales of
/// `computed`, a column for each group of a multiple of `step` elements, and, for i4 alone, zero
/// points.
llvm::LogicalResult expectHeld(mlir::Operation *op, llvm::StringRef name, mlir::Value held,
                               mlir::Value scales, mlir::Value zeros, mlir::Type computed,
                               int64_t step);

} // namespace llmmem::llm

#endif // LLMMEM_DIALECT_FEWERBITS_H
