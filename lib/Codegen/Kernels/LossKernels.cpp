//===- LossKernels.cpp - The loss and its gradient, row by row ------------===//

#include "KernelModels.h"
#include "LossRows.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "llmmem/Codegen/Gpu/PowersOfTwo.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Num LossTargets::ifCounted(Index row, Num x) {
  return select(equal(e.loadIndex(targets, row), e.index(ignored)), e.number(0.0), x);
}

Num LossTargets::count() {
  if (given)
    return toNumber(e.loadIndex(given, e.index(0)), e.computeType());
  if (e.options().target == KernelTarget::Gpu)
    return deviceLoops(e).sumOfElements(e, targets.size,
                                        [&](Index row) { return ifCounted(row, e.number(1.0)); });
  return fold(e, e.index(0), e.index(targets.size), e.number(0.0),
              [&](Index row, ArrayRef<Num> sum) -> Row {
                return {sum[0] + ifCounted(row, e.number(1.0))};
              })[0];
}

Index LossTargets::column(Index row) {
  if (part)
    return part->place(e.loadIndex(targets, row));
  return minimum(maximum(e.loadIndex(targets, row), e.index(0)), e.index(vocabulary - 1));
}

/// No logit is less, and it is finite: differences of infinities are NaN.
static double lowestLogit(KernelEmitter &e) {
  return e.computeType().isF64() ? std::numeric_limits<double>::lowest()
                                 : std::numeric_limits<float>::lowest();
}

/// Computes exp(x) where logits are of `element`. On a GPU those of 16 bits use attention's powers,
/// because the polynomial's instructions would take longer than the row's bytes.
static Num powerOf(KernelEmitter &e, Type element, Num x) {
  bool isApproximate =
      e.options().target == KernelTarget::Gpu && element.getIntOrFloatBitWidth() == 16;
  return isApproximate ? powerOfTwo(x * llvm::numbers::log2e) : exp(x);
}

/// Computes log(sum exp) from the maximum and the sum of powers that each thread of the group has
/// found.
static Num logSumOfThreadGroup(KernelEmitter &e, ArrayRef<Num> own) {
  DeviceLoops &device = deviceLoops(e);
  Num largest = device.acrossThreadGroup(e, own[0], [](Num a, Num b) { return maximum(a, b); });
  Num powers = own[1] * exp(own[0] - largest);
  return largest + log(device.acrossThreadGroup(e, powers, [](Num a, Num b) { return a + b; }));
}

/// It takes one pass over the row, with a running maximum by which the sum is rescaled, as in the
/// online softmax of Milakov & Gimelshein (2018).
static Num logSumExpOnDevice(KernelEmitter &e, Buffer logits, Index begin, int64_t width,
                             VocabularyPart *part) {
  double lowest = lowestLogit(e);
  auto power = [&](Num x) { return powerOf(e, logits.element, x); };
  auto start = [&](unsigned lanes) -> Row { return {e.splat(lowest, lanes), e.splat(0.0, lanes)}; };
  auto step = [&](Index j, unsigned lanes, ArrayRef<Num> carried) -> Row {
    Num x = e.load(logits, begin + j, lanes);
    if (part)
      x = part->ifTokens(j, lanes, x, e.splat(lowest, lanes));
    Num largest = maximum(carried[0], x);
    return {largest, carried[1] * power(carried[0] - largest) + power(x - largest)};
  };
  auto acrossLanes = [&](ArrayRef<Num> carried) -> Row {
    Num largest = maximumOfLanes(carried[0]);
    return {largest, sumOfLanes(carried[1] * power(carried[0] - largest))};
  };
  return logSumOfThreadGroup(e, deviceLoops(e).foldOwn(e, width, start, step, acrossLanes));
}

Num llmmem::logSumExpOfTiles(KernelEmitter &e, const TileSoftmax &softmax, Index row) {
  DeviceLoops &device = deviceLoops(e);
  auto step = [&](Index tile, ArrayRef<Num> carried) -> Row {
    Index place = softmax.begin + row * softmax.tiles + tile;
    Num ofTile = e.load(softmax.maxima, place), largest = maximum(carried[0], ofTile);
    return {largest, carried[1] * exp(carried[0] - largest) +
                         e.load(softmax.powers, place) * exp(ofTile - largest)};
  };
  Row start{e.number(lowestLogit(e)), e.number(0.0)};
  return logSumOfThreadGroup(e, foldSteps(e, device.thread(), e.index(softmax.tiles),
                                          device.threadGroupSize(), start, step));
}

