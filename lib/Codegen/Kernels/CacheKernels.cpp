//===- CacheKernels.cpp - Positions of new tokens, and rows of caches -----===//

#include "Emitter/FewerBits.h"
#include "KernelModels.h"
#include "llmmem/Codegen/Emitter/Expectations.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

int64_t widthOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getShape().back(); }

Value both(KernelEmitter &e, Value a, Value b) {
  return arith::AndIOp::create(e.builder(), e.location(), a, b);
}
Value isPosition(KernelEmitter &e, Index x) { return less(e.index(-1), x); }

void copyRow(KernelEmitter &e, Buffer from, Index source, Buffer to, Index target, int64_t width) {
  forLanes(e, width, [&](Index i, unsigned lanes) {
    e.storeRaw(to, target + i, e.loadRaw(from, source + i, lanes));
  });
}

struct PositionsKernel : KernelModel<PositionsKernel, PositionsOp> {
  static void emit(PositionsOp op, KernelEmitter &e) {
    int64_t seq = widthOf(op.getPositions()), context = op.getContext();
    Buffer counts = e.operand(op.getCountsMutable());
    forEachParallel(e, e.result(0).size, [&](Index row) {
      Index b = row / seq, s = row % seq, length = e.loadIndex(e.operand(0), b);
      Value isToken = both(e, isPosition(e, length), less(length + s, e.index(context)));
      if (counts)
        isToken = both(e, isToken, less(s, e.loadIndex(counts, b)));
      Value position = arith::SelectOp::create(e.builder(), e.location(), isToken,
                                               (length + s).value, e.index(-1).value);
      e.storeRaw(e.result(0), row,
                 arith::IndexCastOp::create(e.builder(), e.location(), e.builder().getI32Type(),
                                            position));
    });
  }
};

struct LastRowsKernel : KernelModel<LastRowsKernel, LastRowsOp> {
  static void emit(LastRowsOp op, KernelEmitter &e) {
    int64_t seq = op.getX().getType().getDimSize(1), width = widthOf(op.getX());
    forRows(e, op.getX().getType().getDimSize(0), {width}, [&](Index b) {
      Index count = minimum(maximum(e.loadIndex(e.operand(1), b), e.index(1)), e.index(seq));
      copyRow(e, e.operand(0), (b * seq + count - 1) * width, e.result(0), b * width, width);
    });
  }
};

//===----------------------------------------------------------------------===//
// Rows in fewer bits
//===----------------------------------------------------------------------===//

struct PackKernel : KernelModel<PackKernel, PackOp> {
  static void emit(PackOp op, KernelEmitter &e) {
    Buffer x = e.operand(0), packed = e.result(0), scales = e.result(1);
    Type element = op.getPacked().getType().getElementType();
    int64_t group = groupSizeOf(op.getPacked(), op.getScales());
    double largest = largestPacked(element);
    forRows(e, scales.size, {group}, [&](Index number) {
      Num most = maximumOver(e, group, [&](Index i, unsigned lanes) {
        Num value = e.load(x, number * group + i, lanes);
        return maximum(value, -value);
      });
      Num stored = convert(most / largest, scales.element), scale = convert(stored, most.type());
      e.store(scales, number, scale);
      forLanes(e, group, [&](Index i, unsigned lanes) {
        Num rounded = within(e.load(x, number * group + i, lanes) / scale, largest);
        rounded = select(isZero(e, scale), e.splat(0.0, lanes), rounded);
        e.storeRaw(packed, number * group + i, bytesOfNumbers(rounded, element));
      });
    });
  }

  /// A scale is rounded, and may be a little smaller than the largest number needs.
  static Num within(Num x, double largest) {
    return -maximum(-maximum(x, x.like(-largest)), x.like(-largest));
  }
  static Value isZero(KernelEmitter &e, Num x) {
    return arith::CmpFOp::create(e.builder(), e.location(), arith::CmpFPredicate::OEQ, x.value,
                                 x.like(0.0).value);
  }
};

struct UnpackKernel : KernelModel<UnpackKernel, UnpackOp> {
  static void emit(UnpackOp op, KernelEmitter &e) {
    int64_t group = groupSizeOf(op.getPacked(), op.getScales());
    HeldBuffer rows{
        e.operand(0), e.operand(1), {}, {op.getPacked().getType().getElementType(), group}};
    forRows(e, rows.scales.size, {group}, [&](Index number) {
      GroupScale scale{e.load(rows.scales, number), std::nullopt};
      forLanes(e, group, [&](Index i, unsigned lanes) {
        Index place = number * group + i;
        e.store(e.result(0), place, load(e, rows, place, lanes, scale));
      });
    });
  }
};

//===----------------------------------------------------------------------===//
// New rows of caches
//===----------------------------------------------------------------------===//

