//===- ColumnKernels.cpp - Sums over rows, column by column ---------------===//
//
// There may be thousands of rows, and terms that nearly cancel (the gradient of a key's bias), so
// each addition keeps its rounding error (Knuth's TwoSum).
//
// On a GPU a block takes 32 bytes of every row, or 16 where that leaves multiprocessors without a
// block, and distributes the rows over its threads: so sums need no intermediate memory between
// launches, and are combined in a fixed order.
//
//===----------------------------------------------------------------------===//

#include "Emitter/Ranks.h"
#include "KernelModels.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Targets/SplitSums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/bit.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

int64_t widthOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getShape().back(); }

//===----------------------------------------------------------------------===//
// On a CPU: each column from its accumulator, in the order of the rows
//===----------------------------------------------------------------------===//

/// A sum and the rounding error that it has accumulated.
Row addExactly(ArrayRef<Num> sum, Num x) {
  Num next = sum[0] + x, back = next - sum[0];
  Num lost = (sum[0] - (next - back)) + (x - back);
  return {next, sum[1] + lost};
}

using ColumnTerm = function_ref<Num(Index row, Index j, unsigned lanes)>;

/// The sums of `vectors` neighbouring vectors of `lanes` columns from `begin` on.
void emitSumsFrom(KernelEmitter &e, Buffer into, int64_t rows, Index begin, int64_t vectors,
                  unsigned lanes, ColumnTerm term) {
  Row initial;
  for (int64_t k = 0; k < vectors; ++k) {
    Num zero = e.splat(0.0, lanes);
    initial.append({into ? e.load(into, begin + k * lanes, lanes) : zero, zero});
  }
  Row sums = e.fold(e.index(0), e.index(rows), initial, [&](Index row, ArrayRef<Num> carried) {
    Row next;
    for (int64_t k = 0; k < vectors; ++k)
      next.append(addExactly(carried.slice(2 * k, 2), term(row, begin + k * lanes, lanes)));
    return next;
  });
  for (int64_t k = 0; k < vectors; ++k)
    e.store(e.result(0), begin + k * lanes, sums[2 * k] + sums[2 * k + 1]);
}

/// result[j] = into[j] + sum of term(row, j) over the rows, for `width` columns. An iteration takes
/// a few cache lines of every row.
void emitSumsOnCpu(KernelEmitter &e, Buffer into, int64_t rows, int64_t width, ColumnTerm term) {
  constexpr int64_t vectors = 4;
  int64_t lanes = e.lanes(), block = vectors * lanes;
  int64_t whole = width - width % block, vectorised = width - width % lanes;
  e.forEachParallel(width / block, [&](Index number) {
    emitSumsFrom(e, into, rows, number * block, vectors, lanes, term);
  });
  e.forSteps(e.index(whole), e.index(vectorised), lanes,
             [&](Index j) { emitSumsFrom(e, into, rows, j, 1, lanes, term); });
  e.forEach(e.index(vectorised), e.index(width),
            [&](Index j) { emitSumsFrom(e, into, rows, j, 1, 1, term); });
}

//===----------------------------------------------------------------------===//
// On a GPU
//===----------------------------------------------------------------------===//

/// Combines two sums and their errors; the order of the two changes no bit.
Row joined(Num sum, Num lost, Num otherSum, Num otherLost) {
  Row together = addExactly({sum, sum.like(0.0)}, otherSum);
  return {together[0], (lost + otherLost) + together[1]};
}

class DeviceColumnSums {
public:
  /// No vector of columns goes beyond a multiple of `period`; a term reads `buffers` of them.
  DeviceColumnSums(KernelEmitter &e, Buffer into, int64_t rows, int64_t width, int64_t period,
                   int64_t buffers, ColumnTerm term)
      : e(e), device(deviceLoops(e)), into(into), rows(rows), width(width), buffers(buffers),
        term(term), lanes(std::gcd<int64_t>(e.lanes(), period)), vectors(e.lanes() / lanes) {
    if (width >= kMultiprocessors * 2 * lanes * vectors)
      vectors *= 2;
    threads = std::clamp<int64_t>(llvm::PowerOf2Ceil(rows) * vectors, kWarp, kMostThreads);
  }

  void emit() {
    // Few rows of many columns: a thread takes a vector of columns, as on a CPU.
    if (rows <= 32 || width >= (1 << 18))
      return emitSumOfThread();
    device.launch(e, blocks(), threads,
                  [&](Index block, Index thread) { emitBlock(block, thread); });
  }

private:
  static constexpr int64_t kMostThreads = 512;

  int64_t blocks() const { return llvm::divideCeil(width, lanes * vectors); }
  bool isAloneOnMultiprocessor() const { return blocks() <= kMultiprocessors; }
  /// A thread loads several rows at once, as many as there are registers for beside its sums, which
  /// two blocks of a multiprocessor share. On an H200 eight rows take 5 % less time than four; what
  /// is left is far from DRAM's rate, as a block reads 16 or 32 bytes of a line of each row.
  int64_t rowsAtOnce() const {
    int64_t most = isAloneOnMultiprocessor() ? 8 : 8 / buffers;
    return std::clamp<int64_t>(llvm::bit_floor<uint64_t>(rows * vectors / threads), 1, most);
  }
  int32_t registers() const { return isAloneOnMultiprocessor() ? 128 : 64; }

