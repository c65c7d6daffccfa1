//===- PowersOfTwo.h - 2^x where x is at most 0 ----------------------------===//
//
// What the softmax of attention needs: exp(score - largest) = 2^(score log2(e) - largest log2(e)).
// Half the instructions of exp, as x needs no upper bound and is split into a whole number and a
// rest by two additions.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_POWERSOFTWO_H
#define LLMMEM_LIB_CODEGEN_GPU_POWERSOFTWO_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"

namespace llmmem {

/// 2^x in f32 for x <= 0 (a little more does no harm), with a relative error below 6e-7. Below
/// 2^-125 it is 2^-125, also for minus infinity. NaN gives NaN.
Num powerOfTwo(Num x);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_POWERSOFTWO_H
