//===- MicroBatchKernels.cpp - Rows and seeds of one micro-batch -----------===//

#include "KernelModels.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

/// Returns the number of the micro-batch, which a kernel reads or knows.
template <typename Op>
Index numberOf(Op op, KernelEmitter &e) {
  if (!op.getAt())
    return e.index(*op.getNumber());
  return e.loadIndex(e.operand(op.getAtMutable()), e.index(0));
}

/// One group of threads copies at most this number of elements.
constexpr int64_t kElementsOfRun = 1024;

struct MicroBatchKernel : KernelModel<MicroBatchKernel, MicroBatchOp> {
  static void emit(MicroBatchOp op, KernelEmitter &e) {
    Buffer rows = e.result(0);
    // Each of these rows begins where a vector may, in both buffers.
    int64_t run = std::gcd(rows.size, kElementsOfRun);
    forRows(e, rows.size / run, {.width = run}, [&](Index row) {
      Index begin = numberOf(op, e) * rows.size + row * run;
      forLanes(e, run, [&](Index i, unsigned lanes) {
        e.storeRaw(rows, row * run + i, e.loadRaw(e.operand(0), begin + i, lanes));
      });
    });
  }
};

struct MicroBatchSeedKernel : KernelModel<MicroBatchSeedKernel, MicroBatchSeedOp> {
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

  static void emitOnDevice(MicroBatchSeedOp op, KernelEmitter &e) {
    deviceLoops(e).once(e, [&] { emit(op, e); });
  }
};

} // namespace

void llmmem::attachMicroBatchKernels(MLIRContext *context) {
  attachKernels<MicroBatchKernel, MicroBatchSeedKernel>(context);
}