  void emitSumOfThread() {
    int64_t items = width / lanes, threads = std::min<int64_t>(kBlockThreads, items);
    device.launch(e, llvm::divideCeil(items, threads), threads, [&](Index block, Index thread) {
      Index item = block * threads + thread;
      e.ifThen(less(item, e.index(items)),
               [&] { emitSumsFrom(e, into, rows, item * lanes, 1, lanes, term); });
    });
  }

  /// Consecutive threads take neighbouring vectors of columns, then rows.
  void emitBlock(Index block, Index thread) {
    Index begin = (block * vectors + thread % vectors) * lanes;
    Num zero = e.splat(0.0, lanes);
    int64_t distance = threads / vectors, together = distance * rowsAtOnce(),
            whole = rows - rows % together;
    Row sums = addRows(thread / vectors, whole, rowsAtOnce(), begin, {zero, zero});
    if (whole < rows)
      sums = addRows(thread / vectors + whole, rows, 1, begin, sums);
    for (int32_t distance = kWarp / 2; distance >= vectors; distance /= 2)
      sums = joined(sums[0], sums[1], exchanged(sums[0], distance), exchanged(sums[1], distance));
    emitReduction(block, thread, sums);
  }

  /// Adds every `threads / vectors`th row from `first` on, `count` loaded together, in their order.
  Row addRows(Index first, int64_t end, int64_t count, Index begin, Row sums) {
    // Beyond the last column there is nothing to add, but shuffles need whole warps.
    Index bound = e.index(end);
    if (width % (lanes * vectors) != 0)
      bound.value = arith::SelectOp::create(e.builder(), e.location(), less(begin, e.index(width)),
                                            bound.value, e.index(0).value);
    int64_t distance = threads / vectors;
    return e.foldSteps(first, bound, distance * count, sums, [&](Index row, ArrayRef<Num> carried) {
      Row terms;
      for (int64_t k = 0; k < count; ++k)
        terms.push_back(term(row + k * distance, begin, lanes));
      Row next(carried);
      for (Num x : terms)
        next = addExactly(next, x);
      return next;
    });
  }

  Num laneOf(Num x, int64_t lane) {
    if (lanes == 1)
      return x;
    return {x.builder, vector::ExtractOp::create(e.builder(), e.location(), x.value, lane)};
  }

  Num exchanged(Num x, int32_t distance) {
    if (lanes == 1)
      return device.exchange(e, x, distance);
    OpBuilder &b = e.builder();
    Value all = x.value;
    for (int64_t lane = 0; lane < lanes; ++lane)
      all = vector::InsertOp::create(
          b, e.location(), device.exchange(e, laneOf(x, lane), distance).value, all, lane);
    return {&b, all};
  }

  /// Adds the sums of the warps, a thread for each warp and column, and then `into`.
  void emitReduction(Index block, Index thread, Row sums) {
    int64_t warps = threads / kWarp, row = vectors * lanes;
    // Those of a column lie side by side, and columns in different banks.
    int64_t pitch = warps + 1;
    Buffer parts = device.workgroup(e, 2 * row * pitch, e.computeType());
    auto placeOf = [&](Index warp, Index column, int64_t which) {
      return (column + which * row) * pitch + warp;
    };
    e.ifThen(less(thread % kWarp, e.index(vectors)), [&] {
      for (int64_t which : {0, 1})
        for (int64_t lane = 0; lane < lanes; ++lane)
          e.store(parts, placeOf(thread / kWarp, thread % vectors * lanes + lane, which),
                  laneOf(sums[which], lane));
    });
    device.barrierNeeding(e, registers());
    Index warp = thread % warps, column = thread / warps % row;
    Num sum = e.load(parts, placeOf(warp, column, 0)),
        lost = e.load(parts, placeOf(warp, column, 1));
    for (auto distance = static_cast<int32_t>(warps / 2); distance >= 1; distance /= 2) {
      Row both =
          joined(sum, lost, device.exchange(e, sum, distance), device.exchange(e, lost, distance));
      sum = both[0], lost = both[1];
    }
    Index place = block * row + column;
    Value isStoring = arith::AndIOp::create(
        e.builder(), e.location(), equal(warp, e.index(0)),
        arith::AndIOp::create(e.builder(), e.location(), less(thread, e.index(warps * row)),
                              less(place, e.index(width))));
    e.ifThen(isStoring, [&] {
      Row total{sum, lost};
      if (into)
        total = addExactly(total, e.load(into, place));
      e.store(e.result(0), place, total[0] + total[1]);
    });
  }

  KernelEmitter &e;
  DeviceLoops &device;
  Buffer into;
  int64_t rows, width, buffers;
  ColumnTerm term;
  /// Columns of a vector, vectors of a block.
  int64_t lanes, vectors, threads;
};

