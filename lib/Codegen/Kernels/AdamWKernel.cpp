//===- AdamWKernel.cpp - The update by both moments ------------------------===//

#include "Emitter/DynamicMap.h"
#include "Emitter/StochasticRounding.h"
#include "KernelModels.h"
#include "UpdateKernels.h"
#include "UpdateModel.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

/// Returns 1 - beta^t in f64, as the reference computes it on the host.
Num biasCorrection(KernelEmitter &e, double beta, Num step) {
  return 1.0 - power(step.like(beta), step);
}

/// Loads what all threads of a row know and one of them replaces at its end: on a GPU that one
/// reads it.
Num loadForRow(KernelEmitter &e, Buffer buffer, Index index) {
  if (e.options().target != KernelTarget::Gpu)
    return e.load(buffer, index);
  DeviceLoops &device = deviceLoops(e);
  Num read = chooseIf(e, equal(device.thread(), e.index(0)), {e.number(0.0)},
                      [&]() -> Row { return {e.load(buffer, index)}; })[0];
  return device.acrossThreadGroup(e, read, [](Num a, Num b) { return a + b; });
}

/// Describes one block of a first or second moment in 8 bits, whose numbers are replaced in place.
struct MomentOfBlock {
  KernelEmitter &e;
  Buffer bytes;
  Num scale;
  DynamicMap map;

  Num load(Index i, unsigned lanes) const {
    return map.numbersOf(e.builder(), e.location(), e.loadRaw(bytes, i, lanes)) * scale;
  }
  /// Stores `x` under the new scale. Zeros alone have the scale 0, and a step that is skipped
  /// (where `isTaken` is given and false) does not change the numbers.
  void store(Buffer to, Index i, unsigned lanes, Num x, Num newScale, Value isTaken) const {
    Value isZero = arith::CmpFOp::create(e.builder(), e.location(), arith::CmpFPredicate::OEQ,
                                         newScale.value, newScale.like(0.0).value);
    Value rounded = map.bytesOf(select(isZero, e.splat(0.0, lanes), x / newScale));
    if (isTaken)
      rounded = arith::SelectOp::create(e.builder(), e.location(), isTaken, rounded,
                                        e.loadRaw(bytes, i, lanes));
    e.storeRaw(to, i, rounded);
  }
};

struct AdamWKernel : UpdateModel<AdamWKernel, AdamWOp> {
  enum Factor : unsigned { Decay, StepSize, Root, Clip };

  static bool isElementwise(AdamWOp op) { return !op.hasBlocks(); }

  static void emitUpdate(AdamWOp op, KernelEmitter &e) {
    op.hasBlocks() ? emitBlocks(op, e) : UpdateModel::emitUpdate(op, e);
  }

  static SmallVector<MutableOperandRange> commonOperands(AdamWOp op) {
    return {op.getLearningRateMutable(), op.getStepMutable(), op.getNormMutable(),
            op.getFactorMutable()};
  }

  static Row factors(AdamWOp op, KernelEmitter &e) {
    Type precise = e.builder().getF64Type();
    Num rate = convert(e.load(e.operand(op.getLearningRateMutable()), e.index(0)), precise);
    Num step =
        convert(toNumber(e.loadIndex(e.operand(op.getStepMutable()), e.index(0)), e.computeType()),
                precise);
    Num first = biasCorrection(e, op.getBeta1().convertToDouble(), step);
    Num second = biasCorrection(e, op.getBeta2().convertToDouble(), step);
    return {convert(1.0 - rate * op.getWeightDecay().convertToDouble(), e.computeType()),
            convert(rate / first, e.computeType()), convert(sqrt(second), e.computeType()),
            gradientFactor(op, e)};
  }

  static Num gradientAt(AdamWOp op, KernelEmitter &e, Index i, unsigned lanes, ArrayRef<Num> f) {
    Num g = e.load(e.operand(1), i, lanes);
    return scalesGradient(op) ? g * f[Clip] : g;
  }
  static Num firstAfter(AdamWOp op, Num old, Num g) {
    double beta = op.getBeta1().convertToDouble();
    return old * beta + g * (1.0 - beta);
  }
  static Num secondAfter(AdamWOp op, Num old, Num g) {
    double beta = op.getBeta2().convertToDouble();
    return old * beta + g * g * (1.0 - beta);
  }

  /// Stores the new parameter, and its master copy; returns what decay alone makes of the old one.
  static Num updateParam(AdamWOp op, KernelEmitter &e, Index i, unsigned lanes, Num m, Num v,
                         ArrayRef<Num> f) {
    Buffer master = e.operand(op.getMasterMutable()), source = master ? master : e.operand(0);
    Num old = e.load(source, i, lanes), p = old * f[Decay];
    Num updated = p - f[StepSize] * m / (sqrt(v) / f[Root] + op.getEps().convertToDouble());
    updated = unlessSkipped(op, f[Clip], updated, old);
    e.store(e.result(0), i, updated);
    if (master)
      e.store(e.result(op->getNumResults() - 1), i, updated);
    return p;
  }

