//===- AdafactorKernel.cpp - An update by rows and columns ----------------===//
//
// There is one loop after another, each over rows or columns: the squares of the gradient over
// rows, and over columns; then the squares of the update, which need both; then the update. The
// workspace holds what a loop leaves for the next one.
//
//===----------------------------------------------------------------------===//

#include "KernelModels.h"
#include "UpdateKernels.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

class AdafactorEmitter {
public:
  AdafactorEmitter(AdafactorOp op, KernelEmitter &e)
      : op(op), e(e), buffers(op, e), rows(op.getRows()), columns(op.getColumns()),
        eps(op.getEps().convertToDouble()), work(e.workspace()) {}

  void emit();

private:
  /// Numbers places in the workspace after the rows' sums of squares, of p and then of u.
  enum Common : int64_t { RowMean, Scale, StepSize };
  Index place(Common common) { return e.index(2 * rows + common); }
  RowShape shape() const { return {.width = columns}; }

  Num rate() { return e.load(e.operand(op.getLearningRateMutable()), e.index(0)); }
  Num step();
  Num weightOfStep();
  Num clip() { return gradientFactor(op, e); }
  /// Returns a first or second moment after a step whose gradients are multiplied by `clip`.
  Num follow(Num old, Num now, Num weight, Num clip) {
    return unlessSkipped(op, clip, old + weight * (now - old), old);
  }
  Num updateAt(Index row, Index column, unsigned lanes, Num clip, Num ofRow);
  Num rowFactor(Index row);
  void sumRows();
  void followSecondMoment(Index row, Num clip, Num weight);
  void sumColumns();
  void sumColumnsApart();
  void findScale();
  void sumUpdate();
  void findStepSize();
  void update();
  void atOnce(function_ref<void()> body);
  Num total(int64_t count, function_ref<Num(Index)> term);

  AdafactorOp op;
  KernelEmitter &e;
  StatesOfUpdate buffers;
  int64_t rows, columns;
  double eps;
  Buffer work;
};
} // namespace

void AdafactorEmitter::emit() {
  sumRows();
  if (op.isFactored())
    sumColumns();
  findScale();
  sumUpdate();
  findStepSize();
  update();
}

Num AdafactorEmitter::step() {
  return toNumber(e.loadIndex(e.operand(op.getStepMutable()), e.index(0)), e.computeType());
}

/// Returns the share of the second moment that this step replaces: the number of the step, 1 or
/// more, to the power of beta2_decay. A GPU has no function for a power with a non-integer
/// exponent.
Num AdafactorEmitter::weightOfStep() {
  Num decay = e.number(op.getBeta2Decay().convertToDouble());
  return e.options().target == KernelTarget::Gpu ? exp(decay * log(step())) : power(step(), decay);
}

void AdafactorEmitter::atOnce(function_ref<void()> body) {
  if (e.options().target == KernelTarget::Gpu)
    return deviceLoops(e).once(e, body);
  body();
}

Num AdafactorEmitter::total(int64_t count, function_ref<Num(Index)> term) {
  if (e.options().target == KernelTarget::Gpu)
    return deviceLoops(e).sumOfElements(e, count, term);
  return fold(e, e.index(0), e.index(count), e.number(0.0),
              [&](Index i, ArrayRef<Num> sum) -> Row { return {sum[0] + term(i)}; })[0];
}

//===----------------------------------------------------------------------===//
// Second moments
//===----------------------------------------------------------------------===//

/// If the parameter is no matrix the second moment is updated element by element.
void AdafactorEmitter::followSecondMoment(Index row, Num clip, Num weight) {
  forLanes(e, columns, [&](Index j, unsigned lanes) {
    Num g = e.load(e.operand(1), row * columns + j, lanes) * clip;
    Num v = e.load(buffers.state(0), row * columns + j, lanes);
    e.store(buffers.newState(0), row * columns + j, follow(v, g * g, weight, clip));
  });
}

void AdafactorEmitter::sumRows() {
  RowShape whole = shape();
  whole.synchronizes = op.isFactored();
  forRows(e, rows, whole, [&](Index row) {
    Num scaling = clip(), weight = weightOfStep();
    Num own = sumOver(e, columns, [&](Index j, unsigned lanes) {
      Num p = e.load(buffers.source(), row * columns + j, lanes);
      return p * p;
    });
    e.store(work, row, own);
    if (!op.isFactored())
      return followSecondMoment(row, scaling, weight);
    // This precedes the sum, at which the threads of a block wait for each other, because the new
    // state has the bytes of the old one.
    Num old = e.load(buffers.state(0), row);
    Num squares = sumOver(e, columns, [&](Index j, unsigned lanes) {
      Num g = e.load(e.operand(1), row * columns + j, lanes) * scaling;
      return g * g;
    });
    e.store(buffers.newState(0), row,
            follow(old, squares / static_cast<double>(columns), weight, scaling));
  });
}

