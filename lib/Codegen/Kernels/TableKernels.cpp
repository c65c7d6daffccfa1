//===- TableKernels.cpp - Kernels that look up and copy -------------------===//

#include "Emitter/FewerBits.h"
#include "Emitter/VocabularyPart.h"
#include "Gpu/TableSums.h"
#include "KernelModels.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

int64_t widthOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getShape().back(); }

void copyElements(KernelEmitter &e, Buffer from, Index source, Buffer to, Index target,
                  int64_t count) {
  forLanes(e, count, [&](Index j, unsigned lanes) {
    e.storeRaw(to, target + j, e.loadRaw(from, source + j, lanes));
  });
}

struct EmbeddingKernel : KernelModel<EmbeddingKernel, EmbeddingOp> {
  static void emit(EmbeddingOp op, KernelEmitter &e) {
    Buffer ids = e.operand(0);
    HeldBuffer table =
        heldOperand(e, op.getTableMutable(), op.getScalesMutable(), op.getZerosMutable());
    int64_t width = widthOf(op.getTable());
    VocabularyPart vocabulary(e, op.getVocabulary(), op.getTable().getType().getDimSize(0));
    forRows(e, ids.size, {width}, [&](Index position) {
      Index row = vocabulary.place(e.loadIndex(ids, position));
      auto copy = [&] {
        if (!table.isPacked())
          return copyElements(e, table.payload, row * width, e.result(0), position * width, width);
        forLanes(e, width, [&](Index j, unsigned lanes) {
          e.store(e.result(0), position * width + j, load(e, table, row * width + j, lanes));
        });
      };
      if (!vocabulary.isPart())
        return copy();
      forLanes(e, width, [&](Index j, unsigned lanes) {
        e.store(e.result(0), position * width + j, e.splat(0.0, lanes));
      });
      ifThen(e, vocabulary.has(row), copy);
    });
  }
};

//===----------------------------------------------------------------------===//
// The gradient of an embedding
//===----------------------------------------------------------------------===//

/// Searches the ids for lookups of a row, a vector of ids at a time.
struct Lookups {
  KernelEmitter &e;
  Buffer ids;
  VocabularyPart vocabulary;

  Index rowAt(Index position) { return vocabulary.place(e.loadIndex(ids, position)); }

  /// Returns whether any of the ids of a whole vector from `position` on looks up `row`.
  Value anyOf(Index position, Index row) {
    OpBuilder &b = e.builder();
    Location loc = row.value.getLoc();
    Value raw = e.loadRaw(ids, position, e.lanes());
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(
          b, loc,
          DenseElementsAttr::get(cast<VectorType>(raw.getType()), static_cast<int32_t>(value)));
    };
    Value clamped = arith::MaxSIOp::create(b, loc, raw, constant(0));
    clamped = arith::MinSIOp::create(b, loc, clamped, constant(vocabulary.size - 1));
    Value number = arith::IndexCastOp::create(b, loc, b.getI32Type(), vocabulary.token(row).value);
    Value wanted = vector::BroadcastOp::create(b, loc, raw.getType(), number);
    Value hits = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, clamped, wanted);
    return vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, hits);
  }

  /// Returns whether no position before this one looks up `row`.
  Value isFirst(Index position, Index row) {
    OpBuilder &b = e.builder();
    Location loc = row.value.getLoc();
    auto orElse = [&](ArrayRef<Num> found, Value hit) -> Row {
      return {{&b, arith::OrIOp::create(b, loc, found[0].value, hit)}};
    };
    Num none{&b, arith::ConstantOp::create(b, loc, b.getBoolAttr(false))};
    Index vectors = position / e.lanes();
    Row found = fold(e, e.index(0), vectors, none, [&](Index k, ArrayRef<Num> carried) {
      return orElse(carried, anyOf(k * e.lanes(), row));
    });
    found = fold(e, vectors * e.lanes(), position, found, [&](Index other, ArrayRef<Num> carried) {
      return orElse(carried, equal(rowAt(other), row));
    });
    Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    return arith::XOrIOp::create(b, loc, found[0].value, yes);
  }

  /// Calls `body`, in their order, with the positions that look up `row`, the first of which is
  /// `first`.
  void forThose(Index first, Index row, function_ref<void(Index)> body) {
    auto test = [&](Index position) {
      ifThen(e, equal(rowAt(position), row), [&] { body(position); });
    };
    int64_t lanes = e.lanes(), whole = ids.size - ids.size % lanes;
    forSteps(e, (first / lanes) * lanes, e.index(whole), lanes, [&](Index begin) {
      ifThen(e, anyOf(begin, row), [&] { forEach(e, begin, begin + lanes, test); });
    });
    forEach(e, maximum(first, e.index(whole)), e.index(ids.size), test);
  }
};

