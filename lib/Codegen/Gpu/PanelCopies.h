//===- PanelCopies.h - How attention's panels get to shared memory ---------===//
//
// All threads copy by cp.async or, where the options say so, one thread starts the copies of boxes
// by tensor maps, and an mbarrier counts their bytes. There is a barrier for each stage, and one
// for the block's own panels. No barrier is needed to say that a stage is not read any more,
// because the barrier of all threads that begins each tile says so.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_PANELCOPIES_H
#define LLMMEM_LIB_CODEGEN_GPU_PANELCOPIES_H

#include "BarrierObject.h"
#include "WarpgroupPanel.h"

namespace llmmem {

class PanelCopies {
public:
  /// Describes what rows of heads are copied from.
  struct Source {
    Buffer tensor;
    bool areKeys;
    mlir::Value map; // Null where threads copy.
  };
  struct Copy {
    WarpgroupPanel to;
    const Source &from;
  };

  static int64_t bytesOfBarriers(const KernelOptions &options) {
    return isByMaps(options) ? kBarriers * BarrierObjects::kBytes : 0;
  }

  /// It is made inside the launch, with barriers from byte `begin` of `memory` on, which contains
  /// the panels.
  PanelCopies(MmaRows &rows, Buffer memory, int64_t begin)
      : rows(rows), e(rows.e), memory(memory), barriers(rows.e, memory, begin) {}

  /// Return sources for panels of `panelRows` rows.
  Source queriesOf(Buffer tensor, int64_t panelRows) { return source(tensor, false, panelRows); }
  Source keysOf(Buffer tensor, int64_t panelRows) { return source(tensor, true, panelRows); }

  /// Precedes all others; the kernel needs this number of registers.
  void begin(int32_t registers);
  /// Starts the copies of the panels that stay, of rows of `block`; called once.
  void startOwn(llvm::ArrayRef<Copy> copies, HeadBlock block);
  void waitForOwn();
  void startStage(Index number, llvm::ArrayRef<Copy> copies, HeadBlock block);
  /// Waits until they are complete, with `first` as the first tile. After it no thread reads the
  /// stage of the previous tile any more.
  void waitForStage(Index number, Index first, int32_t registers);

private:
  static constexpr int64_t kOwn = WarpgroupStages::kStages, kBarriers = kOwn + 1;

  static bool isByMaps(const KernelOptions &options) {
    return options.tensorCores == TensorCores::WarpgroupTma;
  }
  bool isByMaps() const { return isByMaps(e.options()); }
  Source source(Buffer tensor, bool areKeys, int64_t panelRows);
  void start(Index barrier, llvm::ArrayRef<Copy> copies, HeadBlock block);
  void startBoxes(Index barrier, const Copy &copy, HeadBlock block);

  MmaRows &rows;
  KernelEmitter &e;
  Buffer memory;
  BarrierObjects barriers;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_PANELCOPIES_H
