//===- MmaRows.cpp - The rows of a warp in attention on tensor cores ------===//

#include "MmaRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;

Row llmmem::flatten(ArrayRef<FragmentC> sums) {
  Row numbers;
  for (const FragmentC &sum : sums)
    numbers.append(sum.begin(), sum.end());
  return numbers;
}

FragmentsC llmmem::unflatten(ArrayRef<Num> numbers) {
  FragmentsC sums;
  for (size_t i = 0; i < numbers.size(); i += 4)
    sums.push_back({numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]});
  return sums;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void MmaRows::copy(const MmaTile &tile, Buffer from, Index begin, int64_t pitch, HeadBlock block,
                   bool transposed) {
  TileSource source{from, begin, pitch, transposed, e.index(0), e.index(0), e.index(0), e.index(0)};
  (transposed ? source.innerBound : source.rowBound) = block.count;
  (transposed ? source.rowBound : source.innerBound) = e.index(blocks.size);
  copyTile(e, tile, source, thread, threads);
}

void MmaRows::copyQueries(const MmaTile &tile, Buffer from, HeadBlock block, bool transposed) {
  copy(tile, from, blocks.queryOffset(block, e.index(0)), blocks.heads * blocks.size, block,
       transposed);
}

void MmaRows::copyKeys(const MmaTile &tile, Buffer from, HeadBlock block, bool transposed) {
  copy(tile, from, blocks.keyOffset(block, e.index(0)), blocks.kvHeads * blocks.size, block,
       transposed);
}

//===----------------------------------------------------------------------===//
// Matmuls
//===----------------------------------------------------------------------===//

FragmentsA MmaRows::rowsOf(const MmaTile &tile) {
  FragmentsA fragments;
  for (int64_t inner = 0; inner < tile.inner; inner += kMmaInner)
    fragments.push_back(loadFragmentA(e, tile, firstRow(), e.index(inner), lane));
  return fragments;
}

FragmentsC MmaRows::products(ArrayRef<FragmentA> rows, const MmaTile &tile) {
  FragmentsC sums;
  for (int64_t column = 0; column < tile.rows; column += kMmaColumns) {
    FragmentC sum = zeroFragment(e);
    for (auto [k, part] : llvm::enumerate(rows))
      sum = multiply(e, part, loadFragmentB(e, tile, e.index(column), e.index(k * kMmaInner), lane),
                     sum);
    sums.push_back(sum);
  }
  return sums;
}

FragmentsC MmaRows::products(const MmaTile &rows, const MmaTile &tile) {
  FragmentsC sums(tile.rows / kMmaColumns, zeroFragment(e));
  for (int64_t inner = 0; inner < rows.inner; inner += kMmaInner) {
    FragmentA part = loadFragmentA(e, rows, firstRow(), e.index(inner), lane);
    for (auto [j, sum] : llvm::enumerate(sums))
      sum = multiply(e, part,
                     loadFragmentB(e, tile, e.index(j * kMmaColumns), e.index(inner), lane), sum);
  }
  return sums;
}

void MmaRows::addMatmul(FragmentsC &sums, ArrayRef<FragmentC> pairs, const MmaTile &transposed) {
  for (size_t k = 0; k < pairs.size(); k += 2) {
    FragmentA part = packFragment(e, pairs[k], pairs[k + 1]);
    for (auto [j, sum] : llvm::enumerate(sums))
      sum = multiply(
          e, part,
          loadFragmentB(e, transposed, e.index(j * kMmaColumns), e.index(k * kMmaColumns), lane),
          sum);
  }
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Num MmaRows::acrossRow(Num x, function_ref<Num(Num, Num)> combine) {
  return deviceLoops(e).acrossLanes(e, x, /*lanes=*/4, combine);
}

/// Causal: 0 <= query - key < window in one comparison without signs, so the key exists where the
/// query does.
Value MmaRows::isUnmasked(Index batch, Index query, Index key) {
  OpBuilder &b = e.builder();
  auto reach = [&] {
    return blocks.positions ? blocks.reachOf(batch, query)
                            : e.index(std::min(blocks.window, blocks.seq));
  };
  Value isSeen = blocks.ahead > 0
                     ? less(key, e.index(blocks.seq))
                     : arith::CmpIOp::create(b, e.location(), arith::CmpIPredicate::ult,
                                             (query - key).value, reach().value);
  return arith::AndIOp::create(b, e.location(), isSeen, less(query, e.index(blocks.seq)));
}

void MmaRows::store(ArrayRef<FragmentC> sums, Buffer to, function_ref<Index(Index)> place,
                    Index bound, function_ref<Num(int64_t)> factor) {
  for (int64_t half : {0, 1}) {
    Index row = rowOf(half);
    e.ifThen(less(row, bound), [&] {
      Index begin = place(row);
      Num scale = factor(half);
      for (auto [j, sum] : llvm::enumerate(sums)) {
        Value pair = vector::FromElementsOp::create(
            e.builder(), e.location(), VectorType::get({2}, e.computeType()),
            ValueRange{sum[2 * half].value, sum[2 * half + 1].value});
        e.store(to, begin + columnOf(j, 0), Num{&e.builder(), pair} * scale);
      }
    });
  }
}
