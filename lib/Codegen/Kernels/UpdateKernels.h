//===- UpdateKernels.h - What the kernels of the optimizers share ---------===//

#ifndef LLMMEM_LIB_CODEGEN_KERNELS_UPDATEKERNELS_H
#define LLMMEM_LIB_CODEGEN_KERNELS_UPDATEKERNELS_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"

namespace llmmem {

/// min(1, clip / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_; 1 without a norm.
Num clipFactor(KernelEmitter &e, Buffer norm, double clip);

/// The buffers of what an optimizer keeps, and of the parameter: its master copy is what is read,
/// and both are written.
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
  std::optional<unsigned> master; // its number among the states
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_KERNELS_UPDATEKERNELS_H
