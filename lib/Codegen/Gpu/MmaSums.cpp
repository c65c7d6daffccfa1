//===- MmaSums.cpp - The sums of a tile, from registers to memory ---------===//

#include "MmaSums.h"
#include "llmmem/Codegen/Gpu/PowersOfTwo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace llmmem;

Index llmmem::beginOf(KernelEmitter &e, const Matrix &matrix) {
  return matrix.begin && knownDivisor(matrix.begin->value) != 0 ? *matrix.begin : e.index(0);
}

Index MmaSums::placeIn(const Matrix &matrix, Index row, Index column) {
  return beginOf(e, matrix) + row * matrix.pitch + column;
}

/// Returns whether all rows of the matrix begin at multiples of `number` elements.
bool MmaSums::areMultiples(const Matrix &matrix, int64_t number) const {
  return matrix.pitch % number == 0 && knownDivisor(beginOf(e, matrix).value) % number == 0;
}

Value MmaSums::isInside(Index row, Index column) const {
  return arith::AndIOp::create(e.builder(), e.location(), less(row, e.index(p.rows)),
                               less(column, e.index(p.columns)));
}

//===----------------------------------------------------------------------===//
// What sums begin with
//===----------------------------------------------------------------------===//

static Num laneOf(KernelEmitter &e, Num x, int64_t lane) {
  return {&e.builder(), vector::ExtractOp::create(e.builder(), e.location(), x.value, lane)};
}

Row MmaSums::begin() {
  if (!p.continued().buffer)
    return Row(shape.rowParts * shape.columnParts * 4, e.number(0.0));
  Index row = at.row + at.warpRow + lane.group, column = at.column + at.warpColumn + lane.pair * 2;
  Row sums;
  for (int64_t i = 0; i < shape.rowParts; ++i)
    for (int64_t j = 0; j < shape.columnParts; ++j)
      for (int64_t half : {0, 1})
        llvm::append_range(
            sums, loadPair(row + i * shape.rowDistance + 8 * half, column + j * kMmaColumns));
  return sums;
}

/// Loads two neighbours, with 0 for those outside of C, because another thread may be storing
/// there.
Row MmaSums::loadPair(Index row, Index column) {
  if (!areMultiples(p.continued(), 2) || p.columns % 2 != 0)
    return {loadOne(row, column), loadOne(row, column + 1)};
  auto loadBoth = [&]() -> Row {
    Num both = e.load(p.continued().buffer, placeIn(p.continued(), row, column), 2);
    return {laneOf(e, both, 0), laneOf(e, both, 1)};
  };
  if (areWhole)
    return loadBoth();
  return chooseIf(e, isInside(row, column), Row(2, e.number(0.0)), loadBoth);
}

Num MmaSums::loadOne(Index row, Index column) {
  return chooseIf(e, isInside(row, column), {e.number(0.0)}, [&]() -> Row {
    return {e.load(p.continued().buffer, placeIn(p.continued(), row, column))};
  })[0];
}

//===----------------------------------------------------------------------===//
// C
//===----------------------------------------------------------------------===//

bool MmaSums::mayStoreFour() const {
  return shape.storesFour && areWhole && shape.columnParts % 2 == 0 && areMultiples(p.c, 4) &&
         (!p.initial().buffer || areMultiples(p.initial(), 4));
}

/// Moves the stores after `last` to the insertion point of `builder`. An element's epilogue reads
/// and writes its own elements alone, and what is in place of another coincides with it exactly, so
/// no load misses a store.
static void sinkStores(OpBuilder &builder, Operation *last) {
  Block &block = *builder.getInsertionBlock();
  auto begin = last ? std::next(last->getIterator()) : block.begin();
  SmallVector<Operation *> stores;
  for (Operation &op : llvm::make_range(begin, builder.getInsertionPoint()))
    if (isa<memref::StoreOp, vector::StoreOp>(op))
      stores.push_back(&op);
  for (Operation *store : stores)
    store->moveBefore(&block, builder.getInsertionPoint());
}

void MmaSums::store(ArrayRef<Num> sums) {
  Index row = at.row + at.warpRow, column = at.column + at.warpColumn;
  bool byFour = mayStoreFour();
  // With several parts all loads precede the first store: the assembler moves no load over a store,
  // and the two warps of a scheduler would wait for each. Where four blocks share a
  // multiprocessor's registers others run meanwhile.
  const int64_t together = shape.storesFour && (p.initial().buffer || p.c.buffer.access) ? 8 : 1;
  int64_t count = 0;
  Operation *last = nullptr;
  for (int64_t i = 0; i < shape.rowParts; ++i)
    for (int64_t j = 0; j < shape.columnParts; j += byFour ? 2 : 1)
      for (int64_t half : {0, 1}) {
        if (count++ % together == 0)
          last = lastOpBefore(e.builder());
        if (byFour)
          storeFour(sums, i, j, half);
        else
          storePair(sumAt(sums, i, j, 2 * half), sumAt(sums, i, j, 2 * half + 1),
                    row + i * shape.rowDistance + lane.group + 8 * half,
                    column + j * kMmaColumns + lane.pair * 2);
        if (areWhole && count % together == 0)
          sinkStores(e.builder(), last);
      }
}

