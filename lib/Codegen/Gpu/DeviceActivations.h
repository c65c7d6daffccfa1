//===- DeviceActivations.h - Activations of 16 bits on a GPU ----------------===//
//
// The formulas of Gelu.h and of silu have a polynomial of degree 13 over one of degree 6 (tanh) or
// exp, and a division, which branches: 49 instructions an element, and those of two elements do not
// overlap. After a matmul, where two warps a scheduler have nothing else to do, they took three
// times as long as the matmul.
//
// Here both are x / (1 + 2^t), t = -2 log2(e) u(x) for gelu, as 1 + tanh(u) = 2 / (1 + exp(-2 u)):
// 14 instructions without a branch, of which two are approximations. The relative error is below
// 1e-6 even where 1 + tanh(u) cancels, so that results of 16 bits differ from correctly rounded
// ones only next to the midpoint of two.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_DEVICEACTIVATIONS_H
#define LLMMEM_LIB_CODEGEN_GPU_DEVICEACTIVATIONS_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include <optional>

namespace llmmem {

struct DeviceActivations {
  /// Returns the formulas if they compute the op of `e`: on a GPU where it reads and writes 16
  /// bits. This depends on the op alone, so an op has the same bits by itself and fused.
  static std::optional<DeviceActivations> of(const KernelEmitter &e);

  Num gelu(Num x) const;
  Num geluGrad(Num x, Num dy) const;
  Num silu(Num x, double alpha) const;
  Num siluGrad(Num x, Num dy, double alpha) const;

  /// It changes no bit.
  bool hasRegisters;

private:
  Num logisticOf(Num power) const;
  Num geluLogistic(Num bounded) const;
  Num siluLogistic(Num bounded, double alpha) const;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_DEVICEACTIVATIONS_H
