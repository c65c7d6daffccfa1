//===- UpdateKernels.h - What the kernels of the optimizers share ---------===//

#ifndef LLMMEM_LIB_CODEGEN_KERNELS_UPDATEKERNELS_H
#define LLMMEM_LIB_CODEGEN_KERNELS_UPDATEKERNELS_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"

namespace llmmem {

/// Returns whether `x` is no NaN.
mlir::Value isOrdered(Num x);

/// Returns min(1, clip / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_ does.
Num clipFactor(KernelEmitter &e, Num norm, double clip);

/// Returns whether an update multiplies its gradient by anything.
template <typename UpdateOp>
bool scalesGradient(UpdateOp op) {
  return op.getNorm() || op.getFactor();
}

/// Returns what an update multiplies its gradient by: its factor, or the clip factor of its norm,
/// or 1.
template <typename UpdateOp>
Num gradientFactor(UpdateOp op, KernelEmitter &e) {
  if (Buffer factor = e.operand(op.getFactorMutable()))
    return e.load(factor, e.index(0));
  Buffer norm = e.operand(op.getNormMutable());
  if (!norm)
    return e.number(1.0);
  return clipFactor(e, e.load(norm, e.index(0)), op.getClipNorm().convertToDouble());
}

/// Returns `updated`, or `old` where `factor` is that of a step to be skipped. Only an update with
/// a factor may be skipped: a NaN that a norm brings must reach the parameters, as it does in
/// PyTorch.
template <typename UpdateOp>
Num unlessSkipped(UpdateOp op, Num factor, Num updated, Num old) {
  return op.getFactor() ? select(isOrdered(factor), updated, old) : updated;
}

/// Holds the buffers of what an optimizer keeps, and of the parameter: its master copy is read, and
/// both are written.
class StatesOfUpdate {
public:
  template <typename UpdateOp>
  StatesOfUpdate(UpdateOp op, KernelEmitter &e) : e(e) {
    if (!op.getState().empty())
      firstState = op.getStateMutable()[0].getOperandNumber();
    if (op.getMasterCopy())
      master = op.getNumStates();
  }

  Buffer state(unsigned number) const { return e.operand(firstState + number); }
  Buffer newState(unsigned number) const { return e.result(1 + number); }
  Buffer source() const { return master ? state(*master) : e.operand(0); }
  void storeParam(Index i, Num p) const {
    e.store(e.result(0), i, p);
    if (master)
      e.store(newState(*master), i, p);
  }

private:
  KernelEmitter &e;
  unsigned firstState = 0;
  std::optional<unsigned> master; // Its number among the states.
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_KERNELS_UPDATEKERNELS_H
