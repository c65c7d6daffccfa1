//===- ColumnKernels.cpp - Sums over rows, column by column ---------------===//
//
// There may be thousands of rows, and terms that nearly cancel (the gradient of a key's bias), so
// each addition keeps its rounding error (ExactSums.h). DeviceColumnSums.h says how a GPU adds.
//
//===----------------------------------------------------------------------===//

#include "ColumnSums.h"
#include "Emitter/Ranks.h"
#include "Gpu/DeviceColumnSums.h"
#include "KernelModels.h"
#include "llmmem/Dialect/LlmOps.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

int64_t widthOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getShape().back(); }

//===----------------------------------------------------------------------===//
// On a CPU: each column from its accumulator, in the order of the rows
//===----------------------------------------------------------------------===//

/// Computes result[j] = into[j] + sum of term(row, j) over the rows, for `width` columns. An
/// iteration takes a few cache lines of every row.
void emitSumsOnCpu(KernelEmitter &e, Buffer into, int64_t rows, int64_t width, ColumnTerm term) {
  constexpr int64_t vectors = 4;
  int64_t lanes = e.lanes(), block = vectors * lanes;
  int64_t whole = width - width % block, vectorised = width - width % lanes;
  forEachParallel(e, width / block, [&](Index number) {
    emitColumnSums(e, into, rows, number * block, vectors, lanes, term);
  });
  forSteps(e, e.index(whole), e.index(vectorised), lanes,
           [&](Index j) { emitColumnSums(e, into, rows, j, 1, lanes, term); });
  forEach(e, e.index(vectorised), e.index(width),
          [&](Index j) { emitColumnSums(e, into, rows, j, 1, 1, term); });
}

//===----------------------------------------------------------------------===//
// On either
//===----------------------------------------------------------------------===//

} // namespace

void llmmem::emitColumnSumsOf(KernelEmitter &e, Buffer into, int64_t rows, int64_t width,
                              ColumnTerm term, int64_t buffers) {
  if (e.options().target == KernelTarget::Gpu)
    emitColumnSumsOnDevice(e, {into, rows, width, /*period=*/width, buffers, term});
  else
    emitSumsOnCpu(e, into, rows, width, term);
}

namespace {

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

struct SumRowsKernel : KernelModel<SumRowsKernel, SumRowsOp> {
  static void emit(SumRowsOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getDy());
    Buffer dy = e.operand(0);
    emitColumnSumsOf(
        e, e.operand(op.getIntoMutable()), dy.size / width, width,
        [&](Index row, Index j, unsigned lanes) { return e.load(dy, row * width + j, lanes); });
  }
};

struct SumGroupRowsKernel : KernelModel<SumGroupRowsKernel, SumGroupRowsOp> {
  /// The sums of all groups are adjacent, as one row of columns.
  static void emit(SumGroupRowsOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getDy()), groups = op.getDb().getType().getNumElements() / width;
    Buffer dy = e.operand(0), into = e.operand(op.getIntoMutable());
    int64_t rows = dy.size / width / groups;
    auto term = [&](Index row, Index j, unsigned lanes) {
      return e.load(dy, (j / width * rows + row) * width + j % width, lanes);
    };
    if (e.options().target == KernelTarget::Gpu)
      return emitColumnSumsOnDevice(
          e, {into, rows, groups * width, /*period=*/width, /*buffers=*/1, term});
    forEachParallel(e, groups, [&](Index group) {
      forLanes(e, width, [&](Index j, unsigned lanes) {
        emitColumnSums(e, into, rows, group * width + j, 1, lanes, term);
      });
    });
  }
};

struct NormWeightGradKernel : KernelModel<NormWeightGradKernel, NormWeightGradOp> {
  static void emit(NormWeightGradOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getX());
    Buffer x = e.operand(0), dy = e.operand(1), rstd = e.operand(2),
           mean = e.operand(op.getMeanMutable());
    emitColumnSumsOf(
        e, e.operand(op.getIntoMutable()), rstd.size, width,
        [&](Index row, Index j, unsigned lanes) {
          Num v = e.load(x, row * width + j, lanes);
          Num centred = mean ? v - e.load(mean, row) : v;
          return e.load(dy, row * width + j, lanes) * (centred * e.load(rstd, row));
        },
        /*buffers=*/2);
  }
};

struct PositionsGradKernel : KernelModel<PositionsGradKernel, PositionsGradOp> {
  /// Handles a rank that has the positions from a place in the table on that only it knows.
  static void emitPart(PositionsGradOp op, KernelEmitter &e) {
    ArrayRef<int64_t> shape = op.getDy().getType().getShape();
    int64_t width = shape.back(), seq = shape[shape.size() - 2], used = seq * width;
    Buffer dy = e.operand(0), into = e.operand(op.getIntoMutable()), table = e.result(0);
    Index firstRow = positionInGroup(e, *op.getAxes()) * seq, first = firstRow * width;
    auto addend = [&](Index j, unsigned lanes) {
      return into ? e.load(into, j, lanes) : e.splat(0.0, lanes);
    };
    forLanesParallel(e, used, [&](Index j, unsigned lanes) {
      Row sum = fold(e, e.index(0), e.index(dy.size / used),
                     Row{addend(first + j, lanes), e.splat(0.0, lanes)},
                     [&](Index b, ArrayRef<Num> carried) {
                       return addExactly(carried, e.load(dy, b * used + j, lanes));
                     });
      e.store(table, first + j, sum[0] + sum[1]);
    });
    auto copyRow = [&](Index row) {
      forLanes(e, width, [&](Index j, unsigned lanes) {
        e.store(table, row * width + j, addend(row * width + j, lanes));
      });
    };
    forEachParallel(e, table.size / width - seq, [&](Index row) {
      ifThen(e, less(row, firstRow), [&] { copyRow(row); });
      ifThen(e, less(firstRow - 1, row), [&] { copyRow(row + seq); });
    });
  }

  static void emit(PositionsGradOp op, KernelEmitter &e) {
    if (op.getAxes())
      return emitPart(op, e);
    ArrayRef<int64_t> shape = op.getDy().getType().getShape();
    int64_t used = shape[shape.size() - 2] * shape.back();
    Buffer dy = e.operand(0), into = e.operand(op.getIntoMutable()), table = e.result(0);
    emitColumnSumsOf(e, into, dy.size / used, used, [&](Index b, Index j, unsigned lanes) {
      return e.load(dy, b * used + j, lanes);
    });
    int64_t rest = table.size - used, width = shape.back();
    auto copy = [&](Index j, unsigned lanes) {
      e.store(table, j + used, into ? e.load(into, j + used, lanes) : e.splat(0.0, lanes));
    };
    // On a GPU vectors must be aligned in every row.
    if (e.options().target == KernelTarget::Gpu && rest > 0)
      forRows(e, rest / width, {width}, [&](Index row) {
        forLanes(e, width, [&](Index j, unsigned lanes) { copy(row * width + j, lanes); });
      });
    else
      forLanesParallel(e, rest, copy);
  }
};

} // namespace

void llmmem::attachColumnKernels(MLIRContext *context) {
  attachKernels<SumRowsKernel, SumGroupRowsKernel, NormWeightGradKernel, PositionsGradKernel>(
      context);
}
