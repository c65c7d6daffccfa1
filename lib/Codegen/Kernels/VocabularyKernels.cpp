//===- VocabularyKernels.cpp - The loss of a part of the vocabulary --------===//

#include "KernelModels.h"
#include "LossRows.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "llmmem/Dialect/LlmOps.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

struct LogSumExpKernel : KernelModel<LogSumExpKernel, LogSumExpOp> {
  static void emit(LogSumExpOp op, KernelEmitter &e) {
    int64_t width = op.getX().getType().getShape().back();
    VocabularyPart vocabulary(e, op.getVocabulary(), width);
    Buffer x = e.operand(0), lse = e.result(0);
    forRows(e, lse.size, {.width = width, .isAlone = true}, [&](Index row) {
      e.store(lse, row, logSumExp(e, x, row * width, width, &vocabulary));
    });
  }
};

struct TargetLossKernel : KernelModel<TargetLossKernel, TargetLossOp> {
  struct Terms {
    Terms(TargetLossOp op, KernelEmitter &e)
        : e(e), width(op.getLogits().getType().getShape().back()),
          vocabulary(e, op.getVocabulary(), width), terms(LossTerms::of(op, width)),
          targets(e, e.operand(2), width, op.getIgnoreIndex(), e.operand(op.getCountMutable()),
                  &vocabulary) {}

    /// Returns lse - logits[target], where the target counts and this rank has it, and the terms of
    /// its columns.
    Num of(Index row) {
      Index place = targets.column(row);
      Num hit = e.load(e.operand(0), row * width + vocabulary.nearest(place));
      Num term = terms.ofTarget(e.load(e.operand(1), row), hit);
      if (vocabulary.isPart())
        term = select(vocabulary.has(place), term, e.number(0.0));
      term = terms.withShares(
          term, [&] { return sumOfLogitsAlone(e, e.operand(0), row * width, width, &vocabulary); });
      return targets.ifCounted(row, term);
    }

    KernelEmitter &e;
    int64_t width;
    VocabularyPart vocabulary;
    LossTerms terms;
    LossTargets targets;
  };

  static void emit(TargetLossOp op, KernelEmitter &e) {
    Terms terms(op, e);
    Row sum = fold(e, e.index(0), e.index(e.operand(1).size), e.number(0.0),
                   [&](Index row, ArrayRef<Num> sum) -> Row { return {sum[0] + terms.of(row)}; });
    e.store(e.result(0), e.index(0), sum[0] / terms.targets.count());
  }

  static void emitOnDevice(TargetLossOp op, KernelEmitter &e) {
    Terms terms(op, e);
    deviceLoops(e).once(e, [&] {
      Num sum = deviceLoops(e).sumOfElements(e, e.operand(1).size,
                                             [&](Index row) { return terms.of(row); });
      e.store(e.result(0), e.index(0), sum / terms.targets.count());
    });
  }
};

} // namespace

void llmmem::attachVocabularyKernels(MLIRContext *context) {
  attachKernels<LogSumExpKernel, TargetLossKernel>(context);
}
