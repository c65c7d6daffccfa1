//===- BoxStages.cpp - Tiles of a product, copied by tensor maps ------------===//

#include "BoxStages.h"
#include "MmaSums.h"
#include "llmmem/Codegen/Gpu/TensorMap.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace llmmem;

/// Elements of 16 bytes, at multiples of which rows must begin.
static constexpr int64_t kChunk = 8;

static bool beginsSomewhere(const Matrix &matrix) {
  return matrix.begin && knownDivisor(matrix.begin->value) != 0;
}

/// Whether a map can say where the matrix lies.
static bool hasMap(const Matrix &matrix) {
  return !matrix.isPacked() && matrix.buffer.memref &&
         !matrix.buffer.memref.getDefiningOp<scf::IfOp>() && matrix.pitch % kChunk == 0 &&
         (!matrix.begin || knownDivisor(matrix.begin->value) % kChunk == 0);
}

bool BoxStages::canCopy(const Matmul &first, int64_t count) {
  // What lies behind the terms of a part is the next part's: not 0, as at the end of the matrix.
  bool areParts = first.firstTerm && first.inner % kSwizzledLine == 0;
  bool isOne = count == 1 && !first.firstTerm && !first.innerBound;
  return (isOne || areParts) && first.terms == 1 && hasMap(first.a) && hasMap(first.b);
}

/// Of the whole matrix that all matmuls of the launch have, in boxes of a tile of `tileLines` of
/// its rows, or columns. `lines` of the operand are rows of the matrix unless it `isTurned`.
static Value mapOf(KernelEmitter &e, const Matmul &p, const Matrix &matrix, bool isTurned,
                   int64_t lines, int64_t tileLines) {
  int64_t terms = p.firstTerm ? p.allTerms : p.inner;
  TensorMap::Shape shape = {.begin = 0,
                            .rows = isTurned ? terms : lines,
                            .columns = isTurned ? lines : terms,
                            .pitch = matrix.pitch,
                            .boxRows = isTurned ? kSwizzledLine : tileLines};
  Value first = beginsSomewhere(matrix) && !p.firstTerm ? matrix.begin->value : Value();
  return TensorMap::create(e.builder(), e.location(), matrix.buffer.memref, first, shape);
}

BoxStages::BoxStages(KernelEmitter &e, const Matmul &first, int64_t rows, int64_t columns,
                     int64_t stages, Buffer memory, int64_t begin, Index thread, int64_t threads)
    : e(e), stages(stages), bytesOfStage(WarpgroupTile::sizeOf(rows + columns) * 2), thread(thread),
      threads(threads), memory(memory), barriers(e, memory, begin),
      mapOfA(mapOf(e, first, first.a, first.a.transposed, first.rows, rows)),
      mapOfB(mapOf(e, first, first.b, !first.b.transposed, first.columns, columns)) {}

void BoxStages::makeBarriers(int32_t registers) {
  e.ifThen(isCopying(), [&] {
    for (int64_t stage = 0; stage < stages; ++stage) {
      barriers.make(e.index(stage), 1);
      barriers.make(e.index(stages + stage), static_cast<int32_t>(threads / kWarp));
    }
    barriers.fence();
  });
  deviceLoops(e).barrierNeeding(e, registers);
}

void BoxStages::copyTile(const WarpgroupTile &tile, Value map, Index line, Index inner,
                         Index firstTerm, Index barrier) {
  if (!tile.isTurned())
    return barriers.startCopy(barrier, map, line, inner, memory, tile.begin * 2);
  for (const auto &[ofPart, part] : tile.parts())
    barriers.startCopy(barrier, map, firstTerm + inner, line + ofPart, memory, part.begin * 2);
}

void BoxStages::copy(const Matmul &matmul, const WarpgroupTile &a, const WarpgroupTile &b,
                     Index step, Index row, Index column, Index inner, bool waits) {
  // The step behind the one that had the stage before has said that it is empty; in the first round
  // the phase before counts as ended.
  if (waits)
    barriers.wait(empty(step + 1), ((step + 1) / stages + 1) % 2);
  barriers.arriveExpecting(full(step), static_cast<int32_t>(bytesOfStage));
  Index firstTerm = matmul.firstTerm.value_or(e.index(0));
  copyTile(a, mapOfA, row, inner, firstTerm, full(step));
  copyTile(b, mapOfB, column, inner, firstTerm, full(step));
}

void BoxStages::waitForTiles(Index step) { barriers.wait(full(step), step / stages % 2); }

void BoxStages::releaseBefore(Index step) {
  e.ifThen(equal(thread % kWarp, e.index(0)), [&] { barriers.arrive(empty(step)); });
}
