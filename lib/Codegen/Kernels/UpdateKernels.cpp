//===- UpdateKernels.cpp - Kernels of the optimizer -----------------------===//

#include "UpdateKernels.h"
#include "KernelModels.h"
#include "UpdateModel.h"
#include "llmmem/Codegen/Gpu/LaunchParts.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

Value llmmem::isOrdered(Num x) {
  return arith::CmpFOp::create(*x.builder, x.value.getLoc(), arith::CmpFPredicate::ORD, x.value,
                               x.value);
}

Num llmmem::clipFactor(KernelEmitter &e, Num norm, double clip) {
  Num one = e.number(1.0);
  Num factor = e.number(clip) / (norm + 1e-6);
  // This is not minimum(), because a NaN norm must reach the parameters, as it does in PyTorch.
  Value tooLarge = arith::CmpFOp::create(e.builder(), factor.value.getLoc(),
                                         arith::CmpFPredicate::OGT, factor.value, one.value);
  return select(tooLarge, one, factor);
}

namespace {

/// Sums pieces, so that the rounding error does not grow with the whole length. The pieces depend
/// on the length alone; the workspace holds their sums.
struct GlobalNormKernel : KernelModel<GlobalNormKernel, GlobalNormOp> {
  static constexpr int64_t piece = GlobalNormOp::kPiece;

  static void emit(GlobalNormOp op, KernelEmitter &e) {
    Num total = e.number(0.0);
    forOperands(op, e,
                [&](Buffer x, int64_t, Buffer sums) { total = total + sumOfSquares(e, x, sums); });
    e.store(e.result(0), e.index(0), sqrt(total));
  }

  /// Calls `body` with each operand, the place of its first sum, and its sums.
  static void forOperands(GlobalNormOp op, KernelEmitter &e,
                          function_ref<void(Buffer x, int64_t first, Buffer sums)> body) {
    int64_t first = 0, width = e.computeType().getWidth() / 8;
    for (unsigned number = 0; number < op->getNumOperands(); ++number) {
      Buffer x = e.operand(number);
      int64_t parts = GlobalNormOp::getNumParts(x.size);
      body(x, first, e.workspace(first * width, parts, e.computeType()));
      first += parts;
    }
  }

  static Num sumOfSquares(KernelEmitter &e, Buffer x, Buffer sums) {
    auto sumFrom = [&](Index begin, int64_t count) {
      return sumOver(e, count, [&](Index i, unsigned lanes) {
        Num v = e.load(x, begin + i, lanes);
        return v * v;
      });
    };
    int64_t pieces = x.size / piece, run = GlobalNormOp::getPiecesOfPart(x.size),
            iterations = llvm::divideCeil(pieces, run);
    Num rest = sumFrom(e.index(pieces * piece), x.size % piece);
    if (pieces == 0)
      return rest;
    forEachParallel(e, iterations, [&](Index iteration) {
      Index begin = iteration * run, end = minimum(begin + run, e.index(pieces));
      Num sum = fold(e, begin, end, e.number(0.0), [&](Index k, ArrayRef<Num> carried) -> Row {
        return {carried[0] + sumFrom(k * piece, piece)};
      })[0];
      e.store(sums, iteration, sum);
    });
    return sumOver(
               e, iterations,
               [&](Index iteration, unsigned lanes) { return e.load(sums, iteration, lanes); }) +
           rest;
  }

  /// Each block sums a part of some operand, and then one block adds the sums.
  static void emitOnDevice(GlobalNormOp op, KernelEmitter &e) {
    int64_t count = op.getWorkspaceBytes() / (e.computeType().getWidth() / 8);
    Buffer all = e.workspace(0, count, e.computeType());
    int64_t first = 0;
    SmallVector<LaunchPart> parts;
    auto launch = [&] {
      if (!parts.empty())
        emitSums(e, parts, all, first);
      first += blocksOf(parts);
      parts.clear();
    };
    for (unsigned number = 0; number < op->getNumOperands(); ++number) {
      Buffer x = e.operand(number);
      bool isFull = parts.size() + 1 == kMostLaunchBuffers;
      if (isFull || (!parts.empty() && parts[0].buffers[0].element != x.element))
        launch();
      parts.push_back({GlobalNormOp::getNumParts(x.size),
                       {x},
                       {x.size, GlobalNormOp::getPiecesOfPart(x.size) * piece}});
    }
    launch();
    deviceLoops(e).once(e, [&] {
      Num total = deviceLoops(e).sumOfElements(e, count, [&](Index i) { return e.load(all, i); });
      e.store(e.result(0), e.index(0), sqrt(total));
    });
  }

