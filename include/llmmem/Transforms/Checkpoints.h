//===- Checkpoints.h - What is asked of a plan, and how it is done ----------===//
//
// `planCheckpoints` (Reports/PlanCheckpoints.h) decides and writes the decision into the IR;
// `applyCheckpoints` obeys it. Other compilers call these; the passes of the same names are thin.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_CHECKPOINTS_H
#define LLMMEM_TRANSFORMS_CHECKPOINTS_H

#include "llmmem/Analysis/ChunkTilings.h"
#include "llmmem/Planning/Offload/HostRequest.h"
#include "llmmem/Planning/Planner.h"
#include "llmmem/Transforms/Epilogues.h"

namespace llmmem {

/// Names the files for the planner's JSON; an empty name writes none.
struct RequestedFiles {
  std::string problem, plan, proof;
  std::string failure; // for what is known where no plan was found
};

struct CheckpointRequest {
  planning::Policy policy;
  std::optional<int64_t> budget;         // bytes for resident buffers and arena
  double seconds = 10;                   // bound on the search
  ChunkRequest chunk;                    // rows at a time of ops that work in chunks
  Epilogues epilogues = Epilogues::Auto; // which matmuls take what follows them
  bool packsSaved = false;               // saved values may be held in 8 bits
  bool overlap = false;                  // collectives run at the same time as compute, on the link
  planning::HostRequest host;
  RequestedFiles files;
  std::string explain; // the name of a value or op, or all; empty: nothing
};

/// Sets the chunks of `llm.chunk` and brings the ops of `step` into the order of `llm.schedule`,
/// cloning repeats and making the copies of `llm.copies`; returns the number of clones. Where the
/// schedule came with `llm.places` it writes what `planArena` writes, each result at its place.
/// Fails, after a located diagnostic, where the step and its plan do not fit each other, or as
/// `planArena` does. `storage` is of no use afterwards.
llvm::FailureOr<int64_t> applyCheckpoints(mlir::func::FuncOp step, const StepStorage &storage);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_CHECKPOINTS_H
