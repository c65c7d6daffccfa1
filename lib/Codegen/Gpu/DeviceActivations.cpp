//===- DeviceActivations.cpp - Activations of 16 bits on a GPU --------------===//

#include "DeviceActivations.h"
#include "llmmem/Codegen/Emitter/Gelu.h"
#include "llmmem/Codegen/Gpu/PowersOfTwo.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace llmmem;

std::optional<DeviceActivations> DeviceActivations::of(const KernelEmitter &e) {
  auto isHalf = [](Type type) { return getElementTypeOrSelf(type).getIntOrFloatBitWidth() == 16; };
  Operation *op = e.operation();
  if (e.options().target != KernelTarget::Gpu || !llvm::all_of(op->getOperandTypes(), isHalf) ||
      !llvm::all_of(op->getResultTypes(), isHalf))
    return std::nullopt;
  return DeviceActivations{.hasRegisters = isByWarpgroup(e.options().tensorCores)};
}

/// Computes 1 / (1 + 2^power). After mma.sync, whose blocks have 128 registers a thread, the branch
/// of a division keeps the assembler from starting more elements than have room.
Num DeviceActivations::logisticOf(Num power) const {
  Num sum = powerOfTwo(power) + 1.0;
  return hasRegisters ? reciprocal(sum) : 1.0 / sum;
}

/// Clamps `x` to +-`bound`, beyond which the logistic function is 0 or 1 in 16 bits, so no power
/// needs a check of its bounds. The formulas below have it in common, for kernels that compute two
/// of them.
static Num within(Num x, double bound) {
  return minimum(maximum(x, x.like(-bound)), x.like(bound));
}

// At +-9.9 gelu's power is -+123, at silu's bound -+124.
static constexpr double kGeluBound = 9.9;
static constexpr double kGeluPower = -2 * kGeluInner * llvm::numbers::log2e;
static double siluBound(double alpha) { return 124 / llvm::numbers::log2e / alpha; }

Num DeviceActivations::geluLogistic(Num bounded) const {
  Num factor =
      fma(bounded * bounded, bounded.like(kGeluPower * kGeluCubic), bounded.like(kGeluPower));
  return logisticOf(bounded * factor);
}

Num DeviceActivations::gelu(Num x) const {
  return maximum(x, x.like(-kGeluBound)) * geluLogistic(within(x, kGeluBound));
}

/// With s the logistic function of 2 u(x): (x s)' = s (1 + 2 u' x (1 - s)).
Num DeviceActivations::geluGrad(Num x, Num dy) const {
  x = within(x, kGeluBound);
  Num s = geluLogistic(x);
  Num slope = fma(x * x, x.like(6 * kGeluInner * kGeluCubic), x.like(2 * kGeluInner)) * x;
  return dy * fma(s, fma(-slope, s, slope), s);
}

Num DeviceActivations::siluLogistic(Num bounded, double alpha) const {
  return logisticOf(bounded * (-alpha * llvm::numbers::log2e));
}

Num DeviceActivations::silu(Num x, double alpha) const {
  double bound = siluBound(alpha);
  return maximum(x, x.like(-bound)) * siluLogistic(within(x, bound), alpha);
}

Num DeviceActivations::siluGrad(Num x, Num dy, double alpha) const {
  x = within(x, siluBound(alpha));
  Num s = siluLogistic(x, alpha), scaled = x * alpha;
  return dy * fma(s, fma(-scaled, s, scaled), s);
}
