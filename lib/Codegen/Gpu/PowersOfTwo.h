//===- PowersOfTwo.h - 2^x where x is bounded -------------------------------===//
//
// What the softmax of attention needs, exp(score - largest) = 2^(score log2(e) - largest log2(e)),
// and what logistic functions do. Half the instructions of exp, as x needs no check of its bounds
// and is split into a whole number and a rest by two additions.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_POWERSOFTWO_H
#define LLMMEM_LIB_CODEGEN_GPU_POWERSOFTWO_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"

namespace llmmem {

/// 2^x in f32 for x <= 0 (a little more does no harm), with a relative error below 6e-7. Below
/// 2^-125 it is 2^-125, also for minus infinity. NaN gives NaN.
Num powerOfTwo(Num x);

/// 1 + 2^x in f32 for |x| <= 125, with a relative error below 6e-7. NaN gives NaN.
Num onePlusPowerOfTwo(Num x);

/// 1 / x, correctly rounded, for |x| from 2^-125 to 2^125, without a branch.
Num reciprocal(Num x);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_POWERSOFTWO_H