Num llmmem::logSumExp(KernelEmitter &e, Buffer logits, Index begin, int64_t width,
                      VocabularyPart *part) {
  if (e.options().target == KernelTarget::Gpu)
    return logSumExpOnDevice(e, logits, begin, width, part);
  auto logit = [&](Index j, unsigned lanes) {
    Num x = e.load(logits, begin + j, lanes);
    return part ? part->ifTokens(j, lanes, x, e.splat(lowestLogit(e), lanes)) : x;
  };
  Num largest = maximumOver(e, width, logit);
  Num powers =
      sumOver(e, width, [&](Index j, unsigned lanes) { return exp(logit(j, lanes) - largest); });
  return largest + log(powers);
}

//===----------------------------------------------------------------------===//
// Terms other than the likelihood of the target
//===----------------------------------------------------------------------===//

Num LossTerms::ofTarget(Num logSum, Num hit) const {
  Num loss = smoothing > 0.0 ? logSum - hit * (1.0 - smoothing) : logSum - hit;
  return z > 0.0 ? loss + logSum * logSum * z : loss;
}

Num LossTerms::withShares(Num loss, function_ref<Num()> sum) const {
  return smoothing > 0.0 ? loss - sum() * share() : loss;
}

Num llmmem::sumOfLogits(KernelEmitter &e, Buffer logits, Index begin, int64_t width,
                        VocabularyPart *part) {
  return sumOver(e, width, [&](Index j, unsigned lanes) {
    Num x = e.load(logits, begin + j, lanes);
    return part ? part->ifTokens(j, lanes, x, e.splat(0.0, lanes)) : x;
  });
}

Num llmmem::sumOfLogitsAlone(KernelEmitter &e, Buffer logits, Index begin, int64_t width,
                             VocabularyPart *part) {
  auto add = [&](Index j, ArrayRef<Num> sum) -> Row {
    Num x = e.load(logits, begin + j);
    return {sum[0] + (part ? part->ifTokens(j, 1, x, e.number(0.0)) : x)};
  };
  return fold(e, e.index(0), e.index(width), e.number(0.0), add)[0];
}

namespace {
/// Computes the gradient of a row's logits over the row's factor.
struct LogitGradient {
  LogitGradient(KernelEmitter &e, Type element, const LossTerms &terms, Num logSum)
      : e(e), element(element), terms(terms), logSum(logSum) {
    if (terms.z > 0.0)
      powers = logSum * (2.0 * terms.z) + 1.0;
  }

  /// Returns that of a logit whose token is not the target.
  Num of(Num logit) const {
    Num p = powerOf(e, element, logit - logSum);
    if (powers.value)
      p = p * powers;
    return terms.smoothing > 0.0 ? p - terms.share() : p;
  }
  /// Returns by how much that of the target is less.
  double lessAtTarget() const { return 1.0 - terms.smoothing; }

  KernelEmitter &e;
  Type element; // The type of the logits.
  const LossTerms &terms;
  Num logSum, powers;
};
} // namespace

//===----------------------------------------------------------------------===//
// Gradients of rows
//===----------------------------------------------------------------------===//

/// It is distributed over threads: none may access another's elements, not even the target's.
static void emitSharedGradientRow(KernelEmitter &e, const LossGradientRow &row,
                                  const LossTerms &terms, VocabularyPart *part = nullptr) {
  const auto &[logits, dlogits, begin, width, column, logSum, factor] = row;
  OpBuilder &b = e.builder();
  Location loc = e.location();
  LogitGradient gradient(e, logits.element, terms, logSum);
  Value target = arith::IndexCastOp::create(b, loc, b.getI64Type(), column.value);
  forLanes(e, width, [&](Index j, unsigned lanes) {
    Value numbers = elementNumbers(j, lanes), wanted = target;
    if (lanes > 1)
      wanted = vector::BroadcastOp::create(b, loc, numbers.getType(), target);
    Value isTarget = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, numbers, wanted);
    Num p = gradient.of(e.load(logits, begin + j, lanes));
    Num x = (p - select(isTarget, p.like(gradient.lessAtTarget()), p.like(0.0))) * factor;
    e.store(dlogits, begin + j, part ? part->ifTokens(j, lanes, x, p.like(0.0)) : x);
  });
}

