//===- ShapeKernels.cpp - Kernels of transposes and ranges ----------------===//

#include "KernelModels.h"
#include "llmmem/Dialect/LlmOps.h"
#include <functional>
#include <numeric>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

ArrayRef<int64_t> shapeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

int64_t productOf(ArrayRef<int64_t> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), int64_t(1), std::multiplies<>());
}

void copyRun(KernelEmitter &e, Index source, Index target, int64_t count) {
  forLanes(e, count, [&](Index j, unsigned lanes) {
    e.storeRaw(e.result(0), target + j, e.loadRaw(e.operand(0), source + j, lanes));
  });
}

//===----------------------------------------------------------------------===//
// Transposes
//===----------------------------------------------------------------------===//

struct TransposeKernel : KernelModel<TransposeKernel, TransposeOp> {
  static void emit(TransposeOp op, KernelEmitter &e) {
    ArrayRef<int64_t> order = op.getOrder(), shape = shapeOf(op.getX());
    size_t moved = order.size();
    while (moved > 0 && order[moved - 1] == static_cast<int64_t>(moved) - 1)
      --moved;
    // The dimensions at the end that do not move are copied in one run.
    int64_t run = productOf(shape.drop_front(moved));
    auto copy = [&](Index number) {
      Index source = sourceOf(e, number, order.take_front(moved), shape) * run;
      copyRun(e, source, number * run, run);
    };
    int64_t runs = e.result(0).size / run;
    run == 1 ? forEachParallel(e, runs, copy) : forRows(e, runs, {run}, copy);
  }

  /// Returns the run of x that is run `number` of y.
  static Index sourceOf(KernelEmitter &e, Index number, ArrayRef<int64_t> order,
                        ArrayRef<int64_t> shape) {
    Index source = e.index(0), rest = number;
    for (int64_t dimension : llvm::reverse(order)) {
      int64_t stride = productOf(shape.slice(dimension + 1, order.size() - dimension - 1));
      source = source + rest % shape[dimension] * stride;
      rest = rest / shape[dimension];
    }
    return source;
  }
};

//===----------------------------------------------------------------------===//
// Ranges of columns
//===----------------------------------------------------------------------===//

/// Describes a range of the columns of a matrix, in pieces that threads take.
struct Range {
  int64_t rows, width, begin, columns;

  /// Threads share the pieces, so a long row is cut where all ranges of the op are cut.
  void forPieces(KernelEmitter &e, int64_t cut,
                 llvm::function_ref<void(Index inWhole, Index inRange, int64_t count)> body) {
    if (columns == 0)
      return;
    constexpr int64_t kShortest = 32;
    int64_t piece = cut < kShortest ? columns : cut, pieces = columns / piece;
    forRows(e, rows * pieces, {.width = piece, .pitch = cut}, [&](Index number) {
      Index row = number / pieces, place = number % pieces * piece;
      body(row * width + begin + place, row * columns + place, piece);
    });
  }
};

/// Returns the range of `part` in `whole`, and where both may be cut.
std::pair<Range, int64_t> rangeOf(Value whole, Value part, int64_t begin) {
  int64_t width = shapeOf(whole).back(), columns = shapeOf(part).back();
  return {{productOf(shapeOf(whole).drop_back()), width, begin, columns},
          std::gcd(std::gcd(columns, width), begin)};
}

struct SliceKernel : KernelModel<SliceKernel, SliceOp> {
  static void emit(SliceOp op, KernelEmitter &e) {
    auto [range, cut] = rangeOf(op.getX(), op.getY(), op.getBegin());
    range.forPieces(e, cut, [&](Index inWhole, Index inRange, int64_t count) {
      copyRun(e, inWhole, inRange, count);
    });
  }
};

struct PadKernel : KernelModel<PadKernel, PadOp> {
  static void emit(PadOp op, KernelEmitter &e) {
    auto [range, cut] = rangeOf(op.getY(), op.getX(), op.getBegin());
    range.forPieces(e, cut, [&](Index inWhole, Index inRange, int64_t count) {
      copyRun(e, inRange, inWhole, count);
    });
    int64_t end = range.begin + range.columns;
    for (Range zeros : {Range{range.rows, range.width, 0, range.begin},
                        Range{range.rows, range.width, end, range.width - end}})
      zeros.forPieces(e, cut, [&](Index inWhole, Index, int64_t count) {
        forLanes(e, count, [&](Index j, unsigned lanes) {
          e.store(e.result(0), inWhole + j, e.splat(0.0, lanes));
        });
      });
  }
};

} // namespace

void llmmem::attachShapeKernels(MLIRContext *context) {
  attachKernels<TransposeKernel, SliceKernel, PadKernel>(context);
}
