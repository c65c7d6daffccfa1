//===- PackNumbers.h - Rounding weights to fewer bits -----------*- C++ -*-===//
//
// How a group of weights becomes stored numbers, a scale and perhaps a zero point, all in f64:
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

/// Where the numbers of a tensor in fewer bits are stored (include/llmmem/Dialect/FewerBits.h).
struct PackedBytes {
  mlir::Type element;
  int64_t group = 0;
  uint8_t *numbers = nullptr;
  FloatKind scaleKind = FloatKind::F32;
  void *scales = nullptr;
  uint8_t *zeros = nullptr; // of i4

  /// The stored number, and the element that it and its scale are.
  double numberAt(int64_t index) const;
  double elementAt(int64_t index) const;
};

/// Stores group `number`. Groups of i4 whose zero points share a byte are stored by one thread.
/// False where a weight is not finite: no scale brings it back.
bool packGroup(const PackedBytes &to, int64_t number, llvm::ArrayRef<double> weights);

/// The number of an f8 (f8E4M3FN or f8E5M2) nearest to `value`, ties to even, at most the largest.
uint8_t roundToSmallFloat(mlir::Type element, double value);

/// By the names that safetensors files use: I8, F8_E4M3, F8_E5M2; U8 of i4, two numbers a byte.
llvm::StringRef packedDtypeOf(mlir::Type element);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_PACKNUMBERS_H
