//===- BoxStages.cpp - Tiles of a product, copied by tensor maps ------------===//

#include "BoxStages.h"
#include "llmmem/Codegen/Gpu/Cluster.h"
#include "llmmem/Codegen/Gpu/TensorMap.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace llmmem;

/// Rows must begin at multiples of this number of elements, 16 bytes.
static constexpr int64_t kChunk = 8;

static bool beginsSomewhere(const Matrix &matrix) {
  return matrix.begin && knownDivisor(matrix.begin->value) != 0;
}

/// Returns whether a map can describe the matrix.
static bool hasMap(const Matrix &matrix) {
  return !matrix.isPacked() && matrix.buffer.memref &&
         !matrix.buffer.memref.getDefiningOp<scf::IfOp>() && matrix.pitch % kChunk == 0 &&
         (!matrix.begin || knownDivisor(matrix.begin->value) % kChunk == 0);
}

bool BoxStages::canCopy(const Matmul &first, int64_t count) {
  // What follows the terms of a part belongs to the next part, and is not 0 as at the end of the
  // matrix.
  bool areParts = first.part() && first.inner % kSwizzledLine == 0;
  bool isOne = count == 1 && !first.part();
  return (isOne || areParts) && first.terms.count == 1 && hasMap(first.a) && hasMap(first.b);
}

BoxStages::BoxStages(KernelEmitter &e, const Matmul &first, Sizes sizes, Buffer memory,
                     int64_t begin, Index thread)
    : e(e), sizes(sizes), thread(thread), memory(memory), barriers(e, memory, begin),
      a(operandOf(first, true)), b(operandOf(first, false)) {}

/// Describes the whole matrix that all matmuls of the launch have, in boxes of a tile of its rows,
/// or columns; in each block's part of them where the tile is shared. Lines of the operand are rows
/// of the matrix unless it is turned.
BoxStages::Operand BoxStages::operandOf(const Matmul &p, bool isA) {
  const Matrix &matrix = isA ? p.a : p.b;
  bool isTurned = isA ? matrix.transposed : !matrix.transposed,
       isShared = sizes.shared == (isA ? llm::SharedTile::OfA : llm::SharedTile::OfB);
  int64_t lines = isA ? p.rows : p.columns, ofTile = isA ? sizes.rows : sizes.columns,
          terms = p.part() ? p.part()->allTerms : p.inner, sharing = isShared ? sizes.sharing() : 1;
  TensorMap::Shape shape = {.begin = 0,
                            .rows = isTurned ? terms : lines,
                            .columns = isTurned ? lines : terms,
                            .pitch = matrix.pitch,
                            .boxRows = (isTurned ? kSwizzledLine : ofTile) / sharing};
  Value first = beginsSomewhere(matrix) && !p.part() ? matrix.begin->value : Value();
  return {TensorMap::create(e.builder(), e.location(), matrix.buffer.memref, first, shape),
          sharing};
}

void BoxStages::makeBarriers(int32_t registers) {
  ifThen(e, isCopying(), [&] {
    for (int64_t stage = 0; stage < sizes.stages; ++stage) {
      barriers.make(e.index(stage), 1);
      barriers.make(e.index(sizes.stages + stage),
                    static_cast<int32_t>(sizes.sharing() * sizes.threads / kWarp));
    }
    if (sizes.sharing() > 1)
      barriers.fenceForCluster();
    barriers.fence();
  });
  barrierNeeding(e, registers);
  if (sizes.sharing() > 1)
    clusterBarrier(e, sizes.clusterBlocks());
}

/// Copies the block's part of `rows` rows of the matrix to its part of the same lines of shared
/// memory.
void BoxStages::startCopy(Operand operand, Index row, Index column, Index to, int64_t rows,
                          const Copy &of) {
  if (operand.blocks > 1) {
    Index before = memberOf(of.rank) * (rows / operand.blocks);
    row = row + before;
    to = to + before * kSwizzledLine;
  }
  barriers.startCopy(of.barrier, {operand.map, row, column, memory, to * 2}, operand.blocks,
                     firstOfPart(of.rank));
}

void BoxStages::copyTile(const WarpgroupTile &tile, Operand operand, Index line, const Copy &of) {
  if (!tile.isTurned())
    return startCopy(operand, line, of.inner, tile.begin, tile.rows, of);
  for (const auto &[ofPart, part] : tile.parts())
    startCopy(operand, of.firstTerm + of.inner, line + ofPart, part.begin, kSwizzledLine, of);
}

void BoxStages::copy(const Matmul &matmul, const WarpgroupTile &tileOfA,
                     const WarpgroupTile &tileOfB, const Step &of, bool waits) {
  const Index step = of.number;
  // The step that follows the previous user of the stage has said that it is empty; in the first
  // round the previous phase counts as ended.
  if (waits)
    barriers.wait(empty(step + 1), ((step + 1) / sizes.stages + 1) % 2);
  barriers.arriveExpecting(full(step), static_cast<int32_t>(2 * sizes.ofStage));
  Copy copy = {of.inner, matmul.firstTerm().value_or(e.index(0)), of.rank, full(step)};
  copyTile(tileOfA, a, of.row, copy);
  copyTile(tileOfB, b, of.column, copy);
}

void BoxStages::waitForTiles(Index step) { barriers.wait(full(step), step / sizes.stages % 2); }

std::optional<Index> BoxStages::firstOfPart(Index rank) {
  if (sizes.parts == 1)
    return std::nullopt;
  return rank / sizes.sharing() * sizes.sharing();
}

void BoxStages::releaseBefore(Index step, Index rank) {
  ifThen(e, equal(thread % kWarp, e.index(0)), [&] {
    barriers.arrive(empty(step));
    for (int64_t other = 1; other < sizes.sharing(); ++other) {
      Index member = (rank + other) % sizes.sharing();
      std::optional<Index> first = firstOfPart(rank);
      barriers.arriveAt(empty(step), first ? *first + member : member);
    }
  });
}
