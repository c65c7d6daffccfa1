//===- DoubleFunctions.h - Functions of f64 without libm -------------------===//

#ifndef LLMMEM_LIB_CONVERSION_DOUBLEFUNCTIONS_H
#define LLMMEM_LIB_CONVERSION_DOUBLEFUNCTIONS_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"

namespace llmmem {

/// Computes coefficients[0] + coefficients[1] x + ....
Num polynomial(Num x, llvm::ArrayRef<double> coefficients);

// These take f64 numbers or vectors of them (lib/Conversion/DoubleExponentials.cpp).
Num expandExp(Num x);
Num expandLog(Num x);
Num expandTanh(Num x);
// This is in lib/Conversion/DoubleErf.cpp.
Num expandErf(Num x);

} // namespace llmmem

#endif // LLMMEM_LIB_CONVERSION_DOUBLEFUNCTIONS_H