void MmaSums::storeHalves(ArrayRef<Num> pairs, Index half, Index first) {
  Index row = at.row + at.warpRow + lane.group + half * 8,
        column = at.column + at.warpColumn + first * kMmaColumns + lane.pair * 2;
  auto ofRow = static_cast<int64_t>(pairs.size()) / 2 / shape.rowParts;
  for (int64_t i = 0; i < shape.rowParts; ++i)
    for (int64_t j = 0; j < ofRow; ++j) {
      const Num *pair = &pairs[2 * (i * ofRow + j)];
      storePair(pair[0], pair[1], row + i * shape.rowDistance, column + j * kMmaColumns);
    }
}

/// Each thread has a pair of fragments j and j + 1. An even one receives its odd neighbour's pair
/// of j, and gives it that of j + 1.
void MmaSums::storeFour(ArrayRef<Num> sums, int64_t i, int64_t j, int64_t half) {
  Index odd = lane.pair % 2;
  Value isOdd = equal(odd, e.index(1));
  Num own[2], other[2];
  for (int64_t k : {0, 1}) {
    const Num &first = sumAt(sums, i, j, 2 * half + k),
              &second = sumAt(sums, i, j + 1, 2 * half + k);
    own[k] = select(isOdd, second, first);
    other[k] = exchange(e, select(isOdd, first, second), 1);
  }
  std::array<Num, 4> four;
  for (int64_t k : {0, 1}) {
    four[k] = select(isOdd, other[k], own[k]);
    four[2 + k] = select(isOdd, own[k], other[k]);
  }
  storeTogether(four, at.row + at.warpRow + i * shape.rowDistance + lane.group + 8 * half,
                at.column + at.warpColumn + j * kMmaColumns + odd * kMmaColumns +
                    lane.pair / 2 * 4);
}

/// Stores two neighbours at once if the index of the first is even; the last one of an odd row is
/// stored alone.
void MmaSums::storePair(Num first, Num second, Index row, Index column) {
  bool isPair = areMultiples(p.c, 2) && (!p.initial().buffer || areMultiples(p.initial(), 2));
  auto storeBoth = [&] { storeTogether({first, second}, row, column); };
  if (areWhole && isPair)
    return storeBoth();
  ifThen(e, isInside(row, column), [&] {
    if (isPair && p.columns % 2 == 0)
      return storeBoth();
    Value both = less(column + 1, e.index(p.columns));
    if (isPair) {
      ifThen(e, both, storeBoth);
      return ifThen(e, equal(column, e.index(p.columns - 1)),
                    [&] { storeElements(first, row, column, 1); });
    }
    storeElements(first, row, column, 1);
    ifThen(e, both, [&] { storeElements(second, row, column + 1, 1); });
  });
}

void MmaSums::storeTogether(ArrayRef<Num> neighbours, Index row, Index column) {
  auto count = static_cast<int64_t>(neighbours.size());
  SmallVector<Value> values = llvm::map_to_vector(neighbours, [](Num x) { return x.value; });
  Value all = vector::FromElementsOp::create(e.builder(), e.location(),
                                             VectorType::get({count}, e.computeType()), values);
  storeElements({&e.builder(), all}, row, column, static_cast<unsigned>(count));
}

void MmaSums::storeElements(Num sum, Index row, Index column, unsigned lanes) {
  Num x = scaled(sum);
  if (p.initial().buffer)
    x = x + e.load(p.initial().buffer, placeIn(p.initial(), row, column), lanes);
  e.store(p.c.buffer, placeIn(p.c, row, column), x);
}

//===----------------------------------------------------------------------===//
// Softmax of the tile's rows
//===----------------------------------------------------------------------===//

/// Gives for each row of the warp's fragments its softmax, and how many rows below the first it
/// lies.
void MmaSums::forRowsOfWarp(ArrayRef<Num> sums, function_ref<void(RowSoftmax, int64_t)> body) {
  for (int64_t i = 0; i < shape.rowParts; ++i)
    for (int64_t half : {0, 1})
      body(softmaxOfWarp(sums, i, half), i * shape.rowDistance + 8 * half);
}

