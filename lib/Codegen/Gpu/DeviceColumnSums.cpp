//===- DeviceColumnSums.cpp - Sums over rows, column by column, on a GPU ---===//

#include "DeviceColumnSums.h"
#include "llmmem/Codegen/Gpu/Cluster.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "llmmem/Device/GpuGeometry.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/bit.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {
class DeviceColumnSums {
public:
  DeviceColumnSums(KernelEmitter &e, const ColumnSums &sums)
      : e(e), device(deviceLoops(e)), sums(sums), lanes(std::gcd<int64_t>(e.lanes(), sums.period)) {
    bool areWholeVectors = lanes == e.lanes(), areManyRows = sums.rows >= kManyRows;
    if (areManyRows && areWholeVectors && isByWarpgroup(e.options().tensorCores))
      takeLines();
    else
      takeSectors();
  }

  void emit() {
    // For few rows of many columns a thread takes a vector of columns, as on a CPU.
    if (sums.rows <= 32 || sums.width >= (1 << 18))
      return emitSumOfThread();
    device.launch(e, groups() * blocks, threads,
                  [&](Index block, Index thread) { emitBlock(block, thread); });
  }

private:
  static constexpr int64_t kMostThreads = 512, kVectorsOfLine = 8, kMostBlocks = 8,
                           kManyRows = 1024;

  void takeLines();
  void takeSectors();
  /// Returns the number of blocks or clusters, each of which has some of the columns.
  int64_t groups() const { return llvm::divideCeil(sums.width, columns()); }
  int64_t columns() const { return lanes * vectors; }
  int64_t rowsOfBlock() const { return llvm::divideCeil(sums.rows, blocks); }
  bool isAloneOnMultiprocessor() const { return groups() * blocks <= tunedGpu().multiprocessors; }
  /// A thread loads several rows at once, as many as the registers hold in addition to its sums,
  /// which two blocks of a multiprocessor share.
  int64_t rowsAtOnce() const {
    int64_t most = isAloneOnMultiprocessor() ? 8 : 8 / sums.buffers;
    return std::clamp<int64_t>(llvm::bit_floor<uint64_t>(rowsOfBlock() * vectors / threads), 1,
                               most);
  }
  int32_t registers() const { return isAloneOnMultiprocessor() ? 128 : 64; }

  void emitSumOfThread();
  void emitBlock(Index block, Index thread);
  Row addRows(Index first, Index end, int64_t count, Index begin, Row carried);
  Num laneOf(Num x, int64_t lane);
  Num exchanged(Num x, int32_t distance);
  Row exchanged(ArrayRef<Num> pair, int32_t distance) {
    return {exchanged(pair[0], distance), exchanged(pair[1], distance)};
  }
  Buffer emitSumsOfWarps(Index thread, Row own);
  Row sumOfBlock(Buffer ofWarps, Index warp, Index column);
  void emitSumsOfCluster(Index thread, Index firstColumn, Buffer ofBlock);
  void store(Index place, Row total);

  KernelEmitter &e;
  DeviceLoops &device;
  const ColumnSums &sums;
  /// Count the columns of a vector, the vectors of a block, and the blocks that have the same
  /// columns.
  int64_t lanes, vectors, blocks = 1, threads;
};
} // namespace

/// A block has a line of 128 bytes of each of its rows, which up to eight blocks share: as many as
/// leave a multiprocessor at most three. Adding a number and its error takes seven instructions, so
/// the rows must be shared evenly; a block that is alone has twice the threads.
void DeviceColumnSums::takeLines() {
  vectors = kVectorsOfLine;
  blocks = kMostBlocks;
  while (blocks > 1 && groups() * blocks > 3 * tunedGpu().multiprocessors)
    blocks /= 2;
  threads = isAloneOnMultiprocessor() ? kMostThreads : kMostThreads / 2;
}

