//===- DynamicMap.h - Numbers of many magnitudes in 8 bits ------*- C++ -*-===//
//
// Implements the dynamic map of block-wise quantization (Dettmers et al. 2022, "8-bit Optimizers
// via Block-wise Quantization", section 1.3). The 256 numbers are those of the library
// bitsandbytes, and a byte is the place of a number among them in ascending order. Decade e of the
// map, 10^(e - top) times [0.1, 1], has 2^e numbers, the midpoints of as many equal parts, so large
// numbers are exact to 1 % and small ones keep their magnitude:
//
//   signed     top 6, decades 0 to 6: 127 numbers, the same below 0, and 0 and 1
//              byte = 127 + code
//   unsigned   top 7, decades 1 to 7: 254 numbers, and 0 and 1
//              byte = code - 1
//
// The code of number j of decade e is 2^e + j, that of 1 is the first one after them, and that of 0
// the one before. Example: in the signed map 0.6 is in decade 6 the part floor((0.6 - 0.1) / 0.9 *
// 64) = 35, so its byte is 127 + 64 + 35 = 226 and represents 0.1 + 0.9 * 35.5 / 64 = 0.59921875.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_DYNAMICMAP_H
#define LLMMEM_LIB_CODEGEN_EMITTER_DYNAMICMAP_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"

namespace llmmem {

class DynamicMap {
public:
  explicit DynamicMap(bool isSigned) : isSigned(isSigned) {}

  /// Returns the numbers, f32, that `bytes` (i8, or a vector of them) represent.
  Num numbersOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value bytes) const;
  /// Returns the bytes of the numbers nearest to `x`, f32, from -1 (0 of an unsigned map) to 1. A
  /// NaN gets those of some number.
  mlir::Value bytesOf(Num x) const;

private:
  int lowest() const { return isSigned ? 0 : 1; }
  int top() const { return lowest() + 6; }
  double codeOfZero() const { return lowest(); }
  double codeOfOne() const { return 2 << top(); }
  Num codesOfMagnitudes(Num magnitude) const;

  bool isSigned;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_EMITTER_DYNAMICMAP_H
