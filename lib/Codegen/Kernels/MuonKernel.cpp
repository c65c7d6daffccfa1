//===- MuonKernel.cpp - An update whose singular values are near 1 --------===//
//
// The iteration works on the parameter as it is stored: where it has more rows than columns, x x^T
// becomes x^T x and multiplies from the right, which is the iteration of the transposed matrix.
//
//===----------------------------------------------------------------------===//

#include "Emitter/Matmuls.h"
#include "KernelModels.h"
#include "UpdateKernels.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Dialect/MuonWorkspace.h"
#include <cmath>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

class MuonEmitter {
public:
  MuonEmitter(MuonOp op, KernelEmitter &e)
      : op(op), e(e), buffers(op, e), rows(op.getParam().getType().getShape()[0]),
        columns(op.getParam().getType().getShape()[1]), shorter(op.getShorter()) {
    // Each part lies at an address for vectors, whatever the sizes of those before it are.
    int64_t taken = 0, width = e.computeType().getWidth() / 8;
    auto take = [&](int64_t size) {
      Buffer buffer = e.workspace(taken * width, size, e.computeType());
      taken += muonPart(size);
      return buffer;
    };
    x = take(rows * columns), next = take(rows * columns);
    gram = take(shorter * shorter), factor = take(shorter * shorter);
    squares = take(rows), length = take(1);
  }

  void emit();

private:
  bool isWide() const { return rows <= columns; }
  void followGradient();
  void normalize();
  void iterate();
  void scaleInto(Buffer from, double by, Buffer to);
  void update();

  MuonOp op;
  KernelEmitter &e;
  StatesOfUpdate buffers;
  int64_t rows, columns, shorter;
  Buffer x, next, gram, factor, squares, length;
};
} // namespace

void MuonEmitter::emit() {
  followGradient();
  normalize();
  for (int64_t i = 0; i < MuonOp::kIterations; ++i)
    iterate();
  update();
}

/// Computes the average of gradients, the step direction, and its squares by rows.
void MuonEmitter::followGradient() {
  double momentum = op.getMomentum().convertToDouble();
  forRows(e, rows, {.width = columns, .isAlone = true}, [&](Index row) {
    Num clip = gradientFactor(op, e);
    forLanes(e, columns, [&](Index j, unsigned lanes) {
      Index at = row * columns + j;
      Num g = e.load(e.operand(1), at, lanes) * clip, old = e.load(buffers.state(0), at, lanes);
      Num m = old + (g - old) * (1.0 - momentum);
      e.store(buffers.newState(0), at, unlessSkipped(op, clip, m, old));
      e.store(x, at, op.getNesterov() ? g + (m - g) * momentum : m);
    });
  });
  forRows(e, rows, {.width = columns, .isAlone = true}, [&](Index row) {
    e.store(squares, row, sumOver(e, columns, [&](Index j, unsigned lanes) {
              Num u = e.load(x, row * columns + j, lanes);
              return u * u;
            }));
  });
}

void MuonEmitter::normalize() {
  auto findLength = [&](Num sum) {
    e.store(length, e.index(0), maximum(sqrt(sum), e.number(1e-7)));
  };
  if (e.options().target == KernelTarget::Gpu)
    deviceLoops(e).once(e, [&] {
      findLength(
          deviceLoops(e).sumOfElements(e, rows, [&](Index i) { return e.load(squares, i); }));
    });
  else
    findLength(
        sumOver(e, rows, [&](Index i, unsigned lanes) { return e.load(squares, i, lanes); }));
  auto common = [&]() -> Row { return {e.load(length, e.index(0))}; };
  forLanesParallel(e, rows * columns, common, [&](Index i, unsigned lanes, ArrayRef<Num> f) {
    e.store(x, i, e.load(x, i, lanes) / f[0]);
  });
}

void MuonEmitter::scaleInto(Buffer from, double by, Buffer to) {
  forLanesParallel(e, from.size,
                   [&](Index i, unsigned lanes) { e.store(to, i, e.load(from, i, lanes) * by); });
}

/// Computes a = x x^T; x = 3.4445 x + (-4.7750 a + 2.0315 a a) x.
void MuonEmitter::iterate() {
  constexpr double first = 3.4445, third = -4.7750, fifth = 2.0315;
  Matrix whole{x, columns}, flipped{x, columns, /*transposed=*/true}, a{gram, shorter},
      b{factor, shorter}, to{next, columns};
  emitMatmul(op, e,
             {.a = isWide() ? whole : flipped,
              .b = isWide() ? flipped : whole,
              .c = a,
              .rows = shorter,
              .columns = shorter,
              .inner = op.getLonger()});
  scaleInto(gram, third, factor);
  emitMatmul(op, e,
             {.a = a,
              .b = a,
              .c = b,
              .rows = shorter,
              .columns = shorter,
              .inner = shorter,
              .scale = fifth,
              .kind = PlainSum{.initial = b}});
  scaleInto(x, first, next);
  emitMatmul(op, e,
             {.a = isWide() ? b : whole,
              .b = isWide() ? whole : b,
              .c = to,
              .rows = rows,
              .columns = columns,
              .inner = shorter,
              .kind = PlainSum{.initial = to}});
  std::swap(x, next);
}

/// The factor makes an update as large as one of AdamW, so that one learning rate serves both (Liu
/// et al. 2025, section 2.2).
void MuonEmitter::update() {
  double size = 0.2 * std::sqrt(static_cast<double>(op.getLonger()));
  auto common = [&]() -> Row {
    Num rate = e.load(e.operand(op.getLearningRateMutable()), e.index(0));
    return {rate * size, 1.0 - rate * op.getWeightDecay().convertToDouble(), gradientFactor(op, e)};
  };
  forLanesParallel(e, rows * columns, common, [&](Index i, unsigned lanes, ArrayRef<Num> f) {
    Num p = e.load(buffers.source(), i, lanes);
    buffers.storeParam(i, unlessSkipped(op, f[2], p * f[1] - f[0] * e.load(x, i, lanes), p));
  });
}

namespace {
struct MuonKernel : KernelModel<MuonKernel, MuonOp> {
  static void emit(MuonOp op, KernelEmitter &e) { MuonEmitter(op, e).emit(); }
};
} // namespace

void llmmem::attachMuonKernel(MLIRContext *context) { attachKernels<MuonKernel>(context); }
