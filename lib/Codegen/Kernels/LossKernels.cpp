//===- LossKernels.cpp - The loss and its gradient, row by row ------------===//

#include "KernelModels.h"
#include "LossRows.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
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
    return e.toNumber(e.loadIndex(given, e.index(0)));
  if (e.options().target == KernelTarget::Gpu)
    return deviceLoops(e).sumOfElements(e, targets.size,
                                        [&](Index row) { return ifCounted(row, e.number(1.0)); });
  return e.fold(e.index(0), e.index(targets.size), e.number(0.0),
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

/// log(sum exp) from the maximum and the sum of powers that each thread of the group has found.
static Num logSumOfThreadGroup(KernelEmitter &e, ArrayRef<Num> own) {
  DeviceLoops &device = deviceLoops(e);
  Num largest = device.acrossThreadGroup(e, own[0], [](Num a, Num b) { return maximum(a, b); });
  Num powers = own[1] * exp(own[0] - largest);
  return largest + log(device.acrossThreadGroup(e, powers, [](Num a, Num b) { return a + b; }));
}

/// In one pass over the row, with a running maximum by which the sum is rescaled, as in the online
/// softmax of Milakov & Gimelshein (2018).
static Num logSumExpOnDevice(KernelEmitter &e, Buffer logits, Index begin, int64_t width) {
  double lowest = lowestLogit(e);
  auto start = [&](unsigned lanes) -> Row { return {e.splat(lowest, lanes), e.splat(0.0, lanes)}; };
  auto step = [&](Index j, unsigned lanes, ArrayRef<Num> carried) -> Row {
    Num x = e.load(logits, begin + j, lanes), largest = maximum(carried[0], x);
    return {largest, carried[1] * exp(carried[0] - largest) + exp(x - largest)};
  };
  auto acrossLanes = [&](ArrayRef<Num> carried) -> Row {
    Num largest = maximumOfLanes(carried[0]);
    return {largest, sumOfLanes(carried[1] * exp(carried[0] - largest))};
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
  return logSumOfThreadGroup(e, e.foldSteps(device.thread(), e.index(softmax.tiles),
                                            device.threadGroupSize(), start, step));
}

Num llmmem::logSumExp(KernelEmitter &e, Buffer logits, Index begin, int64_t width,
                      VocabularyPart *part) {
  if (e.options().target == KernelTarget::Gpu)
    return logSumExpOnDevice(e, logits, begin, width);
  auto logit = [&](Index j, unsigned lanes) {
    Num x = e.load(logits, begin + j, lanes);
    return part ? part->ifTokens(j, lanes, x, e.splat(lowestLogit(e), lanes)) : x;
  };
  Num largest = e.maximumOver(width, logit);
  Num powers =
      e.sum(width, [&](Index j, unsigned lanes) { return exp(logit(j, lanes) - largest); });
  return largest + log(powers);
}

/// Distributed over threads: none may access another's elements, not even the target's.
static void emitSharedGradientRow(KernelEmitter &e, Buffer logits, Buffer dlogits, Index begin,
                                  int64_t width, Index column, Num logSum, Num factor) {
  OpBuilder &b = e.builder();
  Location loc = e.location();
  Value target = arith::IndexCastOp::create(b, loc, b.getI64Type(), column.value);
  e.forLanes(width, [&](Index j, unsigned lanes) {
    Value numbers = e.elementNumbers(j, lanes), wanted = target;
    if (lanes > 1)
      wanted = vector::BroadcastOp::create(b, loc, numbers.getType(), target);
    Value isTarget = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, numbers, wanted);
    Num p = exp(e.load(logits, begin + j, lanes) - logSum);
    e.store(dlogits, begin + j, (p - select(isTarget, p.like(1.0), p.like(0.0))) * factor);
  });
}

void llmmem::emitLossGradientRow(KernelEmitter &e, Buffer logits, Buffer dlogits, Index begin,
                                 int64_t width, Index column, Num logSum, Num factor) {
  if (e.options().target == KernelTarget::Gpu)
    return emitSharedGradientRow(e, logits, dlogits, begin, width, column, logSum, factor);
  Index hit = begin + column;
  // Read before the row is overwritten.
  Num atTarget = (exp(e.load(logits, hit) - logSum) - 1.0) * factor;
  e.forLanes(width, [&](Index j, unsigned lanes) {
    e.store(dlogits, begin + j, exp(e.load(logits, begin + j, lanes) - logSum) * factor);
  });
  e.store(dlogits, hit, atTarget);
}

void llmmem::emitLossGradientOfPart(KernelEmitter &e, VocabularyPart &part, Buffer logits,
                                    Buffer dlogits, Index begin, int64_t width, Index column,
                                    Num logSum, Num factor) {
  // Read before the row is overwritten.
  Index hit = begin + part.nearest(column);
  Num atTarget = (exp(e.load(logits, hit) - logSum) - 1.0) * factor;
  e.forLanes(width, [&](Index j, unsigned lanes) {
    Num p = exp(e.load(logits, begin + j, lanes) - logSum) * factor;
    e.store(dlogits, begin + j, part.ifTokens(j, lanes, p, p.like(0.0)));
  });
  e.ifThen(part.has(column), [&] { e.store(dlogits, hit, atTarget); });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {

int64_t widthOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getShape().back(); }

struct CrossEntropyKernel : KernelModel<CrossEntropyKernel, CrossEntropyOp> {
  static void emit(CrossEntropyOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getLogits());
    Buffer logits = e.operand(0), lse = e.result(1);
    LossTargets targets(e, e.operand(1), width, op.getIgnoreIndex(),
                        e.operand(op.getCountMutable()));
    e.forEachParallel(
        lse.size, [&](Index row) { e.store(lse, row, logSumExp(e, logits, row * width, width)); });
    Row sum = e.fold(e.index(0), e.index(lse.size), e.number(0.0),
                     [&](Index row, ArrayRef<Num> sum) -> Row {
                       Num hit = e.load(logits, row * width + targets.column(row));
                       return {sum[0] + targets.ifCounted(row, e.load(lse, row) - hit)};
                     });
    e.store(e.result(0), e.index(0), sum[0] / targets.count());
  }

  static void emitOnDevice(CrossEntropyOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getLogits());
    Buffer logits = e.operand(0), lse = e.result(1);
    LossTargets targets(e, e.operand(1), width, op.getIgnoreIndex(),
                        e.operand(op.getCountMutable()));
    e.forRows(lse.size, {.width = width, .isAlone = true},
              [&](Index row) { e.store(lse, row, logSumExp(e, logits, row * width, width)); });
    deviceLoops(e).once(e, [&] {
      Num sum = deviceLoops(e).sumOfElements(e, lse.size, [&](Index row) {
        Num hit = e.load(logits, row * width + targets.column(row));
        return targets.ifCounted(row, e.load(lse, row) - hit);
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
    Num weight = e.load(dloss, e.index(0)) / targets.count();
    e.forEachParallel(lse.size, [&](Index row) {
      Num logSum = e.load(lse, row), factor = targets.ifCounted(row, weight);
      if (part.isPart())
        emitLossGradientOfPart(e, part, logits, e.result(0), row * width, width,
                               targets.column(row), logSum, factor);
      else
        emitLossGradientRow(e, logits, e.result(0), row * width, width, targets.column(row), logSum,
                            factor);
    });
  }

  /// Each block counts the targets itself: they are few beside a row, and in the cache.
  static void emitOnDevice(CrossEntropyGradOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getLogits());
    Buffer logits = e.operand(0), lse = e.operand(1), dloss = e.operand(3);
    LossTargets targets(e, e.operand(2), width, op.getIgnoreIndex(),
                        e.operand(op.getCountMutable()));
    e.forRows(lse.size, {.width = width, .isAlone = true, .synchronizes = true}, [&](Index row) {
      Num weight = e.load(dloss, e.index(0)) / targets.count();
      emitLossGradientRow(e, logits, e.result(0), row * width, width, targets.column(row),
                          e.load(lse, row), targets.ifCounted(row, weight));
    });
  }
};

struct CountTargetsKernel : BaseModel<CountTargetsKernel, CountTargetsOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &e) const {
    if (e.options().target == KernelTarget::Gpu)
      return op->emitOpError("has no kernel on a GPU yet; lower the step for a CPU");
    Buffer targets = e.operand(0);
    OpBuilder &b = e.builder();
    Location loc = op->getLoc();
    auto integer = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
    };
    Value ignored = integer(cast<CountTargetsOp>(op).getIgnoreIndex());
    Row count = e.fold(e.index(0), e.index(targets.size), Num{&b, integer(0)},
                       [&](Index row, ArrayRef<Num> count) -> Row {
                         Value counts = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                                              e.loadRaw(targets, row), ignored);
                         Value one = arith::ExtUIOp::create(b, loc, b.getI32Type(), counts);
                         return {Num{&b, arith::AddIOp::create(b, loc, count[0].value, one)}};
                       });
    e.storeRaw(e.result(0), e.index(0), count[0].value);
    return success();
  }
};

} // namespace

void llmmem::attachLossKernels(MLIRContext *context) {
  attachKernels<CountTargetsKernel, CrossEntropyKernel, CrossEntropyGradKernel>(context);
  attachLossHeadKernel(context);
  attachVocabularyKernels(context);
}
