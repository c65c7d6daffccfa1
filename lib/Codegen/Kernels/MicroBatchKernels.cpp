//===- MicroBatchKernels.cpp - Rows and seeds of one micro-batch -----------===//

#include "KernelModels.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

/// The number of the micro-batch, which a kernel reads or knows.
template <typename Op>
Index numberOf(Op op, KernelEmitter &e) {
  if (!op.getAt())
    return e.index(*op.getNumber());
  return e.loadIndex(e.operand(op.getAtMutable()), e.index(0));
}

/// A kernel on a CPU. `Model` has `static void emit(ConcreteOp, KernelEmitter &)`.
template <typename Model, typename ConcreteOp>
struct CpuModel : BaseModel<Model, ConcreteOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    if (emitter.options().target == KernelTarget::Gpu)
      return op->emitOpError("has no kernel on a GPU yet; lower the step for a CPU");
    Model::emit(cast<ConcreteOp>(op), emitter);
    return success();
  }
};

struct MicroBatchKernel : CpuModel<MicroBatchKernel, MicroBatchOp> {
  static void emit(MicroBatchOp op, KernelEmitter &e) {
    Buffer rows = e.result(0);
    Index begin = numberOf(op, e) * rows.size;
    e.forEach(rows.size, [&](Index i) { e.storeRaw(rows, i, e.loadRaw(e.operand(0), begin + i)); });
  }
};

struct MicroBatchSeedKernel : CpuModel<MicroBatchSeedKernel, MicroBatchSeedOp> {
  static void emit(MicroBatchSeedOp op, KernelEmitter &e) {
    OpBuilder &b = e.builder();
    auto store = [&](int64_t word, Index number) {
      e.storeRaw(e.result(0), e.index(word),
                 arith::IndexCastOp::create(b, op.getLoc(), b.getI32Type(), number.value));
    };
    for (int64_t word : {0, 1})
      e.storeRaw(e.result(0), e.index(word), e.loadRaw(e.operand(0), e.index(word)));
    store(2, numberOf(op, e));
    store(3, e.index(op.getOf()));
  }
};

} // namespace

void llmmem::attachMicroBatchKernels(MLIRContext *context) {
  attachKernels<MicroBatchKernel, MicroBatchSeedKernel>(context);
}