/// Four threads hold a row of a warp's fragments, and `warpColumns` warps a row of the tile. Their
/// partial results are combined through workgroup memory, by one thread a row.
void MmaSums::storeSoftmax(ArrayRef<Num> sums, Buffer memory, Index tile) {
  int64_t warps = shape.warpColumns, slots = warps * rows;
  Buffer maxima = partOf(e, memory, 0, slots, e.computeType()),
         powers = partOf(e, memory, slots * 4, slots, e.computeType());
  barrier(e); // The tiles have been read.
  Index ofWarps = at.thread / kWarp % warps * rows + at.warpRow + lane.group;
  forRowsOfWarp(sums, [&](RowSoftmax ofWarp, int64_t below) {
    ifThen(e, equal(lane.pair, e.index(0)),
           [&] { storeRowSoftmax(ofWarp, maxima, powers, ofWarps + below); });
  });
  barrier(e);
  Index own = at.row + at.thread;
  Value inside = arith::AndIOp::create(e.builder(), e.location(), less(at.thread, e.index(rows)),
                                       less(own, e.index(p.rows)));
  ifThen(e, inside,
         [&] { storeRowSoftmaxOfTile(softmaxOfWarps(maxima, powers, at.thread), own, tile); });
}

void MmaSums::storeSoftmax(ArrayRef<Num> sums, Index tile) {
  Index first = at.row + at.warpRow + lane.group;
  forRowsOfWarp(sums, [&](RowSoftmax ofRow, int64_t below) {
    Index row = first + below;
    Value isOne = equal(lane.pair, e.index(0));
    Value stores =
        arith::AndIOp::create(e.builder(), e.location(), isOne, less(row, e.index(p.rows)));
    ifThen(e, stores, [&] { storeRowSoftmaxOfTile(ofRow, row, tile); });
  });
}

void MmaSums::storeRowSoftmaxOfTile(RowSoftmax softmax, Index row, Index tile) {
  storeRowSoftmax(softmax, p.softmax()->maxima, p.softmax()->powers,
                  p.softmax()->begin + row * p.softmax()->tiles + tile);
}

/// Returns one thread's elements of a row of a warp's fragments as they are stored, with `lowest`
/// after the end of C's row.
Row MmaSums::storedRow(ArrayRef<Num> sums, int64_t i, int64_t half, Num lowest) {
  Row stored;
  for (int64_t j = 0; j < shape.columnParts; ++j)
    for (int64_t k : {0, 1})
      stored.push_back(convert(convert(scaled(sumAt(sums, i, j, 2 * half + k)), p.c.buffer.element),
                               e.computeType()));
  if (hasWholeColumns)
    return stored;
  // Few tiles end after C.
  Index first = at.column + at.warpColumn, end = first + shape.columnParts * kMmaColumns,
        column = first + lane.pair * 2;
  return chooseIf(e, less(e.index(p.columns), end), stored, [&] {
    Row inside;
    for (auto [number, x] : llvm::enumerate(stored)) {
      auto place = static_cast<int64_t>(number / 2 * kMmaColumns + number % 2);
      inside.push_back(select(less(column + place, e.index(p.columns)), x, lowest));
    }
    return inside;
  });
}

/// Computes the softmax of one row of a warp's fragments, which the four threads of a quad hold.
/// Where none of its elements is inside of C, a power is 1, and 0 once the tile's largest is
/// subtracted.
MmaSums::RowSoftmax MmaSums::softmaxOfWarp(ArrayRef<Num> sums, int64_t i, int64_t half) {
  Num largest = e.number(std::numeric_limits<float>::lowest()), powers = e.number(0.0);
  Row stored = storedRow(sums, i, half, largest);
  for (Num x : stored)
    largest = maximum(largest, x);
  largest = acrossLanes(e, largest, 4, [](Num a, Num b) { return maximum(a, b); });
  for (Num x : stored)
    powers = powers + powerOfTwo((x - largest) * llvm::numbers::log2e);
  return {largest, acrossLanes(e, powers, 4, [](Num a, Num b) { return a + b; })};
}

MmaSums::RowSoftmax MmaSums::softmaxOfWarps(Buffer maxima, Buffer powers, Index row) {
  Num largest = e.load(maxima, row), sum = e.number(0.0);
  for (int64_t across = 1; across < shape.warpColumns; ++across)
    largest = maximum(largest, e.load(maxima, row + across * rows));
  for (int64_t across = 0; across < shape.warpColumns; ++across) {
    Index place = row + across * rows;
    sum = sum + e.load(powers, place) * exp(e.load(maxima, place) - largest);
  }
  return {largest, sum};
}

void MmaSums::storeRowSoftmax(RowSoftmax softmax, Buffer maxima, Buffer powers, Index place) {
  e.store(maxima, place, softmax.largest);
  e.store(powers, place, softmax.powers);
}