void llmmem::emitLossGradientRow(KernelEmitter &e, const LossGradientRow &row,
                                 const LossTerms &terms) {
  if (e.options().target == KernelTarget::Gpu)
    return emitSharedGradientRow(e, row, terms);
  const auto &[logits, dlogits, begin, width, column, logSum, factor] = row;
  Index hit = begin + column;
  LogitGradient gradient(e, logits.element, terms, logSum);
  // It is read before the row is overwritten.
  Num atTarget = (gradient.of(e.load(logits, hit)) - gradient.lessAtTarget()) * factor;
  forLanes(e, width, [&](Index j, unsigned lanes) {
    e.store(dlogits, begin + j, gradient.of(e.load(logits, begin + j, lanes)) * factor);
  });
  e.store(dlogits, hit, atTarget);
}

void llmmem::emitLossGradientOfPart(KernelEmitter &e, VocabularyPart &part,
                                    const LossGradientRow &row, const LossTerms &terms) {
  // No element has a column of another rank.
  if (e.options().target == KernelTarget::Gpu)
    return emitSharedGradientRow(e, row, terms, &part);
  const auto &[logits, dlogits, begin, width, column, logSum, factor] = row;
  // It is read before the row is overwritten.
  Index hit = begin + part.nearest(column);
  LogitGradient gradient(e, logits.element, terms, logSum);
  Num atTarget = (gradient.of(e.load(logits, hit)) - gradient.lessAtTarget()) * factor;
  forLanes(e, width, [&](Index j, unsigned lanes) {
    Num p = gradient.of(e.load(logits, begin + j, lanes)) * factor;
    e.store(dlogits, begin + j, part.ifTokens(j, lanes, p, p.like(0.0)));
  });
  ifThen(e, part.has(column), [&] { e.store(dlogits, hit, atTarget); });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {

int64_t widthOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getShape().back(); }

struct CrossEntropyKernel : KernelModel<CrossEntropyKernel, CrossEntropyOp> {
  /// Returns the loss of a row whose lse is stored.
  static Num lossOf(CrossEntropyOp op, KernelEmitter &e, LossTargets &targets, Index row) {
    int64_t width = widthOf(op.getLogits());
    Index begin = row * width;
    Num hit = e.load(e.operand(0), begin + targets.column(row));
    LossTerms terms = LossTerms::of(op, width);
    return terms.withShares(terms.ofTarget(e.load(e.result(1), row), hit),
                            [&] { return sumOfLogitsAlone(e, e.operand(0), begin, width); });
  }

  static void emit(CrossEntropyOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getLogits());
    Buffer logits = e.operand(0), lse = e.result(1);
    LossTargets targets(e, e.operand(1), width, op.getIgnoreIndex(),
                        e.operand(op.getCountMutable()));
    forEachParallel(e, lse.size, [&](Index row) {
      e.store(lse, row, logSumExp(e, logits, row * width, width));
    });
    Row sum = fold(e, e.index(0), e.index(lse.size), e.number(0.0),
                   [&](Index row, ArrayRef<Num> sum) -> Row {
                     return {sum[0] + targets.ifCounted(row, lossOf(op, e, targets, row))};
                   });
    e.store(e.result(0), e.index(0), sum[0] / targets.count());
  }

  static void emitOnDevice(CrossEntropyOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getLogits());
    Buffer logits = e.operand(0), lse = e.result(1);
    LossTargets targets(e, e.operand(1), width, op.getIgnoreIndex(),
                        e.operand(op.getCountMutable()));
    forRows(e, lse.size, {.width = width, .isAlone = true},
            [&](Index row) { e.store(lse, row, logSumExp(e, logits, row * width, width)); });
    deviceLoops(e).once(e, [&] {
      Num sum = deviceLoops(e).sumOfElements(e, lse.size, [&](Index row) {
        return targets.ifCounted(row, lossOf(op, e, targets, row));
      });
      e.store(e.result(0), e.index(0), sum / targets.count());
    });
  }
};

