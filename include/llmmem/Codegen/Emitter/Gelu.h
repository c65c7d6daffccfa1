//===- Gelu.h - GELU in its two forms, and their gradients ----------------===//

#ifndef LLMMEM_CODEGEN_EMITTER_GELU_H
#define LLMMEM_CODEGEN_EMITTER_GELU_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"

namespace llmmem {

constexpr double kGeluInner = 0.79788456080286535588; // sqrt(2 / pi)
constexpr double kGeluCubic = 0.044715;

inline Num gelu(Num x) {
  Num t = tanh((x + x * x * x * kGeluCubic) * kGeluInner);
  return x * 0.5 * (t + 1.0);
}

inline Num geluGrad(Num x, Num dy) {
  Num t = tanh((x + x * x * x * kGeluCubic) * kGeluInner);
  Num slope = (x * x * (3.0 * kGeluCubic) + 1.0) * kGeluInner;
  return dy * ((t + 1.0) * 0.5 + x * 0.5 * (1.0 - t * t) * slope);
}

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kNormalPeak = 0.39894228040143267794; // 1 / sqrt(2 pi)

inline Num exactGelu(Num x) { return x * 0.5 * (erf(x * kSqrtHalf) + 1.0); }

inline Num exactGeluGrad(Num x, Num dy) {
  Num density = exp(x * x * -0.5) * kNormalPeak;
  return dy * ((erf(x * kSqrtHalf) + 1.0) * 0.5 + x * density);
}

} // namespace llmmem

#endif // LLMMEM_CODEGEN_EMITTER_GELU_H