  /// Computes sums[first + block] = the sum of the block's part.
  static void emitSums(KernelEmitter &e, ArrayRef<LaunchPart> parts, Buffer sums, int64_t first) {
    forRows(e, blocksOf(parts), {.width = 1, .synchronizes = true}, [&](Index block) {
      FoundPart part = findPart(e, parts, block);
      Index size = part.numbers[0], length = part.numbers[1], begin = part.block * length;
      Num sum = sumOfPart(e, part.buffers[0], begin, minimum(begin + length, size));
      e.store(sums, block + first, sum);
    });
  }

  /// Sums the elements of `x` from `begin`, a multiple of the lanes, to `end`.
  static Num sumOfPart(KernelEmitter &e, Buffer x, Index begin, Index end) {
    DeviceLoops &device = deviceLoops(e);
    auto lanes = static_cast<int64_t>(e.lanes());
    auto addSquare = [&](Index i, unsigned width, Num sum) -> Row {
      Num v = e.load(x, i, width);
      return {sum + v * v};
    };
    Index whole = end / lanes * lanes;
    Num sum = foldSteps(e, begin + device.thread() * lanes, whole, device.threadGroupSize() * lanes,
                        e.splat(0.0, lanes), [&](Index i, ArrayRef<Num> carried) {
                          return addSquare(i, lanes, carried[0]);
                        })[0];
    sum = foldSteps(e, whole + device.thread(), end, device.threadGroupSize(), sumOfLanes(sum),
                    [&](Index i, ArrayRef<Num> carried) { return addSquare(i, 1, carried[0]); })[0];
    return device.acrossThreadGroup(e, sum, [](Num a, Num b) { return a + b; });
  }
};

/// Follows torch.amp.GradScaler: the factor of its `unscale_`, and the scale after its `update`.
struct AdjustLossScaleKernel : KernelModel<AdjustLossScaleKernel, AdjustLossScaleOp> {
  static void emit(AdjustLossScaleOp op, KernelEmitter &e) {
    auto load = [&](unsigned operand) { return e.load(e.operand(operand), e.index(0)); };
    Num norm = load(0), scale = load(1), good = load(2), updates = load(3);
    if (e.options().target == KernelTarget::Gpu)
      barrier(e); // All threads have read what one overwrites.
    Value isFinite = isFiniteNumber(norm);
    double clip = op.getClipNorm().convertToDouble();
    Num factor = 1.0 / scale;
    if (clip > 0.0)
      factor = factor * clipFactor(e, norm / scale, clip);
    Num none = e.number(std::numeric_limits<double>::quiet_NaN()), zero = e.number(0.0);
    Num more = good + 1.0, grown = scale * op.getGrowth().convertToDouble();
    Value isTime =
        compare(arith::CmpFPredicate::OGE, more, e.number(static_cast<double>(op.getInterval())));
    Num after = select(isTime, select(isFiniteNumber(grown), grown, scale), scale);
    Num counted = select(isFinite, updates + 1.0, updates);
    e.store(e.result(0), e.index(0), select(isFinite, factor, none));
    e.store(e.result(1), e.index(0),
            select(isFinite, after, scale * op.getBackoff().convertToDouble()));
    e.store(e.result(2), e.index(0), select(isFinite, select(isTime, zero, more), zero));
    e.store(e.result(3), e.index(0), counted);
    OpBuilder &b = e.builder();
    e.storeRaw(e.result(4), e.index(0),
               arith::FPToSIOp::create(b, e.location(), b.getI32Type(), counted.value));
  }

