//===- PanelCopies.cpp - How attention's panels get to shared memory -------===//

#include "PanelCopies.h"
#include "llmmem/Codegen/Gpu/TensorMap.h"

using namespace mlir;
using namespace llmmem;

PanelCopies::Source PanelCopies::source(Buffer tensor, bool areKeys, int64_t panelRows) {
  if (!isByMaps())
    return {tensor, areKeys, Value()};
  AttentionBlocks &blocks = rows.blocks;
  TensorMap::Shape shape = {.begin = tensor.begin,
                            .rows = blocks.batch * blocks.seq,
                            .columns = (areKeys ? blocks.kvHeads : blocks.heads) * blocks.size,
                            .pitch = areKeys ? blocks.keyPitch(tensor) : blocks.queryPitch(tensor),
                            .boxRows = panelRows};
  return {tensor, areKeys,
          TensorMap::create(e.builder(), e.location(), tensor.memref, Value(), shape)};
}

void PanelCopies::begin(int32_t registers) {
  if (!isByMaps())
    return;
  ifThen(e, equal(rows.thread, e.index(0)), [&] {
    for (int64_t number = 0; number < kBarriers; ++number)
      barriers.make(e.index(number), /*arrivals=*/1);
    barriers.fence();
  });
  barrierNeeding(e, registers);
}

void PanelCopies::startBoxes(Index barrier, const Copy &copy, HeadBlock block) {
  AttentionBlocks &blocks = rows.blocks;
  Index row = block.batch * blocks.seq + block.first, column = block.head * blocks.size;
  for (int64_t part = 0; part < copy.to.size; part += kSwizzledLine)
    barriers.startCopy(barrier,
                       {copy.from.map, row, column + part, memory, copy.to.beginOf(part) * 2});
}

void PanelCopies::start(Index barrier, ArrayRef<Copy> copies, HeadBlock block) {
  if (!isByMaps()) {
    for (const Copy &copy : copies)
      copy.from.areKeys ? copy.to.copyKeys(rows, copy.from.tensor, block)
                        : copy.to.copyQueries(rows, copy.from.tensor, block);
    return commitCopies(e);
  }
  int64_t bytes = 0;
  for (const Copy &copy : copies)
    bytes += 2 * WarpgroupPanel::sizeOf(copy.to.rows, copy.to.size);
  ifThen(e, equal(rows.thread, e.index(0)), [&] {
    barriers.arriveExpecting(barrier, static_cast<int32_t>(bytes));
    for (const Copy &copy : copies)
      startBoxes(barrier, copy, block);
  });
}

void PanelCopies::startOwn(ArrayRef<Copy> copies, HeadBlock block) {
  start(e.index(kOwn), copies, block);
}

void PanelCopies::waitForOwn() {
  isByMaps() ? barriers.wait(e.index(kOwn), e.index(0)) : rows.synchronizeCopies();
}

void PanelCopies::startStage(Index number, ArrayRef<Copy> copies, HeadBlock block) {
  start(number % WarpgroupStages::kStages, copies, block);
}

void PanelCopies::waitForStage(Index number, Index first, int32_t registers) {
  if (!isByMaps()) {
    waitForCopies(e, 0);
    return barrierBeforeWgmma(e, registers);
  }
  constexpr int64_t stages = WarpgroupStages::kStages;
  barriers.wait(number % stages, (number - first) / stages % 2);
  barrierNeeding(e, registers);
}
