//===- ClusterSums.cpp - Sums of a tile that a cluster's blocks add ---------===//

#include "ClusterSums.h"
#include "llmmem/Codegen/Gpu/Cluster.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;

Row ClusterSums::shareOf(ArrayRef<Num> sums, int64_t part) const {
  int64_t half = part / columnShares(cluster.parts),
          ofRow = shape.columnParts / columnShares(cluster.parts),
          first = part % columnShares(cluster.parts) * ofRow;
  Row share;
  for (int64_t i = 0; i < shape.rowParts; ++i)
    for (int64_t j = first; j < first + ofRow; ++j)
      llvm::append_range(share, sums.slice((i * shape.columnParts + j) * 4 + 2 * half, 2));
  return share;
}

/// Four numbers of a thread at a time lie next to those of the next one, 16 bytes further, so no
/// banks conflict.
void ClusterSums::forVectors(Index part, function_ref<void(Index, int64_t)> body) {
  Index begin = part * (numbers() * threads);
  for (int64_t first = 0; first < numbers(); first += kVector)
    body(begin + first * threads + thread * kVector, first);
}

void ClusterSums::leave(ArrayRef<Num> share, int64_t part) {
  OpBuilder &b = e.builder();
  forVectors(e.index(part), [&](Index place, int64_t first) {
    SmallVector<Value> values;
    for (const Num &number : share.slice(first, kVector))
      values.push_back(number.value);
    Value all = vector::FromElementsOp::create(b, e.location(),
                                               VectorType::get({kVector}, e.computeType()), values);
    e.store(memory, place, {&b, all});
  });
}

/// Loads what the block that is `distance` parts away has left for this one.
Row ClusterSums::load(int64_t distance) {
  OpBuilder &b = e.builder();
  Index peer{&b, arith::XOrIOp::create(b, e.location(), rank.value,
                                       e.index(distance * cluster.sharing).value)};
  Row share;
  forVectors(part, [&](Index place, int64_t) {
    Value all = loadOfPeer(e, memory, place, VectorType::get({kVector}, e.computeType()), peer);
    for (int64_t number = 0; number < kVector; ++number)
      share.push_back({&b, vector::ExtractOp::create(b, e.location(), all, number)});
  });
  return share;
}

Row ClusterSums::ownOf(ArrayRef<Num> sums) {
  Row own = shareOf(sums, 0);
  for (int64_t other = 1; other < cluster.parts; ++other) {
    Value isOther = equal(part, e.index(other));
    for (auto [number, ofOther] : llvm::zip_equal(own, shareOf(sums, other)))
      number = select(isOther, ofOther, number);
  }
  return own;
}

static Row sumOf(ArrayRef<Num> a, ArrayRef<Num> b) {
  return llvm::map_to_vector(llvm::zip_equal(a, b), [](auto pair) {
    auto [x, y] = pair;
    return x + y;
  });
}

Row ClusterSums::add(ArrayRef<Num> sums) {
  barrier(e); // No warp multiplies tiles any more.
  for (int64_t other = 0; other < cluster.parts; ++other) {
    Value isOthers = arith::CmpIOp::create(e.builder(), e.location(), arith::CmpIPredicate::ne,
                                           part.value, e.index(other).value);
    ifThen(e, isOthers, [&] { leave(shareOf(sums, other), other); });
  }
  Row own = ownOf(sums);
  clusterBarrier(e, cluster.parts * cluster.sharing);
  SmallVector<Row> others;
  for (int64_t distance = 1; distance < cluster.parts; ++distance)
    others.push_back(load(distance));
  Row sum = sumOf(own, others[0]);
  return cluster.parts == 2 ? sum : sumOf(sum, sumOf(others[1], others[2]));
}
