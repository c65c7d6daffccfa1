//===- RelativeKernels.cpp - Biases by distance, and what a decoder reads -===//

#include "KernelModels.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Dialect/RelativePositions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

template <typename Op>
RelativePositions positionsOf(Op op, Value table) {
  return {.buckets = cast<RankedTensorType>(table.getType()).getDimSize(0),
          .maxDistance = static_cast<int64_t>(op.getMaxDistance()),
          .bidirectional = op.getBidirectional(),
          .queries = static_cast<int64_t>(op.getQueries()),
          .keys = static_cast<int64_t>(op.getKeys())};
}

/// The distances of a bucket are neighbours, so there is a loop for each bucket and no search.
struct RelativeBiasKernel : KernelModel<RelativeBiasKernel, RelativeBiasOp> {
  static void emit(RelativeBiasOp op, KernelEmitter &e) {
    RelativePositions positions = positionsOf(op, op.getTable());
    int64_t heads = op.getBias().getType().getDimSize(0);
    forEachParallel(e, heads, [&](Index head) {
      Index begin = head * positions.distances();
      for (auto [bucket, range] : llvm::enumerate(positions.ranges())) {
        Num bias = e.load(e.operand(0), head + static_cast<int64_t>(bucket) * heads);
        forEach(e, e.index(range.begin), e.index(range.end),
                [&](Index place) { e.store(e.result(0), begin + place, bias); });
      }
    });
  }
};

struct RelativeBiasGradKernel : KernelModel<RelativeBiasGradKernel, RelativeBiasGradOp> {
  using Sum = function_ref<Num(int64_t count, function_ref<Num(Index)> term)>;

  static void emitWith(RelativeBiasGradOp op, KernelEmitter &e, Sum sum) {
    RelativePositions positions = positionsOf(op, op.getDtable());
    int64_t heads = op.getDbias().getType().getDimSize(0);
    Buffer into = e.operand(op.getIntoMutable());
    forEachParallel(e, heads, [&](Index head) {
      for (auto [bucket, range] : llvm::enumerate(positions.ranges())) {
        Index place = head + static_cast<int64_t>(bucket) * heads;
        // It is read before it is written, because the bytes may be the same.
        Num before = into ? e.load(into, place) : e.number(0.0);
        Index begin = head * positions.distances() + range.begin;
        Num sumOfRange =
            sum(range.end - range.begin, [&](Index d) { return e.load(e.operand(0), begin + d); });
        e.store(e.result(0), place, before + sumOfRange);
      }
    });
  }

  static void emit(RelativeBiasGradOp op, KernelEmitter &e) {
    emitWith(op, e, [&](int64_t count, function_ref<Num(Index)> term) {
      return fold(e, e.index(0), e.index(count), e.number(0.0),
                  [&](Index d, ArrayRef<Num> carried) -> Row { return {carried[0] + term(d)}; })[0];
    });
  }

  static void emitOnDevice(RelativeBiasGradOp op, KernelEmitter &e) {
    DeviceLoops &device = deviceLoops(e);
    emitWith(op, e, [&](int64_t count, function_ref<Num(Index)> term) {
      return device.sumOfElements(e, count, term);
    });
  }
};

struct AddRelativeBiasKernel : KernelModel<AddRelativeBiasKernel, AddRelativeBiasOp> {
  static void emit(AddRelativeBiasOp op, KernelEmitter &e) {
    ArrayRef<int64_t> shape = op.getScores().getType().getShape();
    int64_t heads = shape[1], queries = shape[2], keys = shape[3];
    int64_t distances = queries + keys - 1;
    // The bias of a row's first key has the place of its query.
    forRows(e, shape[0] * heads * queries, {.width = keys, .pitch = 1}, [&](Index row) {
      Index head = row / queries % heads, query = row % queries;
      Index first = head * distances + (queries - 1) - query;
      forLanes(e, keys, [&](Index key, unsigned lanes) {
        Index place = row * keys + key;
        e.store(e.result(0), place,
                e.load(e.operand(0), place, lanes) + e.load(e.operand(1), first + key, lanes));
      });
    });
  }
};

/// Sums a batch's elements first, so that an addend is never much smaller than the sum.
struct SumDiagonalsKernel : KernelModel<SumDiagonalsKernel, SumDiagonalsOp> {
  static void emit(SumDiagonalsOp op, KernelEmitter &e) {
    ArrayRef<int64_t> shape = op.getX().getType().getShape();
    int64_t batch = shape[0], heads = shape[1], queries = shape[2], keys = shape[3];
    int64_t distances = queries + keys - 1;
    auto add = [&](Index lower, Index upper, function_ref<Num(Index)> term) {
      return fold(e, lower, upper, e.number(0.0),
                  [&](Index i, ArrayRef<Num> carried) -> Row { return {carried[0] + term(i)}; })[0];
    };
    forEachParallel(e, heads * distances, [&](Index number) {
      Index head = number / distances, d = number % distances;
      Index first = maximum(d, e.index(queries - 1)) - d;
      Index end = minimum(e.index(queries), e.index(distances) - d);
      Num sum = add(e.index(0), e.index(batch), [&](Index b) {
        Index plane = (b * heads + head) * (queries * keys);
        return add(first, end, [&](Index query) {
          return e.load(e.operand(0), plane + query * keys + query + d - (queries - 1));
        });
      });
      e.store(e.result(0), number, sum);
    });
  }
};

struct ShiftTokensKernel : KernelModel<ShiftTokensKernel, ShiftTokensOp> {
  static void emit(ShiftTokensOp op, KernelEmitter &e) {
    OpBuilder &builder = e.builder();
    Location loc = e.location();
    auto id = [&](int64_t constant) -> Value {
      return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(constant));
    };
    int64_t seq = op.getIds().getType().getDimSize(1);
    forEachParallel(e, e.result(0).size, [&](Index number) {
      Value before = e.loadRaw(e.operand(0), maximum(number, e.index(1)) - 1);
      Value isNone = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, before, id(0));
      Value there = arith::SelectOp::create(builder, loc, isNone, id(op.getPadding()), before);
      Value isFirst = equal(number % seq, e.index(0));
      e.storeRaw(e.result(0), number,
                 arith::SelectOp::create(builder, loc, isFirst, id(op.getStart()), there));
    });
  }
};

} // namespace

void llmmem::attachRelativeKernels(MLIRContext *context) {
  attachKernels<RelativeBiasKernel, RelativeBiasGradKernel, AddRelativeBiasKernel,
                SumDiagonalsKernel, ShiftTokensKernel>(context);
}