/// The iteration of the first position with a row's id accumulates the row in the compute type, in
/// the order of the positions, and rounds it once.
struct EmbeddingGradKernel : KernelModel<EmbeddingGradKernel, EmbeddingGradOp> {
  static void emit(EmbeddingGradOp op, KernelEmitter &e) {
    Buffer into = e.operand(op.getIntoMutable()), table = e.result(0);
    int64_t width = widthOf(op.getDy());
    auto begin = [&] {
      forLanesParallel(e, table.size, [&](Index i, unsigned lanes) {
        e.store(table, i, into ? e.load(into, i, lanes) : e.splat(0.0, lanes));
      });
    };
    // A batch looks up few rows of a table that may be the model's largest parameter.
    into ? ifThen(e, lieApart(e, into, table), begin) : begin();
    Lookups lookups{e, e.operand(0), VocabularyPart(e, op.getVocabulary(), table.size / width)};
    forEachParallel(e, lookups.ids.size, [&](Index position) {
      Index row = lookups.rowAt(position);
      auto sumIfFirst = [&] {
        ifThen(e, lookups.isFirst(position, row),
               [&] { sumOneRow(lookups, e.operand(1), table, position, row, width); });
      };
      lookups.vocabulary.isPart() ? ifThen(e, lookups.vocabulary.has(row), sumIfFirst)
                                  : sumIfFirst();
    });
  }

  static void sumOneRow(Lookups &lookups, Buffer dy, Buffer table, Index position, Index row,
                        int64_t width) {
    KernelEmitter &e = lookups.e;
    Buffer sum = e.scratch(width);
    forLanes(e, width, [&](Index j, unsigned lanes) {
      e.store(sum, j, e.load(table, row * width + j, lanes));
    });
    lookups.forThose(position, row, [&](Index other) {
      forLanes(e, width, [&](Index j, unsigned lanes) {
        e.store(sum, j, e.load(sum, j, lanes) + e.load(dy, other * width + j, lanes));
      });
    });
    forLanes(e, width, [&](Index j, unsigned lanes) {
      e.store(table, row * width + j, e.load(sum, j, lanes));
    });
  }

  static void emitOnDevice(EmbeddingGradOp op, KernelEmitter &e) {
    Buffer table = e.result(0);
    int64_t width = widthOf(op.getDy());
    VocabularyPart vocabulary(e, op.getVocabulary(), table.size / width);
    emitTableSums(e, e.operand(0), e.operand(1), e.operand(op.getIntoMutable()), table, width,
                  vocabulary);
  }
};

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// Returns rows of `columns`, from column `begin` of rows of `width` on.
RowShape shapeOf(int64_t columns, int64_t width, int64_t begin) {
  return {.width = columns, .pitch = std::gcd(std::gcd(columns, width), begin)};
}

/// Says where a row of a part begins.
struct RowPosition {
  Buffer buffer;
  Index row;
};

/// Returns whether the parts are equal parts of rows of `width`, on a GPU: a thread then has a
/// vector of each part in flight, and no launch waits for that of another part.
bool copiesPartsTogether(ValueRange parts) {
  auto isFirst = [&](Value part) { return part.getType() == parts[0].getType(); };
  return parts.size() <= 4 && llvm::all_of(parts, isFirst);
}

