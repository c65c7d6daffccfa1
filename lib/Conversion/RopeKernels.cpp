//===- RopeKernels.cpp - Rotary angles -------------------------------------===//

#include "KernelModels.h"
#include "RopeFrequencies.h"
#include "llmmem/Dialect/LlmOps.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

struct RopeKernel : KernelModel<RopeKernel, RopeOp> {
  static void emit(RopeOp op, KernelEmitter &e) {
    ArrayRef<int64_t> shape = op.getX().getType().getShape();
    int64_t batch = shape[0], seq = shape[1], width = shape[2], heads = op.getHeads(),
            half = width / heads / 2;
    Buffer x = e.operand(0), y = e.result(0), frequencies = e.table(ropeFrequencies(op));
    e.forEach(seq, [&](Index s) {
      e.forEach(half, [&](Index i) {
        // Angles grow to thousands of turns: f64, whatever the kernel computes in.
        Num frequency{&e.builder(), e.loadRaw(frequencies, i)};
        Num angle = convert(e.toNumber(s), frequency.type()) * frequency;
        Num cosine = convert(cos(angle), e.wideType()), sine = convert(sin(angle), e.wideType());
        if (op.getInverse())
          sine = -sine;
        e.forEach(batch, [&](Index b) {
          e.forEach(heads, [&](Index h) {
            Index low = (b * seq + s) * width + h * (2 * half) + i, high = low + half;
            Num first = e.load(x, low), second = e.load(x, high);
            e.store(y, low, first * cosine - second * sine);
            e.store(y, high, second * cosine + first * sine);
          });
        });
      });
    });
  }
};

} // namespace

void llmmem::attachRopeKernels(MLIRContext *context) { attachKernels<RopeKernel>(context); }