void emitColumnSums(KernelEmitter &e, Buffer into, int64_t rows, int64_t width, ColumnTerm term,
                    int64_t buffers = 1) {
  if (e.options().target == KernelTarget::Gpu)
    DeviceColumnSums(e, into, rows, width, /*period=*/width, buffers, term).emit();
  else
    emitSumsOnCpu(e, into, rows, width, term);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

struct SumRowsKernel : KernelModel<SumRowsKernel, SumRowsOp> {
  static void emit(SumRowsOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getDy());
    Buffer dy = e.operand(0);
    emitColumnSums(
        e, e.operand(op.getIntoMutable()), dy.size / width, width,
        [&](Index row, Index j, unsigned lanes) { return e.load(dy, row * width + j, lanes); });
  }
};

struct SumGroupRowsKernel : KernelModel<SumGroupRowsKernel, SumGroupRowsOp> {
  /// The sums of all groups lie side by side, as one row of columns.
  static void emit(SumGroupRowsOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getDy()), groups = op.getDb().getType().getNumElements() / width;
    Buffer dy = e.operand(0), into = e.operand(op.getIntoMutable());
    int64_t rows = dy.size / width / groups;
    auto term = [&](Index row, Index j, unsigned lanes) {
      return e.load(dy, (j / width * rows + row) * width + j % width, lanes);
    };
    if (e.options().target == KernelTarget::Gpu)
      return DeviceColumnSums(e, into, rows, groups * width, width, /*buffers=*/1, term).emit();
    e.forEachParallel(groups, [&](Index group) {
      e.forLanes(width, [&](Index j, unsigned lanes) {
        emitSumsFrom(e, into, rows, group * width + j, 1, lanes, term);
      });
    });
  }
};

struct NormWeightGradKernel : KernelModel<NormWeightGradKernel, NormWeightGradOp> {
  static void emit(NormWeightGradOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getX());
    Buffer x = e.operand(0), dy = e.operand(1), rstd = e.operand(2),
           mean = e.operand(op.getMeanMutable());
    emitColumnSums(
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
  /// Of a rank that has the positions from a place in the table on that only it knows.
  static void emitPart(PositionsGradOp op, KernelEmitter &e) {
    ArrayRef<int64_t> shape = op.getDy().getType().getShape();
    int64_t width = shape.back(), seq = shape[shape.size() - 2], used = seq * width;
    Buffer dy = e.operand(0), into = e.operand(op.getIntoMutable()), table = e.result(0);
    Index firstRow = positionInGroup(e, *op.getAxes()) * seq, first = firstRow * width;
    auto addend = [&](Index j, unsigned lanes) {
      return into ? e.load(into, j, lanes) : e.splat(0.0, lanes);
    };
    e.forLanesParallel(used, [&](Index j, unsigned lanes) {
      Row sum = e.fold(e.index(0), e.index(dy.size / used),
                       Row{addend(first + j, lanes), e.splat(0.0, lanes)},
                       [&](Index b, ArrayRef<Num> carried) {
                         return addExactly(carried, e.load(dy, b * used + j, lanes));
                       });
      e.store(table, first + j, sum[0] + sum[1]);
    });
    auto copyRow = [&](Index row) {
      e.forLanes(width, [&](Index j, unsigned lanes) {
        e.store(table, row * width + j, addend(row * width + j, lanes));
      });
    };
    e.forEachParallel(table.size / width - seq, [&](Index row) {
      e.ifThen(less(row, firstRow), [&] { copyRow(row); });
      e.ifThen(less(firstRow - 1, row), [&] { copyRow(row + seq); });
    });
  }

  static void emit(PositionsGradOp op, KernelEmitter &e) {
    if (op.getAxes())
      return emitPart(op, e);
    ArrayRef<int64_t> shape = op.getDy().getType().getShape();
    int64_t used = shape[shape.size() - 2] * shape.back();
    Buffer dy = e.operand(0), into = e.operand(op.getIntoMutable()), table = e.result(0);
    emitColumnSums(e, into, dy.size / used, used, [&](Index b, Index j, unsigned lanes) {
      return e.load(dy, b * used + j, lanes);
    });
    int64_t rest = table.size - used, width = shape.back();
    auto copy = [&](Index j, unsigned lanes) {
      e.store(table, j + used, into ? e.load(into, j + used, lanes) : e.splat(0.0, lanes));
    };
    // On a GPU vectors must be aligned in every row.
    if (e.options().target == KernelTarget::Gpu && rest > 0)
      e.forRows(rest / width, {width}, [&](Index row) {
        e.forLanes(width, [&](Index j, unsigned lanes) { copy(row * width + j, lanes); });
      });
    else
      e.forLanesParallel(rest, copy);
  }
};

} // namespace

void llmmem::attachColumnKernels(MLIRContext *context) {
  attachKernels<SumRowsKernel, SumGroupRowsKernel, NormWeightGradKernel, PositionsGradKernel>(
      context);
}