/// A block has 32 bytes of every row, or 16 where there would be fewer blocks than multiprocessors.
/// On an H200 that reaches a third of DRAM's rate.
void DeviceColumnSums::takeSectors() {
  vectors = e.lanes() / lanes;
  if (sums.width >= tunedGpu().multiprocessors * 2 * lanes * vectors)
    vectors *= 2;
  threads = std::clamp<int64_t>(llvm::PowerOf2Ceil(sums.rows) * vectors, kWarp, kMostThreads);
}

void DeviceColumnSums::emitSumOfThread() {
  int64_t items = sums.width / lanes, threads = std::min<int64_t>(kBlockThreads, items);
  device.launch(e, llvm::divideCeil(items, threads), threads, [&](Index block, Index thread) {
    Index item = block * threads + thread;
    ifThen(e, less(item, e.index(items)),
           [&] { emitColumnSums(e, sums.into, sums.rows, item * lanes, 1, lanes, sums.term); });
  });
}

//===----------------------------------------------------------------------===//
// Of a thread, of a warp
//===----------------------------------------------------------------------===//

/// Consecutive threads take neighbouring vectors of columns, then rows.
void DeviceColumnSums::emitBlock(Index block, Index thread) {
  Index group = block / blocks, vector = thread % vectors;
  Index begin = group * columns() + vector * lanes;
  Index firstRow = blocks == 1 ? e.index(0) : block % blocks * rowsOfBlock();
  Index end = sums.rows % blocks == 0 ? firstRow + rowsOfBlock()
                                      : minimum(firstRow + rowsOfBlock(), e.index(sums.rows));
  int64_t together = threads / vectors * rowsAtOnce();
  Index whole = firstRow + (end - firstRow) / together * together, own = thread / vectors;
  Num zero = e.splat(0.0, lanes);
  Row sum = addRows(firstRow + own, whole, rowsAtOnce(), begin, {zero, zero});
  if (sums.rows % (blocks * together) != 0)
    sum = addRows(whole + own, end, 1, begin, sum);
  for (int32_t distance = kWarp / 2; distance >= vectors; distance /= 2)
    sum = addTogether(sum, exchanged(sum, distance));
  emitSumsOfCluster(thread, group * columns(), emitSumsOfWarps(thread, sum));
}

/// Adds every `threads / vectors`th row from `first` on, `count` loaded together, in their order.
Row DeviceColumnSums::addRows(Index first, Index end, int64_t count, Index begin, Row carried) {
  // Beyond the last column there is nothing to add, but shuffles need whole warps.
  if (sums.width % columns() != 0)
    end.value = arith::SelectOp::create(e.builder(), e.location(), less(begin, e.index(sums.width)),
                                        end.value, e.index(0).value);
  int64_t distance = threads / vectors;
  return foldSteps(e, first, end, distance * count, carried, [&](Index row, ArrayRef<Num> before) {
    Row terms;
    for (int64_t k = 0; k < count; ++k)
      terms.push_back(sums.term(row + k * distance, begin, lanes));
    Row next(before);
    for (Num x : terms)
      next = addExactly(next, x);
    return next;
  });
}

Num DeviceColumnSums::laneOf(Num x, int64_t lane) {
  if (lanes == 1)
    return x;
  return {x.builder, vector::ExtractOp::create(e.builder(), e.location(), x.value, lane)};
}

Num DeviceColumnSums::exchanged(Num x, int32_t distance) {
  if (lanes == 1)
    return exchange(e, x, distance);
  OpBuilder &b = e.builder();
  Value all = x.value;
  for (int64_t lane = 0; lane < lanes; ++lane)
    all = vector::InsertOp::create(b, e.location(), exchange(e, laneOf(x, lane), distance).value,
                                   all, lane);
  return {&b, all};
}

//===----------------------------------------------------------------------===//
// Of a block, of a cluster
//===----------------------------------------------------------------------===//