  static void emitOnDevice(AdjustLossScaleOp op, KernelEmitter &e) {
    deviceLoops(e).once(e, [&] { emit(op, e); });
  }

private:
  static Value compare(arith::CmpFPredicate predicate, Num a, Num b) {
    return arith::CmpFOp::create(*a.builder, a.value.getLoc(), predicate, a.value, b.value);
  }
  /// x - x is 0 for a finite number, else NaN.
  static Value isFiniteNumber(Num x) { return isOrdered(x - x); }
};

struct LionKernel : UpdateModel<LionKernel, LionOp> {
  enum Factor : unsigned { Rate, Decay, Clip };

  static SmallVector<MutableOperandRange> commonOperands(LionOp op) {
    return {op.getLearningRateMutable(), op.getNormMutable(), op.getFactorMutable()};
  }

  static Row factors(LionOp op, KernelEmitter &e) {
    Num rate = e.load(e.operand(op.getLearningRateMutable()), e.index(0));
    return {rate, 1.0 - rate * op.getWeightDecay().convertToDouble(), gradientFactor(op, e)};
  }

  static void updateAt(LionOp op, KernelEmitter &e, Index i, unsigned lanes, ArrayRef<Num> f) {
    StatesOfUpdate buffers(op, e);
    double beta1 = op.getBeta1().convertToDouble(), beta2 = op.getBeta2().convertToDouble();
    Num g = e.load(e.operand(1), i, lanes);
    if (scalesGradient(op))
      g = g * f[Clip];
    Num m = e.load(buffers.state(0), i, lanes), p = e.load(buffers.source(), i, lanes);
    Num updated = p * f[Decay] - f[Rate] * signOf(m * beta1 + g * (1.0 - beta1));
    buffers.storeParam(i, unlessSkipped(op, f[Clip], updated, p));
    e.store(buffers.newState(0), i, unlessSkipped(op, f[Clip], m * beta2 + g * (1.0 - beta2), m));
  }

  /// A zero has the sign 0, and a NaN stays one.
  static Num signOf(Num x) {
    Num zero = x.like(0.0);
    auto compare = [&](arith::CmpFPredicate predicate) -> Value {
      return arith::CmpFOp::create(*x.builder, x.value.getLoc(), predicate, x.value, zero.value);
    };
    Num negative = select(compare(arith::CmpFPredicate::OLT), x.like(-1.0), x);
    return select(compare(arith::CmpFPredicate::OGT), x.like(1.0), negative);
  }
};

struct SGDKernel : UpdateModel<SGDKernel, SGDOp> {
  static SmallVector<MutableOperandRange> commonOperands(SGDOp op) {
    return {op.getLearningRateMutable(), op.getNormMutable(), op.getFactorMutable()};
  }

  static Row factors(SGDOp op, KernelEmitter &e) {
    return {e.load(e.operand(op.getLearningRateMutable()), e.index(0)), gradientFactor(op, e)};
  }

  static void updateAt(SGDOp op, KernelEmitter &e, Index i, unsigned lanes, ArrayRef<Num> f) {
    StatesOfUpdate buffers(op, e);
    Num p = e.load(buffers.source(), i, lanes), g = e.load(e.operand(1), i, lanes);
    if (scalesGradient(op))
      g = g * f[1];
    g = g + p * op.getWeightDecay().convertToDouble();
    double momentum = op.getMomentum().convertToDouble();
    if (momentum > 0.0) {
      Num old = e.load(buffers.state(0), i, lanes), average = old * momentum + g;
      e.store(buffers.newState(0), i, unlessSkipped(op, f[1], average, old));
      g = op.getNesterov() ? g + average * momentum : average;
    }
    buffers.storeParam(i, unlessSkipped(op, f[1], p - f[0] * g, p));
  }
};

} // namespace

void llmmem::attachUpdateKernels(MLIRContext *context) {
  attachKernels<GlobalNormKernel, AdjustLossScaleKernel, LionKernel, SGDKernel>(context);
  attachAdamWKernel(context);
  attachAdafactorKernel(context);
  attachMuonKernel(context);
}
