//===- UpdateKernels.cpp - Kernels of the optimizer ------------------------===//

#include "KernelModels.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

struct GlobalNormKernel : KernelModel<GlobalNormKernel, GlobalNormOp> {
  static void emit(GlobalNormOp op, KernelEmitter &e) {
    Num total = e.number(0.0);
    for (unsigned number = 0; number < op->getNumOperands(); ++number)
      total = total + sumOfSquares(e, e.operand(number));
    e.store(e.result(0), e.index(0), sqrt(total));
  }

  /// Piece by piece, so that the rounding error does not grow with the whole length. A turn sums a
  /// run of pieces, and the number of turns depends on the length alone.
  static Num sumOfSquares(KernelEmitter &e, Buffer x) {
    constexpr int64_t piece = 4096, mostTurns = 256;
    auto sumFrom = [&](Index begin, int64_t count) {
      return e.sum(count, [&](Index i, unsigned lanes) {
        Num v = e.load(x, begin + i, lanes);
        return v * v;
      });
    };
    int64_t pieces = x.size / piece,
            run = llvm::divideCeil(std::max<int64_t>(pieces, 1), mostTurns),
            turns = llvm::divideCeil(pieces, run);
    Num rest = sumFrom(e.index(pieces * piece), x.size % piece);
    if (pieces == 0)
      return rest;
    Buffer sums = e.scratch(turns);
    e.forEachParallel(turns, [&](Index turn) {
      Index begin = turn * run, end = minimum(begin + run, e.index(pieces));
      Num sum = e.fold(begin, end, e.number(0.0), [&](Index k, ArrayRef<Num> carried) -> Row {
        return {carried[0] + sumFrom(k * piece, piece)};
      })[0];
      e.store(sums, turn, sum);
    });
    return e.sum(turns, [&](Index turn, unsigned lanes) { return e.load(sums, turn, lanes); }) +
           rest;
  }
};

/// min(1, clip / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_; 1 without a norm.
Num clipFactor(KernelEmitter &e, Buffer norm, double clip) {
  Num one = e.number(1.0);
  if (!norm)
    return one;
  Num factor = e.number(clip) / (e.load(norm, e.index(0)) + 1e-6);
  // Not minimum(): a NaN norm must reach the parameters, as it does in PyTorch.
  Value tooLarge = arith::CmpFOp::create(e.builder(), factor.value.getLoc(),
                                         arith::CmpFPredicate::OGT, factor.value, one.value);
  return select(tooLarge, one, factor);
}

/// 1 - beta^t in f64, as the reference computes it on the host.
Num biasCorrection(KernelEmitter &e, double beta, Num step) {
  return 1.0 - power(step.like(beta), step);
}

struct AdamWKernel : KernelModel<AdamWKernel, AdamWOp> {
  enum Factor : unsigned { Decay, StepSize, Root, Clip };

  static Row factors(AdamWOp op, KernelEmitter &e) {
    Type precise = e.builder().getF64Type();
    Num rate = convert(e.load(e.operand(op.getLearningRateMutable()), e.index(0)), precise);
    Num step =
        convert(e.toNumber(e.loadIndex(e.operand(op.getStepMutable()), e.index(0))), precise);
    Num first = biasCorrection(e, op.getBeta1().convertToDouble(), step);
    Num second = biasCorrection(e, op.getBeta2().convertToDouble(), step);
    return {convert(1.0 - rate * op.getWeightDecay().convertToDouble(), e.wideType()),
            convert(rate / first, e.wideType()), convert(sqrt(second), e.wideType()),
            clipFactor(e, e.operand(op.getNormMutable()), op.getClipNorm().convertToDouble())};
  }

  static void emit(AdamWOp op, KernelEmitter &e) {
    Buffer gradient = e.operand(1), first = e.operand(2), second = e.operand(3);
    Buffer master = e.operand(op.getMasterMutable()), source = master ? master : e.operand(0);
    double beta1 = op.getBeta1().convertToDouble(), beta2 = op.getBeta2().convertToDouble();
    auto update = [&](Index i, unsigned lanes, ArrayRef<Num> f) {
      Num g = e.load(gradient, i, lanes);
      if (op.getNorm())
        g = g * f[Clip];
      Num p = e.load(source, i, lanes) * f[Decay];
      Num m = e.load(first, i, lanes) * beta1 + g * (1.0 - beta1);
      Num v = e.load(second, i, lanes) * beta2 + g * g * (1.0 - beta2);
      Num updated = p - f[StepSize] * m / (sqrt(v) / f[Root] + op.getEps().convertToDouble());
      e.store(e.result(0), i, updated);
      e.store(e.result(1), i, m);
      e.store(e.result(2), i, v);
      if (op.getNewMaster())
        e.store(e.result(3), i, updated);
    };
    e.forLanesParallel(gradient.size, [&] { return factors(op, e); }, update);
  }
};

struct SGDKernel : KernelModel<SGDKernel, SGDOp> {
  static void emit(SGDOp op, KernelEmitter &e) {
    double decay = op.getWeightDecay().convertToDouble();
    auto factors = [&]() -> Row {
      return {e.load(e.operand(op.getLearningRateMutable()), e.index(0)),
              clipFactor(e, e.operand(op.getNormMutable()), op.getClipNorm().convertToDouble())};
    };
    auto update = [&](Index i, unsigned lanes, ArrayRef<Num> f) {
      Num p = e.load(e.operand(0), i, lanes), g = e.load(e.operand(1), i, lanes);
      if (op.getNorm())
        g = g * f[1];
      e.store(e.result(0), i, p - f[0] * (g + p * decay));
    };
    e.forLanesParallel(e.result(0).size, factors, update);
  }
};

} // namespace

void llmmem::attachUpdateKernels(MLIRContext *context) {
  attachKernels<GlobalNormKernel, AdamWKernel, SGDKernel>(context);
}
