//===- LatentMembers.cpp - Sums of latent rows that a cluster's blocks add --===//

#include "LatentMembers.h"
#include "llmmem/Codegen/Gpu/Cluster.h"
#include "llmmem/Codegen/Gpu/PowersOfTwo.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;

void MemberSums::exchange(ArrayRef<Num> ownLargest, ArrayRef<Num> ownTotals,
                          ArrayRef<FragmentC> sums) {
  OpBuilder &b = e.builder();
  auto give = [&](int64_t number, ArrayRef<Num> numbers, Index rank) {
    SmallVector<Value> values;
    for (Num each : numbers)
      values.push_back(each.value);
    auto type = VectorType::get({kNumbers}, e.computeType());
    Value all = vector::FromElementsOp::create(b, e.location(), type, values);
    storeToPeer(e, slots, placeOf(member, number), all, rank);
  };
  // Nobody reads tiles and queries any more.
  clusterBarrier(e, parts.clusterBlocks());
  for (int64_t to = 0; to < parts.together; ++to) {
    Index rank = group + to * parts.groups;
    for (int64_t number = 0; number < perMember() && to * perMember() + number < fragments;
         ++number)
      give(number, sums[to * perMember() + number], rank);
    give(perMember(), {ownLargest[0], ownLargest[1], ownTotals[0], ownTotals[1]}, rank);
  }
  clusterBarrier(e, parts.clusterBlocks());
  SmallVector<FragmentC> statistics;
  for (int64_t slot = 0; slot < parts.together; ++slot)
    statistics.push_back(load(slot, perMember()));
  weights.resize(parts.together);
  for (int64_t half : {0, 1}) {
    largest[half] = statistics.front()[half];
    for (const FragmentC &ofMember : ArrayRef(statistics).drop_front())
      largest[half] = maximum(largest[half], ofMember[half]);
    totals[half] = e.number(0.0);
    for (const auto &[slot, ofMember] : llvm::enumerate(statistics)) {
      weights[slot][half] = powerOfTwo(ofMember[half] - largest[half]);
      totals[half] = totals[half] + weights[slot][half] * ofMember[2 + half];
    }
  }
}

FragmentC MemberSums::load(int64_t slot, int64_t number) {
  Num all = e.load(slots, placeOf(e.index(slot), number), kNumbers);
  FragmentC numbers;
  for (int64_t i = 0; i < kNumbers; ++i)
    numbers[i] = {all.builder, vector::ExtractOp::create(e.builder(), e.location(), all.value, i)};
  return numbers;
}

FragmentsC MemberSums::add() {
  FragmentsC sums;
  for (int64_t number = 0; number < perMember(); ++number) {
    auto addMembers = [&] {
      FragmentC sum = zeroFragment(e);
      for (int64_t slot = 0; slot < parts.together; ++slot) {
        FragmentC ofMember = load(slot, number);
        for (int64_t i = 0; i < kNumbers; ++i)
          sum[i] = sum[i] + ofMember[i] * weights[slot][i / 2];
      }
      return Row(sum.begin(), sum.end());
    };
    bool areWhole = fragments % parts.together == 0;
    FragmentC zero = zeroFragment(e);
    Row sum = areWhole ? addMembers()
                       : e.chooseIf(less(firstFragment() + number, e.index(fragments)),
                                    Row(zero.begin(), zero.end()), addMembers);
    FragmentC all;
    llvm::copy(sum, all.begin());
    sums.push_back(all);
  }
  return sums;
}