struct CrossEntropyGradKernel : KernelModel<CrossEntropyGradKernel, CrossEntropyGradOp> {
  static void emit(CrossEntropyGradOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getLogits());
    Buffer logits = e.operand(0), lse = e.operand(1), dloss = e.operand(3);
    VocabularyPart part(e, op.getVocabulary(), width);
    LossTargets targets(e, e.operand(2), width, op.getIgnoreIndex(),
                        e.operand(op.getCountMutable()), &part);
    LossTerms terms = LossTerms::of(op, width);
    Num weight = e.load(dloss, e.index(0)) / targets.count();
    forEachParallel(e, lse.size, [&](Index row) {
      Num logSum = e.load(lse, row), factor = targets.ifCounted(row, weight);
      const LossGradientRow of = {.logits = logits,
                                  .dlogits = e.result(0),
                                  .begin = row * width,
                                  .width = width,
                                  .column = targets.column(row),
                                  .logSum = logSum,
                                  .factor = factor};
      part.isPart() ? emitLossGradientOfPart(e, part, of, terms)
                    : emitLossGradientRow(e, of, terms);
    });
  }

  /// Each block counts the targets itself: they are few compared with a row, and in the cache.
  static void emitOnDevice(CrossEntropyGradOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getLogits());
    Buffer logits = e.operand(0), lse = e.operand(1), dloss = e.operand(3);
    VocabularyPart part(e, op.getVocabulary(), width);
    LossTargets targets(e, e.operand(2), width, op.getIgnoreIndex(),
                        e.operand(op.getCountMutable()), &part);
    forRows(e, lse.size, {.width = width, .isAlone = true, .synchronizes = true}, [&](Index row) {
      Num weight = e.load(dloss, e.index(0)) / targets.count();
      const LossGradientRow of = {.logits = logits,
                                  .dlogits = e.result(0),
                                  .begin = row * width,
                                  .width = width,
                                  .column = targets.column(row),
                                  .logSum = e.load(lse, row),
                                  .factor = targets.ifCounted(row, weight)};
      emitSharedGradientRow(e, of, LossTerms::of(op, width), &part);
    });
  }
};

struct CountTargetsKernel : KernelModel<CountTargetsKernel, CountTargetsOp> {
  /// Returns 1 for a target that counts, 0 for an ignored one.
  static Num countOf(CountTargetsOp op, KernelEmitter &e, Index row) {
    OpBuilder &b = e.builder();
    Value ignored = integer(e, op.getIgnoreIndex()).value;
    Value counts = arith::CmpIOp::create(b, op.getLoc(), arith::CmpIPredicate::ne,
                                         e.loadRaw(e.operand(0), row), ignored);
    return {&b, arith::ExtUIOp::create(b, op.getLoc(), b.getI32Type(), counts)};
  }
  static Num integer(KernelEmitter &e, int64_t value) {
    OpBuilder &b = e.builder();
    return {&b, arith::ConstantOp::create(b, e.location(), b.getI32IntegerAttr(value))};
  }
  static Num add(Num a, Num b) {
    return {a.builder,
            arith::AddIOp::create(*a.builder, a.value.getLoc(), a.value, b.value).getResult()};
  }

  static void emit(CountTargetsOp op, KernelEmitter &e) {
    Row count = fold(e, e.index(0), e.index(e.operand(0).size), integer(e, 0),
                     [&](Index row, ArrayRef<Num> count) -> Row {
                       return {add(count[0], countOf(op, e, row))};
                     });
    e.storeRaw(e.result(0), e.index(0), count[0].value);
  }

  /// It counts in integers, because f32 counts to 2^24.
  static void emitOnDevice(CountTargetsOp op, KernelEmitter &e) {
    DeviceLoops &device = deviceLoops(e);
    device.once(e, [&] {
      Row own = foldSteps(e, device.thread(), e.index(e.operand(0).size), device.threadGroupSize(),
                          integer(e, 0), [&](Index row, ArrayRef<Num> count) -> Row {
                            return {add(count[0], countOf(op, e, row))};
                          });
      Num count = device.acrossThreadGroup(e, own[0], add);
      e.storeRaw(e.result(0), e.index(0), count.value);
    });
  }
};

} // namespace

void llmmem::attachLossKernels(MLIRContext *context) {
  attachKernels<CountTargetsKernel, CrossEntropyKernel, CrossEntropyGradKernel>(context);
  attachLossHeadKernel(context);
  attachVocabularyKernels(context);
}