/// Describes caches, which are the op's first operands, and the new rows of each, which follow.
struct NewRows {
  KernelEmitter &e;
  unsigned caches;
  int64_t batch, seq, width, rows, ofSequence, pages;
  bool ring;
  Buffer positions, table;

  NewRows(AppendCacheOp op, KernelEmitter &e)
      : NewRows(e, 2, op.getKeys(), op.getK(), op.getTable(), op.getRing()) {
    table = e.operand(op.getTableMutable());
  }
  NewRows(AppendRowsOp op, KernelEmitter &e)
      : NewRows(e, 1, op.getRows(), op.getRow(), op.getTable(), /*ring=*/false) {
    table = e.operand(op.getTableMutable());
  }

  void emitRow(Index token) {
    Index position = e.loadIndex(positions, token), b = token / seq;
    Index slot = ring ? position % capacity() : position;
    ifThen(e, isStored(token, position), [&] {
      if (!table)
        return copy(token, b * rows + slot);
      Index page = e.loadIndex(table, b * ofSequence + slot / rows);
      ifThen(e, both(e, isPosition(e, page), less(page, e.index(pages))),
             [&] { copy(token, page * rows + slot % rows); });
    });
  }

  /// Copies the caches where the results are not in their place. A plan has them in place, so on a
  /// GPU few threads do it.
  void emitCopies() {
    for (unsigned number = 0; number < caches; ++number) {
      Buffer cache = e.operand(number), result = e.result(number);
      if (e.options().target == KernelTarget::Cpu)
        ifThen(e, lieApart(e, cache, result), [&] {
          forLanesParallel(e, cache.size, [&](Index i, unsigned lanes) {
            e.storeRaw(result, i, e.loadRaw(cache, i, lanes));
          });
        });
      else
        copyOnDevice(cache, result);
    }
  }

private:
  NewRows(KernelEmitter &e, unsigned caches, Value cache, Value row, Value table, bool ring)
      : e(e), caches(caches), batch(shapeOf(row)[0]), seq(shapeOf(row)[1]), width(shapeOf(row)[2]),
        rows(shapeOf(cache)[1]), ofSequence(table ? widthOf(table) : 1), pages(shapeOf(cache)[0]),
        ring(ring), positions(e.operand(2 * caches)) {}

  static ArrayRef<int64_t> shapeOf(Value tensor) {
    return cast<RankedTensorType>(tensor.getType()).getShape();
  }
  int64_t capacity() const { return rows * ofSequence; }

  Value isStored(Index token, Index position) {
    Value stored = isPosition(e, position);
    if (!ring)
      return both(e, stored, less(position, e.index(capacity())));
    if (seq <= capacity())
      return stored;
    // A token that arrives together with it replaces it.
    Index s = token % seq, later = minimum(s + capacity(), e.index(seq - 1)) - s;
    Value isLast = less(e.index(seq - 1), s + capacity());
    Value isFree = less(e.loadIndex(positions, token + later), e.index(0));
    return both(e, stored, arith::OrIOp::create(e.builder(), e.location(), isLast, isFree));
  }

  void copy(Index token, Index row) {
    for (unsigned number = 0; number < caches; ++number)
      copyRow(e, e.operand(caches + number), token * width, e.result(number), row * width, width);
  }

  void copyOnDevice(Buffer cache, Buffer result) {
    constexpr int64_t kMostBlocks = 512;
    auto lanes = static_cast<unsigned>(std::gcd<int64_t>(e.lanes(), cache.size));
    int64_t vectors = cache.size / lanes;
    int64_t blocks = std::min<int64_t>(kMostBlocks, llvm::divideCeil(vectors, kBlockThreads));
    deviceLoops(e).launch(e, blocks, kBlockThreads, [&](Index block, Index thread) {
      ifThen(e, lieApart(e, cache, result), [&] {
        expectIterations(e.builder().getInsertionBlock()->getParentOp(), 0);
        forSteps(e, block * kBlockThreads + thread, e.index(vectors), blocks * kBlockThreads,
                 [&](Index vector) {
                   e.storeRaw(result, vector * lanes, e.loadRaw(cache, vector * lanes, lanes));
                 });
      });
    });
  }
};

template <typename AppendLike>
struct AppendKernel : KernelModel<AppendKernel<AppendLike>, AppendLike> {
  static void emit(AppendLike op, KernelEmitter &e) {
    NewRows added(op, e);
    added.emitCopies();
    forRows(e, added.batch * added.seq, {added.width}, [&](Index token) { added.emitRow(token); });
  }
};

} // namespace

void llmmem::attachCacheKernels(MLIRContext *context) {
  attachKernels<PositionsKernel, LastRowsKernel, AppendKernel<AppendCacheOp>,
                AppendKernel<AppendRowsOp>, PackKernel, UnpackKernel>(context);
}
