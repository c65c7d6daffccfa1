//===- HostArena.h - Places in the host's arena -----------------------------===//
//
// The host's arena begins with what updates on the host read and write there: gradients that came
// to the host, and new parameters. The ops that touch them keep their order in every plan, so their
// bytes are known before the step is planned. The values that leave within the step follow them, as
// the plan says.
//
// An update and the copies around it keep their bytes for two more of these ops, so that those need
// not wait for it.
//
// Example: gradients of 1,024 and 512 bytes that are on the host together, the first of which its
// new parameter takes over, have 1,536 bytes; a value that leaves at offset 0 of the plan's own
// is at 1,536.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_TRANSFORMS_HOSTARENA_H
#define LLMMEM_LIB_TRANSFORMS_HOSTARENA_H

#include "llmmem/Analysis/ProblemExtraction.h"
#include "llmmem/Planning/Allocation/Placement.h"

namespace llmmem {

/// Packs ops in the order in which they stand: nothing is left to decide except the offsets.
/// `spans` are those of planning::placeSteps.
planning::Plan packInOrder(const planning::Problem &problem,
                           llvm::ArrayRef<planning::StepSpan> spans = {});

struct HostArena {
  llvm::DenseMap<mlir::Value, int64_t> offsets;
  int64_t bytes = 0; // a multiple of the alignment
};

/// Returns where what updates read and write in the host's arena lies.
HostArena placeForUpdates(const ExtractedProblem &extracted, const StepStorage &storage);

/// Sets the offsets of what leaves within the step, by the order in which the ops stand, after
/// `updates`.
void placeLeaving(const ExtractedProblem &extracted, const StepStorage &storage,
                  HostArena &updates);

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_HOSTARENA_H
