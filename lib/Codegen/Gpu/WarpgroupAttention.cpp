//===- WarpgroupAttention.cpp - Attention in 16 bits by wgmma -------------===//

#include "WarpgroupAttention.h"
#include "MmaBlocks.h"
#include "MmaSoftmax.h"
#include "PanelCopies.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

/// A block has this number of rows, 64 for each of its two warpgroups.
static constexpr int64_t kExtent = 128;

template <typename Op>
static bool isOfWholeBlocks(const KernelOptions &options, Op op) {
  ArrayRef<int64_t> shape = op.getQ().getType().getShape();
  int64_t size = shape[2] / static_cast<int64_t>(op.getHeads());
  return isByWarpgroup(options.tensorCores) && op.getQ().getType().getElementTypeBitWidth() == 16 &&
         (size == 64 || size == 128) && shape[1] % kExtent == 0 && op.getP().isZero();
}

bool llmmem::isWarpgroupAttention(const KernelOptions &options, AttentionOp op) {
  return isOfWholeBlocks(options, op);
}
bool llmmem::isWarpgroupAttention(const KernelOptions &options, AttentionGradOp op) {
  return isOfWholeBlocks(options, op);
}

namespace {

/// A block takes 128 queries and iterates over as many keys at a time as a head has elements: with
/// heads of 64 two blocks share the registers of a multiprocessor.
class Forward {
public:
  Forward(KernelEmitter &e, MmaRows &rows, HeadBlock block, Buffer sinks)
      : e(e), rows(rows), block(block), softmax(rows, block, sinks),
        bytes(dynamicWorkgroup(e, bytesOf(e.options(), size()))),
        memory(partOf(e, bytes, 0, elementsOf(size()), halfTypeOf(e))),
        copies(rows, bytes, 2 * elementsOf(size())),
        sources{copies.queriesOf(e.operand(0), kExtent),
                copies.keysOf(e.operand(1), keysOf(size())),
                copies.keysOf(e.operand(2), keysOf(size()))},
        queries(memory, e.index(0), kExtent, size()),
        stages(memory, WarpgroupPanel::sizeOf(kExtent, size()), keysOf(size()), size()) {}

  static int64_t keysOf(int64_t size) { return size; }
  /// Counts queries, and stages of keys and values.
  static int64_t elementsOf(int64_t size) {
    return WarpgroupPanel::sizeOf(kExtent, size) + WarpgroupStages::sizeOf(keysOf(size), size);
  }
  static int64_t bytesOf(const KernelOptions &options, int64_t size) {
    return 2 * elementsOf(size) + PanelCopies::bytesOfBarriers(options);
  }

  void emit() {
    copies.begin(registers());
    copies.startOwn(PanelCopies::Copy{queries, sources.queries}, block);
    std::tie(begin, end) = unmaskedKeys(rows, block, keysOf(size()));
    copyStage(*begin);
    copies.waitForOwn();
    softmax.foldTiles(*begin, *end, [&](Index number, FragmentsC &out, MutableArrayRef<Num> state) {
      emitIteration(number, out, state);
    });
  }

private:
  int64_t size() const { return rows.blocks.size; }
  int32_t registers() const { return size() <= 64 ? 128 : 255; }

  WarpgroupPanel keys(Index number) { return stages.panel(number, 0); }
  WarpgroupPanel values(Index number) { return stages.panel(number, 1); }

  void copyStage(Index number) {
    copies.startStage(number, {{keys(number), sources.keys}, {values(number), sources.values}},
                      keyBlock(rows, block, number, keysOf(size())));
  }

  /// After the barrier all warpgroups have waited for what reads the previous tile, into whose
  /// stage the next one goes.
  void emitIteration(Index number, FragmentsC &out, MutableArrayRef<Num> state) {
    copies.waitForStage(number, *begin, registers());
    ifThen(e, less(number + 1, *end), [&] { copyStage(number + 1); });
    fenceSums(e);
    Value sums = WarpgroupPanel::startScores(rows, queries, keys(number));
    commitWgmma(e);
    waitForWgmma(e, 0);
    FragmentsC scores = unflatten(takeSums(e, sums));
    softmax.emit(scores, out, keyBlock(rows, block, number, keysOf(size())), keysOf(size()), state);
    FragmentsA powers = packFragments(e, scores);
    sums = makeSums(e, flatten(out));
    fenceSums(e);
    sums = WarpgroupPanel::startSums(e, powers, values(number), sums);
    commitWgmma(e);
    waitForWgmma(e, 0);
    out = unflatten(takeSums(e, sums));
  }

  KernelEmitter &e;
  MmaRows &rows;
  HeadBlock block;
  MmaSoftmax softmax;
  Buffer bytes, memory;
  PanelCopies copies;
  struct {
    PanelCopies::Source queries, keys, values;
  } sources;
  std::optional<Index> begin, end; // Those of the tiles.
  WarpgroupPanel queries;
  WarpgroupStages stages;
};

} // namespace

void llmmem::emitWarpgroupAttention(AttentionOp op, KernelEmitter &e) {
  int64_t size = op.getQ().getType().getShape()[2] / static_cast<int64_t>(op.getHeads());
  forBlocks(
      op, e, op.getHeads(), kExtent, Longest::Last,
      [&](MmaRows &rows, HeadBlock block) {
        Forward(e, rows, block, e.operand(op.getSinksMutable())).emit();
      },
      Forward::bytesOf(e.options(), size));
}
