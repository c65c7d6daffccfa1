//===- TableKernels.cpp - Kernels that look up and copy --------------------===//

#include "KernelModels.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

int64_t widthOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getShape().back(); }

/// The row that an id looks up: ids outside the table are clamped into it.
Index rowOf(KernelEmitter &e, Buffer ids, Index position, int64_t rows) {
  return minimum(maximum(e.loadIndex(ids, position), e.index(0)), e.index(rows - 1));
}

void copyElements(KernelEmitter &e, Buffer from, Index source, Buffer to, Index target,
                  int64_t count) {
  e.forLanes(count, [&](Index j, unsigned lanes) {
    e.storeRaw(to, target + j, e.loadRaw(from, source + j, lanes));
  });
}

struct EmbeddingKernel : KernelModel<EmbeddingKernel, EmbeddingOp> {
  static void emit(EmbeddingOp op, KernelEmitter &e) {
    Buffer ids = e.operand(0), table = e.operand(1);
    int64_t width = widthOf(op.getTable());
    e.forEach(ids.size, [&](Index position) {
      Index row = rowOf(e, ids, position, table.size / width);
      copyElements(e, table, row * width, e.result(0), position * width, width);
    });
  }
};

/// Whether no position before this one has the same id.
Value isFirst(KernelEmitter &e, Buffer ids, Index position, Index row, int64_t rows) {
  Row seen =
      e.fold(e.index(0), position, e.number(0.0), [&](Index other, ArrayRef<Num> found) -> Row {
        return {select(equal(rowOf(e, ids, other, rows), row), e.number(1.0), found[0])};
      });
  return arith::CmpFOp::create(e.builder(), seen[0].value.getLoc(), arith::CmpFPredicate::OEQ,
                               seen[0].value, e.number(0.0).value);
}

/// A row's sum is made in wide numbers, at the first position that has its id, and rounded once.
struct EmbeddingGradKernel : KernelModel<EmbeddingGradKernel, EmbeddingGradOp> {
  static void emit(EmbeddingGradOp op, KernelEmitter &e) {
    Buffer ids = e.operand(0), dy = e.operand(1), into = e.operand(op.getIntoMutable()),
           table = e.result(0);
    int64_t width = widthOf(op.getDy()), rows = table.size / width;
    e.forLanes(table.size, [&](Index i, unsigned lanes) {
      Num zero = lanes == 1 ? e.number(0.0) : e.zeroRow(lanes)[0];
      e.store(table, i, into ? e.load(into, i, lanes) : zero);
    });
    Buffer sum = e.scratch(width);
    e.forEach(ids.size, [&](Index position) {
      Index row = rowOf(e, ids, position, rows);
      e.ifThen(isFirst(e, ids, position, row, rows),
               [&] { sumOneRow(e, ids, dy, table, sum, position, row, width); });
    });
  }

  static void sumOneRow(KernelEmitter &e, Buffer ids, Buffer dy, Buffer table, Buffer sum,
                        Index position, Index row, int64_t width) {
    e.forLanes(width, [&](Index j, unsigned lanes) {
      e.store(sum, j, e.load(table, row * width + j, lanes));
    });
    e.forEach(position, e.index(ids.size), [&](Index other) {
      e.ifThen(equal(rowOf(e, ids, other, table.size / width), row), [&] {
        e.forLanes(width, [&](Index j, unsigned lanes) {
          e.store(sum, j, e.load(sum, j, lanes) + e.load(dy, other * width + j, lanes));
        });
      });
    });
    e.forLanes(width, [&](Index j, unsigned lanes) {
      e.store(table, row * width + j, e.load(sum, j, lanes));
    });
  }
};

struct SplitKernel : KernelModel<SplitKernel, SplitOp> {
  static void emit(SplitOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getX()), begin = 0;
    for (auto [number, part] : llvm::enumerate(op.getParts())) {
      int64_t columns = widthOf(part);
      e.forEach(e.operand(0).size / width, [&](Index row) {
        copyElements(e, e.operand(0), row * width + begin, e.result(number), row * columns,
                     columns);
      });
      begin += columns;
    }
  }
};

struct ConcatKernel : KernelModel<ConcatKernel, ConcatOp> {
  static void emit(ConcatOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getY()), begin = 0;
    for (auto [number, part] : llvm::enumerate(op.getParts())) {
      int64_t columns = widthOf(part);
      e.forEach(e.result(0).size / width, [&](Index row) {
        copyElements(e, e.operand(number), row * columns, e.result(0), row * width + begin,
                     columns);
      });
      begin += columns;
    }
  }
};

} // namespace

void llmmem::attachTableKernels(MLIRContext *context) {
  attachKernels<EmbeddingKernel, EmbeddingGradKernel, SplitKernel, ConcatKernel>(context);
}