/// Each column's sums of the warps are adjacent, followed by their errors, with columns in
/// different banks.
Buffer DeviceColumnSums::emitSumsOfWarps(Index thread, Row own) {
  int64_t warps = threads / kWarp, pitch = warps + 1;
  Buffer ofWarps = device.workgroup(e, 2 * columns() * pitch, e.computeType());
  ifThen(e, less(thread % kWarp, e.index(vectors)), [&] {
    for (int64_t which : {0, 1})
      for (int64_t lane = 0; lane < lanes; ++lane) {
        Index column = thread % vectors * lanes + (lane + which * columns());
        e.store(ofWarps, column * pitch + thread / kWarp, laneOf(own[which], lane));
      }
  });
  barrierNeeding(e, registers());
  return ofWarps;
}

/// Adds those of the warps in a tree, by a thread for each of them.
Row DeviceColumnSums::sumOfBlock(Buffer ofWarps, Index warp, Index column) {
  int64_t warps = threads / kWarp, pitch = warps + 1;
  Row sum = {e.load(ofWarps, column * pitch + warp),
             e.load(ofWarps, (column + columns()) * pitch + warp)};
  for (auto distance = static_cast<int32_t>(warps / 2); distance >= 1; distance /= 2)
    sum = addTogether(sum, Row{exchange(e, sum[0], distance), exchange(e, sum[1], distance)});
  return sum;
}

/// The first block of a cluster adds what the others have, in their order, and stores the result.
void DeviceColumnSums::emitSumsOfCluster(Index thread, Index firstColumn, Buffer ofWarps) {
  int64_t warps = threads / kWarp, together = kWarp; // Columns, with a thread for each warp of
                                                     // them.
  Buffer ofBlock = blocks > 1 ? device.workgroup(e, 2 * columns(), e.computeType()) : Buffer();
  for (int64_t from = 0; from < columns(); from += together) {
    Index warp = thread % warps, column = thread / warps + from;
    if (together > columns())
      column = column % columns();
    Row sum = sumOfBlock(ofWarps, warp, column);
    Value isOwn = equal(warp, e.index(0));
    if (together > columns())
      isOwn = arith::AndIOp::create(e.builder(), e.location(), isOwn,
                                    less(thread, e.index(warps * columns())));
    ifThen(e, isOwn, [&] {
      if (blocks == 1)
        return store(firstColumn + column, sum);
      e.store(ofBlock, column, sum[0]);
      e.store(ofBlock, column + columns(), sum[1]);
    });
  }
  if (blocks == 1)
    return;
  clusterBarrier(e, blocks);
  Value isFirst = equal(clusterRank(e), e.index(0));
  ifThen(
      e,
      arith::AndIOp::create(e.builder(), e.location(), isFirst, less(thread, e.index(columns()))),
      [&] {
        Row sum = {e.load(ofBlock, thread), e.load(ofBlock, thread + columns())};
        for (int64_t rank = 1; rank < blocks; ++rank) {
          auto ofPeer = [&](Index place) -> Num {
            return {&e.builder(), loadOfPeer(e, ofBlock, place, e.computeType(), e.index(rank))};
          };
          sum = addTogether(sum, Row{ofPeer(thread), ofPeer(thread + columns())});
        }
        store(firstColumn + thread, sum);
      });
  // A block's memory ends with the block.
  clusterBarrier(e, blocks);
}

void DeviceColumnSums::store(Index place, Row total) {
  auto storeSum = [&] {
    Row all = sums.into ? addExactly(total, e.load(sums.into, place)) : total;
    e.store(e.result(0), place, all[0] + all[1]);
  };
  sums.width % columns() == 0 ? storeSum() : ifThen(e, less(place, e.index(sums.width)), storeSum);
}

void llmmem::emitColumnSumsOnDevice(KernelEmitter &e, const ColumnSums &sums) {
  DeviceColumnSums(e, sums).emit();
}
