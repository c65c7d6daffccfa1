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

void MmaRows::copy(const MmaTile &tile, Buffer from, Index begin, int64_t pitch, HeadBlock block) {
  TileSource source{from, begin, pitch, e.index(0), e.index(0), block.count, e.index(blocks.size)};
  copyTile(e, tile, source, thread, threads);
  commitCopies(e);
}

void MmaRows::copyQueries(const MmaTile &tile, Buffer from, HeadBlock block) {
  copy(tile, from, blocks.queryOffset(from, block, e.index(0)), blocks.queryPitch(from), block);
}

void MmaRows::copyKeys(const MmaTile &tile, Buffer from, HeadBlock block) {
  copy(tile, from, blocks.keyOffset(from, block, e.index(0)), blocks.keyPitch(from), block);
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

void MmaRows::addPart(FragmentsC &sums, const FragmentA &rows, const MmaTile &tile, int64_t inner) {
  for (size_t j = 0; j < sums.size(); j += 2) {
    std::array<FragmentB, 2> columns =
        loadFragmentsB(e, tile, e.index(j * kMmaColumns), e.index(inner), lane);
    for (size_t next : {0, 1})
      sums[j + next] = multiply(e, rows, columns[next], sums[j + next]);
  }
}

FragmentsC MmaRows::products(ArrayRef<FragmentA> rows, const MmaTile &tile) {
  FragmentsC sums(tile.rows / kMmaColumns, zeroFragment(e));
  for (auto [k, part] : llvm::enumerate(rows))
    addPart(sums, part, tile, k * kMmaInner);
  return sums;
}

FragmentsC MmaRows::products(const MmaTile &rows, const MmaTile &tile) {
  FragmentsC sums(tile.rows / kMmaColumns, zeroFragment(e));
  for (int64_t inner = 0; inner < rows.inner; inner += kMmaInner)
    addPart(sums, loadFragmentA(e, rows, firstRow(), e.index(inner), lane), tile, inner);
  return sums;
}

void MmaRows::addMatmul(FragmentsC &sums, ArrayRef<FragmentC> pairs, const MmaTile &factor) {
  for (size_t k = 0; k < pairs.size(); k += 2)
    addPart(sums, packFragment(e, pairs[k], pairs[k + 1]), factor.transposed(), k * kMmaColumns);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Num MmaRows::acrossRow(Num x, function_ref<Num(Num, Num)> combine) {
  return acrossLanes(e, x, /*lanes=*/4, combine);
}

/// If causal, it tests 0 <= query - key < window in one comparison without signs, so the key exists
/// where the query does.
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

Value MmaRows::mayBeMasked(HeadBlock queries, int64_t queryCount, HeadBlock keys,
                           int64_t keyCount) {
  OpBuilder &b = e.builder();
  // A sequence of a packed row may begin anywhere.
  if (blocks.positions)
    return arith::ConstantIntOp::create(b, e.location(), 1, 1);
  Index seq = e.index(blocks.seq), firstQuery = queries.first, firstKey = keys.first;
  // It tests that the last key exists, or that the first query attends to it.
  Value mayBe = blocks.ahead > 0 ? less(seq, firstKey + keyCount)
                                 : less(firstQuery, firstKey + (keyCount - 1));
  auto orIf = [&](Value condition) {
    mayBe = arith::OrIOp::create(b, e.location(), mayBe, condition);
  };
  if (blocks.seq % queryCount != 0)
    orIf(less(seq, firstQuery + queryCount));
  if (blocks.ahead == 0 && blocks.window < blocks.seq)
    orIf(less(firstKey + (blocks.window - 1), firstQuery + (queryCount - 1)));
  return mayBe;
}

FragmentsC MmaRows::masked(Value mayBe, ArrayRef<FragmentC> fragments, Num hidden,
                           function_ref<Value(int64_t, int64_t)> isVisible) {
  Row all = flatten(fragments);
  return unflatten(chooseIf(e, mayBe, all, [&] {
    Row visible;
    for (auto [number, x] : llvm::enumerate(all))
      visible.push_back(select(isVisible(number / 4, number % 4), x, hidden));
    return visible;
  }));
}

bool MmaRows::isScaledInFactor() const { return blocks.cap == 0.0 && blocks.scale > 0.0; }

Num MmaRows::logit(Num score) {
  return isScaledInFactor() ? score : blocks.capped(score * blocks.scale);
}

double MmaRows::logitFactor() const {
  return isScaledInFactor() ? blocks.scale * llvm::numbers::log2e : llvm::numbers::log2e;
}

void MmaRows::store(ArrayRef<FragmentC> sums, Buffer to, function_ref<Index(Index)> place,
                    Index bound, function_ref<Num(int64_t)> factor) {
  for (int64_t half : {0, 1}) {
    Index row = rowOf(half);
    ifThen(e, less(row, bound), [&] {
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
