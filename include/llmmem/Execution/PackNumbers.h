//===- PackNumbers.h - Rounding weights to fewer bits -----------*- C++ -*-===//
//
// A group of weights becomes stored numbers, a scale and optionally a zero point, all computed in
// f64:
//
//   i8, f8   scale = max |w| / largest, rounded to the scales' type
//            number = w / scale, rounded to nearest even, at most the largest
//   i4       scale = (max(w, 0) - min(w, 0)) / 15, rounded to the scales' type
//            zero = -min(w, 0) / scale, number = w / scale + zero, each quotient rounded to nearest
//            even, each sum kept within 0 to 15
//
// A group of zeros has the scale 0. Equal weights give equal bytes, on any machine and any thread.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_PACKNUMBERS_H
#define LLMMEM_EXECUTION_PACKNUMBERS_H

#include "llmmem/Execution/TensorBytes.h"

namespace llmmem {

/// Says where the numbers of a tensor in fewer bits are stored
/// (include/llmmem/Dialect/FewerBits.h).
struct PackedBytes {
  mlir::Type element;
  int64_t group = 0;
  uint8_t *numbers = nullptr;
  FloatKind scaleKind = FloatKind::F32;
  void *scales = nullptr;
  uint8_t *zeros = nullptr; // The zero points of i4.

  /// Return the stored number, and the element that it and its scale represent.
  double numberAt(int64_t index) const;
  double elementAt(int64_t index) const;
};

/// Stores group `number`. One thread must store all groups of i4 whose zero points share a byte.
/// Returns false where a weight is not finite, because no scale can represent it.
bool packGroup(const PackedBytes &to, int64_t number, llvm::ArrayRef<double> weights);

/// Returns the f8 number (f8E4M3FN or f8E5M2) nearest to `value`, with ties to even, clamped to the
/// largest.
uint8_t roundToSmallFloat(mlir::Type element, double value);

/// Returns the name that safetensors files use: I8, F8_E4M3, F8_E5M2; for i4 U8, two numbers a
/// byte.
llvm::StringRef packedDtypeOf(mlir::Type element);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_PACKNUMBERS_H
