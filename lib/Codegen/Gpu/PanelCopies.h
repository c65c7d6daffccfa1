//===- PanelCopies.h - How attention's panels get to shared memory ---------===//
//
// By cp.async of all threads, or, where the options say so, by tensor maps: one thread starts the
// copies of boxes, and an mbarrier counts their bytes. There is a barrier for each stage, and one
// for the block's own panels. Whether a stage is read any more needs none: the barrier of all
// threads that begins each tile says so.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_PANELCOPIES_H
#define LLMMEM_LIB_CODEGEN_GPU_PANELCOPIES_H

#include "BarrierObject.h"
#include "WarpgroupPanel.h"

namespace llmmem {

class PanelCopies {
public:
  /// What rows of heads are copied from.
  struct Source {
    Buffer tensor;
    bool areKeys;
    mlir::Value map; // null where threads copy
  };
  struct Copy {
    WarpgroupPanel to;
    const Source &from;
  };

  static int64_t bytesOfBarriers(const KernelOptions &options) {
    return isByMaps(options) ? kBarriers * BarrierObjects::kBytes : 0;
  }

  /// Inside the launch; barriers from byte `begin` of `memory` on, in which the panels lie.
  PanelCopies(MmaRows &rows, Buffer memory, int64_t begin)
      : rows(rows), e(rows.e), memory(memory), barriers(rows.e, memory, begin) {}

  /// For panels of `panelRows` rows.
  Source queriesOf(Buffer tensor, int64_t panelRows) { return source(tensor, false, panelRows); }
  Source keysOf(Buffer tensor, int64_t panelRows) { return source(tensor, true, panelRows); }

  /// Before all others; the kernel needs so many registers.
  void begin(int32_t registers);
  /// The panels that stay, of rows of `block`; once.
  void startOwn(llvm::ArrayRef<Copy> copies, HeadBlock block);
  void waitForOwn();
  /// Those of tile `number`, in its stage.
  void startStage(Index number, llvm::ArrayRef<Copy> copies, HeadBlock block);
  /// Until they are there, `first` being the first tile. Behind it nobody reads the stage of the
  /// tile before any more.
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