void copyPartsTogether(
    KernelEmitter &e, int64_t rows, int64_t columns, int64_t parts,
    function_ref<std::pair<RowPosition, RowPosition>(Index row, int64_t part)> fromAndTo) {
  forRows(e, rows, shapeOf(columns, parts * columns, 0), [&](Index row) {
    SmallVector<std::pair<RowPosition, RowPosition>> places;
    for (int64_t part = 0; part < parts; ++part)
      places.push_back(fromAndTo(row, part));
    forLanes(e, columns, [&](Index j, unsigned lanes) {
      SmallVector<Value> loaded;
      for (const auto &[from, to] : places)
        loaded.push_back(e.loadRaw(from.buffer, from.row + j, lanes));
      for (auto [value, place] : llvm::zip(loaded, places))
        e.storeRaw(place.second.buffer, place.second.row + j, value);
    });
  });
}

struct SplitKernel : KernelModel<SplitKernel, SplitOp> {
  static void emitOnDevice(SplitOp op, KernelEmitter &e) {
    if (!copiesPartsTogether(op.getParts()))
      return emit(op, e);
    int64_t width = widthOf(op.getX()), columns = widthOf(op.getParts()[0]);
    auto places = [&](Index row, int64_t part) -> std::pair<RowPosition, RowPosition> {
      return {{e.operand(0), row * width + part * columns}, {e.result(part), row * columns}};
    };
    copyPartsTogether(e, e.operand(0).size / width, columns, width / columns, places);
  }

  static void emit(SplitOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getX()), begin = 0;
    for (auto [number, part] : llvm::enumerate(op.getParts())) {
      int64_t columns = widthOf(part);
      forRows(e, e.operand(0).size / width, shapeOf(columns, width, begin), [&](Index row) {
        copyElements(e, e.operand(0), row * width + begin, e.result(number), row * columns,
                     columns);
      });
      begin += columns;
    }
  }
};

struct ConcatKernel : KernelModel<ConcatKernel, ConcatOp> {
  static void emitOnDevice(ConcatOp op, KernelEmitter &e) {
    if (!copiesPartsTogether(op.getParts()))
      return emit(op, e);
    int64_t width = widthOf(op.getY()), columns = widthOf(op.getParts()[0]);
    auto places = [&](Index row, int64_t part) -> std::pair<RowPosition, RowPosition> {
      return {{e.operand(part), row * columns}, {e.result(0), row * width + part * columns}};
    };
    copyPartsTogether(e, e.result(0).size / width, columns, width / columns, places);
  }

  static void emit(ConcatOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getY()), begin = 0;
    for (auto [number, part] : llvm::enumerate(op.getParts())) {
      int64_t columns = widthOf(part);
      forRows(e, e.result(0).size / width, shapeOf(columns, width, begin), [&](Index row) {
        copyElements(e, e.operand(number), row * columns, e.result(0), row * width + begin,
                     columns);
      });
      begin += columns;
    }
  }
};

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

int64_t headsOf(Value heads) {
  return cast<RankedTensorType>(heads.getType()).getShape().end()[-2];
}

struct RepeatHeadsKernel : KernelModel<RepeatHeadsKernel, RepeatHeadsOp> {
  static void emit(RepeatHeadsOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getX()), heads = headsOf(op.getY());
    forRows(e, e.result(0).size / width, {width}, [&](Index row) {
      copyElements(e, e.operand(0), row / heads * width, e.result(0), row * width, width);
    });
  }
};

struct SumHeadsKernel : KernelModel<SumHeadsKernel, SumHeadsOp> {
  static void emit(SumHeadsOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getX()), heads = headsOf(op.getX());
    forRows(e, e.result(0).size / width, {width}, [&](Index row) {
      forLanes(e, width, [&](Index i, unsigned lanes) {
        Row sum = fold(e, e.index(0), e.index(heads), e.splat(0.0, lanes),
                       [&](Index head, ArrayRef<Num> before) -> Row {
                         Index place = (row * heads + head) * width + i;
                         return {before[0] + e.load(e.operand(0), place, lanes)};
                       });
        e.store(e.result(0), row * width + i, sum[0]);
      });
    });
  }
};

} // namespace

void llmmem::attachTableKernels(MLIRContext *context) {
  attachKernels<EmbeddingKernel, EmbeddingGradKernel, SplitKernel, ConcatKernel, RepeatHeadsKernel,
                SumHeadsKernel>(context);
}