  static void updateAt(AdamWOp op, KernelEmitter &e, Index i, unsigned lanes, ArrayRef<Num> f) {
    Num g = gradientAt(op, e, i, lanes, f);
    Num oldM = e.load(e.operand(2), i, lanes), oldV = e.load(e.operand(3), i, lanes);
    Num m = firstAfter(op, oldM, g), v = secondAfter(op, oldV, g);
    Num p = updateParam(op, e, i, lanes, m, v, f);
    // An old value already has the type of the moments, so random bits do not change it.
    storeMoments(op, e, i,
                 {g, p, unlessSkipped(op, f[Clip], m, oldM), unlessSkipped(op, f[Clip], v, oldV)});
  }

  /// The last two of the values are the moments.
  static void storeMoments(AdamWOp op, KernelEmitter &e, Index i, std::array<Num, 4> values) {
    bool isStochastic = op.getFirstMoment().getType().getElementType().isBF16();
    std::array<Value, 2> randomBits;
    if (isStochastic)
      randomBits = randomBitsOf(e, values, e.loadIndex(e.operand(op.getStepMutable()), e.index(0)));
    for (unsigned moment : {0u, 1u}) {
      Buffer buffer = e.result(1 + moment);
      if (isStochastic)
        storeStochastically(e, buffer, i, values[2 + moment], randomBits[moment]);
      else
        e.store(buffer, i, values[2 + moment]);
    }
  }

  //===--------------------------------------------------------------------===//
  // Moments in 8 bits
  //===--------------------------------------------------------------------===//

  static void emitBlocks(AdamWOp op, KernelEmitter &e) {
    Row common;
    bool onDevice = e.options().target == KernelTarget::Gpu;
    Buffer factorsOfAll = onDevice ? e.workspace(0, 4, e.computeType()) : Buffer();
    if (onDevice)
      // A power in f64 costs more than a block does, so it is not computed once a block.
      deviceLoops(e).once(e, [&] {
        for (auto [number, factor] : llvm::enumerate(factors(op, e)))
          e.store(factorsOfAll, e.index(number), factor);
      });
    else
      common = factors(op, e);
    auto blocks = [&](int64_t first, int64_t count, int64_t width) {
      forRows(e, count, {.width = width, .pitch = AdamWOp::kBlock}, [&](Index row) {
        Row f = common;
        for (int64_t number = 0; onDevice && number < 4; ++number)
          f.push_back(e.load(factorsOfAll, e.index(number)));
        updateBlock(op, e, row + first, width, f);
      });
    };
    int64_t whole = e.operand(0).size / AdamWOp::kBlock, rest = e.operand(0).size % AdamWOp::kBlock;
    blocks(0, whole, AdamWOp::kBlock);
    if (rest > 0)
      blocks(whole, 1, rest);
  }

  /// The new moments are computed twice: for the largest of each, and to be stored.
  static void updateBlock(AdamWOp op, KernelEmitter &e, Index block, int64_t width,
                          ArrayRef<Num> f) {
    unsigned scales = op.getScalesMutable()[0].getOperandNumber();
    Index begin = block * AdamWOp::kBlock;
    auto moment = [&](unsigned number) -> MomentOfBlock {
      return {e, e.operand(2 + number), loadForRow(e, e.operand(scales + number), block),
              DynamicMap(/*isSigned=*/number == 0)};
    };
    MomentOfBlock first = moment(0), second = moment(1);
    auto newFirst = [&](Index i, unsigned lanes) {
      return firstAfter(op, first.load(i, lanes), gradientAt(op, e, i, lanes, f));
    };
    auto newSecond = [&](Index i, unsigned lanes) {
      return secondAfter(op, second.load(i, lanes), gradientAt(op, e, i, lanes, f));
    };
    Num most = maximumOver(e, width, [&](Index i, unsigned lanes) {
      Num m = newFirst(begin + i, lanes);
      return maximum(m, -m);
    });
    Num mostSquared =
        maximumOver(e, width, [&](Index i, unsigned lanes) { return newSecond(begin + i, lanes); });
    Value isTaken = op.getFactor() ? isOrdered(f[Clip]) : Value();
    forLanes(e, width, [&](Index j, unsigned lanes) {
      Index i = begin + j;
      Num m = newFirst(i, lanes), v = newSecond(i, lanes);
      updateParam(op, e, i, lanes, m, v, f);
      first.store(e.result(1), i, lanes, m, most, isTaken);
      second.store(e.result(2), i, lanes, v, mostSquared, isTaken);
    });
    e.store(e.result(3), block, unlessSkipped(op, f[Clip], most, first.scale));
    e.store(e.result(4), block, unlessSkipped(op, f[Clip], mostSquared, second.scale));
  }
};

} // namespace

void llmmem::attachAdamWKernel(MLIRContext *context) { attachKernels<AdamWKernel>(context); }