/// On a GPU vectors of rows begin at multiples of their size; otherwise a column is summed by
/// itself.
void AdafactorEmitter::sumColumns() {
  auto lanesOfVector = static_cast<int64_t>(e.lanes());
  if (e.options().target == KernelTarget::Gpu && columns % lanesOfVector != 0)
    return sumColumnsApart();
  auto common = [&]() -> Row { return {clip(), weightOfStep()}; };
  forLanesParallel(e, columns, common, [&](Index j, unsigned lanes, ArrayRef<Num> factors) {
    auto addSquare = [&](Index row, ArrayRef<Num> sum) -> Row {
      Num g = e.load(e.operand(1), row * columns + j, lanes) * factors[0];
      return {sum[0] + g * g};
    };
    Num squares = fold(e, e.index(0), e.index(rows), e.splat(0.0, lanes), addSquare)[0];
    Num old = e.load(buffers.state(1), j, lanes);
    e.store(buffers.newState(1), j,
            follow(old, squares / static_cast<double>(rows), factors[1], factors[0]));
  });
}

void AdafactorEmitter::sumColumnsApart() {
  forRows(e, columns, {.width = rows, .synchronizes = true}, [&](Index j) {
    Num scaling = clip(), weight = weightOfStep();
    // This precedes the sum, as for rows.
    Num old = e.load(buffers.state(1), j);
    Num squares = deviceLoops(e).sumOfElements(e, rows, [&](Index row) {
      Num g = e.load(e.operand(1), row * columns + j) * scaling;
      return g * g;
    });
    e.store(buffers.newState(1), j,
            follow(old, squares / static_cast<double>(rows), weight, scaling));
  });
}

//===----------------------------------------------------------------------===//
// The update
//===----------------------------------------------------------------------===//

/// Computes the mean of the rows' moments, and how large the parameter is.
void AdafactorEmitter::findScale() {
  auto elements = static_cast<double>(rows * columns);
  atOnce([&] {
    Num squares = total(rows, [&](Index row) { return e.load(work, row); });
    Num scale = maximum(sqrt(squares) / std::sqrt(elements), e.number(AdafactorOp::kSmallestScale));
    e.store(work, place(Scale), scale);
    if (!op.isFactored())
      return;
    Num mean = total(rows, [&](Index row) { return e.load(buffers.newState(0), row); });
    e.store(work, place(RowMean), maximum(mean / static_cast<double>(rows), e.number(eps)));
  });
}

/// Returns what a row contributes to each of its second moments.
Num AdafactorEmitter::rowFactor(Index row) {
  if (!op.isFactored())
    return e.number(1.0);
  return e.load(buffers.newState(0), row) / e.load(work, place(RowMean));
}

Num AdafactorEmitter::updateAt(Index row, Index column, unsigned lanes, Num clip, Num ofRow) {
  Index at = row * columns + column;
  Num moment = op.isFactored() ? ofRow * e.load(buffers.newState(1), column, lanes)
                               : e.load(buffers.newState(0), at, lanes);
  return e.load(e.operand(1), at, lanes) * clip / sqrt(maximum(moment, moment.like(eps * eps)));
}

void AdafactorEmitter::sumUpdate() {
  forRows(e, rows, shape(), [&](Index row) {
    Num scaling = clip(), ofRow = rowFactor(row);
    Num squares = sumOver(e, columns, [&](Index j, unsigned lanes) {
      Num u = updateAt(row, j, lanes, scaling, ofRow);
      return u * u;
    });
    e.store(work, row + rows, squares);
  });
}

void AdafactorEmitter::findStepSize() {
  auto elements = static_cast<double>(rows * columns);
  atOnce([&] {
    Num squares = total(rows, [&](Index row) { return e.load(work, row + rows); });
    Num length = maximum(sqrt(squares) / std::sqrt(elements), e.number(1.0));
    // This is not a maximum of the negatives, because a NaN of the rate must reach the parameters.
    Num limit = 1.0 / sqrt(step()), wanted = rate();
    Value isTooLarge = arith::CmpFOp::create(e.builder(), e.location(), arith::CmpFPredicate::OGT,
                                             wanted.value, limit.value);
    e.store(work, place(StepSize),
            e.load(work, place(Scale)) * select(isTooLarge, limit, wanted) / length);
  });
}

void AdafactorEmitter::update() {
  forRows(e, rows, shape(), [&](Index row) {
    Num scaling = clip(), ofRow = rowFactor(row), size = e.load(work, place(StepSize));
    Num kept = 1.0 - rate() * op.getWeightDecay().convertToDouble();
    forLanes(e, columns, [&](Index j, unsigned lanes) {
      Index at = row * columns + j;
      Num p = e.load(buffers.source(), at, lanes);
      Num updated = p * kept - size * updateAt(row, j, lanes, scaling, ofRow);
      buffers.storeParam(at, unlessSkipped(op, scaling, updated, p));
    });
  });
}

namespace {
struct AdafactorKernel : KernelModel<AdafactorKernel, AdafactorOp> {
  static void emit(AdafactorOp op, KernelEmitter &e) { AdafactorEmitter(op, e).emit(); }
};
} // namespace

void llmmem::attachAdafactorKernel(MLIRContext *context) {
  attachKernels<AdafactorKernel>(context);
}
