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
    e.forEachParallel(seq, [&](Index s) {
      Buffer cosines = e.scratch(half), sines = e.scratch(half);
      e.forEach(half, [&](Index i) {
        // Angles grow to thousands of turns: f64, whatever the kernel computes in.
        Num frequency{&e.builder(), e.loadRaw(frequencies, i)};
        Num angle = convert(e.toNumber(s), frequency.type()) * frequency;
        Num sine = convert(sin(angle), e.wideType());
        e.store(cosines, i, convert(cos(angle), e.wideType()));
        e.store(sines, i, op.getInverse() ? -sine : sine);
      });
      e.forEach(batch, [&](Index b) {
        e.forEach(heads, [&](Index h) {
          Index begin = (b * seq + s) * width + h * (2 * half);
          e.forLanes(half, [&](Index i, unsigned lanes) {
            Index low = begin + i, high = low + half;
            Num cosine = e.load(cosines, i, lanes), sine = e.load(sines, i, lanes);
            Num first = e.load(x, low, lanes), second = e.load(x, high, lanes);
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
