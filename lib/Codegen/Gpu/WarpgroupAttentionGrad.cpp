//===- WarpgroupAttentionGrad.cpp - The backward of attention by wgmma ----===//
//
// Probabilities are recomputed from lse, once in blocks of queries and once in blocks of keys.
//
//===----------------------------------------------------------------------===//

#include "MmaBlocks.h"
#include "MmaPairs.h"
#include "PanelCopies.h"
#include "WarpgroupAttention.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

/// A block has this number of rows, 64 for each of its two warpgroups, and the tiles that it
/// iterates over have the other number.
static constexpr int64_t kExtent = 128, kOtherRows = 64;

namespace {

/// Has two panels of the block's rows, and stages of two panels of the others.
class GradBlock {
public:
  GradBlock(KernelEmitter &e, MmaRows &rows, HeadBlock block)
      : e(e), rows(rows), blocks(rows.blocks), block(block),
        bytes(dynamicWorkgroup(e, bytesOf(e.options(), blocks.size))),
        memory(partOf(e, bytes, 0, elementsOf(blocks.size), halfTypeOf(e))),
        copies(rows, bytes, 2 * elementsOf(blocks.size)),
        first(memory, e.index(0), kExtent, blocks.size),
        second(memory, e.index(sizeOfPanel()), kExtent, blocks.size),
        stages(memory, 2 * sizeOfPanel(), kOtherRows, blocks.size) {}

  static int64_t elementsOf(int64_t size) {
    return 2 * WarpgroupPanel::sizeOf(kExtent, size) + WarpgroupStages::sizeOf(kOtherRows, size);
  }
  static int64_t bytesOf(const KernelOptions &options, int64_t size) {
    return 2 * elementsOf(size) + PanelCopies::bytesOfBarriers(options);
  }

protected:
  int64_t sizeOfPanel() const { return WarpgroupPanel::sizeOf(kExtent, blocks.size); }
  WarpgroupPanel stage(Index number, int64_t which) { return stages.panel(number, which); }
  /// Starts the scores of the block's two panels and of the others', in this order, a group each.
  std::pair<Value, Value> startScores(Index number) {
    fenceSums(e);
    Value scores = WarpgroupPanel::startScores(rows, first, stage(number, 0));
    commitWgmma(e);
    Value products = WarpgroupPanel::startScores(rows, second, stage(number, 1));
    commitWgmma(e);
    return {scores, products};
  }
  Value startSums(ArrayRef<FragmentC> weights, const WarpgroupPanel &factor, ArrayRef<Num> before) {
    FragmentsA packed = packFragments(e, weights);
    Value sums = makeSums(e, before);
    fenceSums(e);
    sums = WarpgroupPanel::startSums(e, packed, factor, sums);
    commitWgmma(e);
    return sums;
  }

  KernelEmitter &e;
  MmaRows &rows;
  AttentionBlocks &blocks;
  HeadBlock block;
  Buffer bytes, memory;
  PanelCopies copies;
  WarpgroupPanel first, second;
  WarpgroupStages stages;
};

//===----------------------------------------------------------------------===//
// By queries
//===----------------------------------------------------------------------===//

class ByQueries : GradBlock {
public:
  using GradBlock::bytesOf;

  ByQueries(KernelEmitter &e, MmaRows &rows, HeadBlock block)
      : GradBlock(e, rows, block), sourceOfQueries(copies.queriesOf(e.operand(0), kExtent)),
        sourceOfDouts(copies.queriesOf(e.operand(5), kExtent)),
        sourceOfOuts(copies.queriesOf(e.operand(3), kExtent)),
        sourceOfKeys(copies.keysOf(e.operand(1), kOtherRows)),
        sourceOfValues(copies.keysOf(e.operand(2), kOtherRows)) {}

  void emit() {
    // They replace the stages.
    WarpgroupPanel outs(memory, e.index(2 * sizeOfPanel()), kExtent, blocks.size);
    copies.begin(registers());
    copies.startOwn({{first, sourceOfQueries}, {second, sourceOfDouts}, {outs, sourceOfOuts}},
                    block);
    copies.waitForOwn();
    statistics = emitStatistics(rows, block, second.fragments(rows), outs.fragments(rows));
    rows.synchronize();
    std::tie(begin, end) = unmaskedKeys(rows, block, kOtherRows);
    copyStage(*begin);
    Row initial = flatten(FragmentsC(blocks.size / kMmaColumns, zeroFragment(e)));
    Row dq = fold(e, *begin, *end, initial, [&](Index number, ArrayRef<Num> carried) {
      return emitIteration(number, carried);
    });
    storeQueryGradients(rows, block, unflatten(dq));
  }

private:
  HeadBlock others(Index number) { return keyBlock(rows, block, number, kOtherRows); }
  void copyStage(Index number) {
    copies.startStage(number,
                      {{stage(number, 0), sourceOfKeys}, {stage(number, 1), sourceOfValues}},
                      others(number));
  }

  Row emitIteration(Index number, ArrayRef<Num> carried) {
    copies.waitForStage(number, *begin, registers());
    ifThen(e, less(number + 1, *end), [&] { copyStage(number + 1); });
    auto [ofScores, ofProducts] = startScores(number);
    MmaPairs pairs(rows, block, kExtent, others(number), kOtherRows);
    auto pairOf = [&](int64_t j, int64_t i) -> MmaPair {
      return {rows.rowOf(i / 2), rows.columnOf(j, i), statistics.minusLse[i / 2],
              statistics.delta[i / 2]};
    };
    waitForWgmma(e, 1);
    FragmentsC scores = unflatten(takeSums(e, ofScores)),
               logits = pairs.emitProbabilities(scores, pairOf);
    waitForWgmma(e, 0);
    FragmentsC products = unflatten(takeSums(e, ofProducts));
    pairs.emitGradients(logits, scores, products, pairOf);
    Value sums = startSums(products, stage(number, 0), carried);
    waitForWgmma(e, 0);
    return takeSums(e, sums);
  }

  int32_t registers() const { return blocks.size <= 64 ? 128 : 255; }

  PanelCopies::Source sourceOfQueries, sourceOfDouts, sourceOfOuts, sourceOfKeys, sourceOfValues;
  std::optional<Index> begin, end; // Those of the tiles.
  RowStatistics statistics;
};

//===----------------------------------------------------------------------===//
// By keys
//===----------------------------------------------------------------------===//

/// Iterates over the queries of head after head of the group.
class ByKeys : GradBlock {
public:
  using GradBlock::bytesOf;

  ByKeys(KernelEmitter &e, MmaRows &rows, HeadBlock block)
      : GradBlock(e, rows, block), sourceOfKeys(copies.keysOf(e.operand(1), kExtent)),
        sourceOfValues(copies.keysOf(e.operand(2), kExtent)),
        sourceOfQueries(copies.queriesOf(e.operand(0), kOtherRows)),
        sourceOfDouts(copies.queriesOf(e.operand(5), kOtherRows)) {}

  void emit() {
    copies.begin(kRegisters);
    copies.startOwn({{first, sourceOfKeys}, {second, sourceOfValues}}, block);
    auto [begin, endOfHead] = unmaskedQueries(rows, block, kOtherRows);
    firstTile = begin;
    tiles = endOfHead - begin;
    copyStage(e.index(0));
    copies.waitForOwn();
    Row initial = flatten(FragmentsC(2 * blocks.size / kMmaColumns, zeroFragment(e)));
    Index end = *tiles * group();
    Row sums = fold(e, e.index(0), end, initial, [&](Index number, ArrayRef<Num> carried) {
      return emitIteration(number, end, carried);
    });
    storeKeyGradients(rows, block, unflatten(sums));
  }

private:
  static constexpr int32_t kRegisters = 255;

  int64_t group() const { return blocks.heads / blocks.kvHeads; }
  HeadBlock others(Index number) {
    if (group() == 1)
      return blockAt(rows, block.batch, block.head, *firstTile + number, kOtherRows);
    Index ofGroup = number / *tiles;
    return blockAt(rows, block.batch, block.head * group() + ofGroup,
                   *firstTile + number - ofGroup * *tiles, kOtherRows);
  }
  void copyStage(Index number) {
    copies.startStage(number,
                      {{stage(number, 0), sourceOfQueries}, {stage(number, 1), sourceOfDouts}},
                      others(number));
  }

  /// Loads those of the queries that are this thread's columns, two in each fragment.
  SmallVector<Num> loadStatistics(Buffer from, HeadBlock queries) {
    SmallVector<Num> numbers;
    for (int64_t j = 0; j < kOtherRows / kMmaColumns; ++j) {
      Num pair = e.load(from, blocks.statistic(queries, rows.columnOf(j, 0)), 2);
      for (int64_t column : {0, 1})
        numbers.push_back({&e.builder(), vector::ExtractOp::create(e.builder(), e.location(),
                                                                   pair.value, column)});
    }
    return numbers;
  }

  /// Carries the accumulators of dk, then those of dv. The sums of dv overlap the computation of
  /// the gradients of scores.
  Row emitIteration(Index number, Index end, ArrayRef<Num> carried) {
    copies.waitForStage(number, e.index(0), kRegisters);
    ifThen(e, less(number + 1, end), [&] { copyStage(number + 1); });
    auto [ofScores, ofProducts] = startScores(number);
    HeadBlock queries = others(number);
    SmallVector<Num> lse = loadStatistics(e.operand(4), queries), delta = lse;
    MmaPairs pairs(rows, queries, kOtherRows, block, kExtent);
    auto pairOf = [&](int64_t j, int64_t i) -> MmaPair {
      int64_t query = 2 * j + i % 2;
      return {rows.columnOf(j, i), rows.rowOf(i / 2), minusLog2(lse[query]), delta[query]};
    };
    waitForWgmma(e, 1);
    FragmentsC scores = unflatten(takeSums(e, ofScores)),
               logits = pairs.emitProbabilities(scores, pairOf);
    size_t half = carried.size() / 2;
    Value ofValues = startSums(scores, stage(number, 1), carried.drop_front(half));
    delta = loadStatistics(e.workspace(), queries); // It is not earlier, because registers are
                                                    // scarce.
    waitForWgmma(e, 1);
    FragmentsC products = unflatten(takeSums(e, ofProducts));
    pairs.emitGradients(logits, scores, products, pairOf);
    Value ofKeys = startSums(products, stage(number, 0), carried.take_front(half));
    waitForWgmma(e, 0);
    Row next = takeSums(e, ofKeys);
    next.append(takeSums(e, ofValues));
    return next;
  }

  PanelCopies::Source sourceOfKeys, sourceOfValues, sourceOfQueries, sourceOfDouts;
  std::optional<Index> firstTile, tiles;
};

} // namespace

void llmmem::emitWarpgroupAttention(AttentionGradOp op, KernelEmitter &e) {
  int64_t size = op.getQ().getType().getShape()[2] / static_cast<int64_t>(op.getHeads());
  forBlocks(
      op, e, op.getHeads(), kExtent, Longest::Last,
      [&](MmaRows &rows, HeadBlock block) { ByQueries(e, rows, block).emit(); },
      ByQueries::bytesOf(e.options(), size));
  forBlocks(
      op, e, op.getKvHeads(), kExtent, Longest::First,
      [&](MmaRows &rows, HeadBlock block) { ByKeys(e, rows, block).emit(); },
      ByKeys::bytesOf(e.options(), size));
}
