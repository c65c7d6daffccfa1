//===- Checkpoints.h - Deciding on recomputation, and doing it -------------===//
//
// `planCheckpoints` decides and writes the decision into the IR; `applyCheckpoints` obeys it. Other
// compilers call these; the passes of the same names are thin.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_CHECKPOINTS_H
#define LLMMEM_TRANSFORMS_CHECKPOINTS_H

#include "llmmem/Analysis/ChunkTilings.h"
#include "llmmem/Analysis/MemoryReport.h"
#include "llmmem/Planning/Offload/HostCopies.h"
#include "llmmem/Planning/Planner.h"
#include "llmmem/Transforms/Epilogues.h"
#include <map>
#include <mutex>

namespace llmmem {

struct CheckpointRequest {
  planning::Policy policy;
  std::optional<int64_t> budget;         // bytes for resident buffers and arena
  double seconds = 10;                   // bound on the search
  ChunkRequest chunk;                    // rows at a time of ops that work in chunks
  Epilogues epilogues = Epilogues::Auto; // which matmuls take what follows them
  bool packsSaved = false;               // saved values may be held in 8 bits
  bool overlap = false;                  // collectives run beside compute, on the link
  /// Bytes of the host that values may leave for; none: nothing leaves.
  std::optional<int64_t> hostBudget;
  /// What copies take; none: what the device's table says of its link to the host.
  std::optional<planning::HostLink> link;
  std::optional<int64_t> linkLatency; // ns, in the place of the link's
  // Files for the planner's JSON, empty: none.
  std::string emitProblem, emitPlan, emitProof;
  std::string failureReport; // file for what is known where no plan was found
  std::string explain;       // the name of a value or op, or all; empty: nothing
};

/// What came of planning, for reports: it holds what the IR does not say. Of a step of several
/// functions, which passes may plan at once: the worst of each number.
struct CheckpointOutcome {
  planning::Status status = planning::Status::Unknown;
  bool noPlan = false;     // planning ran, and found none
  bool changedOps = false; // the plan is for a step with other ops, and the step is now that
  double seconds = 0;
  int64_t leastPeak = 0;        // least peak found, where there is no plan under the budget
  int64_t leastBudget = 0;      // the budget that the plan of the least peak needs
  int64_t peakLowerBound = 0;   // proved, of what is live
  int64_t budgetLowerBound = 0; // proved, where there is no plan: no smaller budget has one
  std::string checked;          // what of the certificate was checked with its proof

  /// What becomes of files and reports. An attempt, behind which another may follow, holds them
  /// back until it is known to be the last, so that a failed one leaves nothing behind.
  enum class Texts { Written, HeldBack, Dropped };
  Texts texts = Texts::Written;

  /// `text` is for the file `path`, `-` for stdout.
  llvm::Error write(llvm::StringRef path, std::string text);
  /// `text` is for stderr.
  void print(std::string text);
  /// Writes and prints all that was held back, in the order in which it came.
  llvm::Error writeHeldBack();

  /// Takes in what came of one function. Any thread may call it.
  void add(const CheckpointOutcome &function);
  /// Keeps the report of one of `count` functions of a step. The last call returns that of the
  /// fullest, beside all; the others nothing.
  std::optional<MemoryReport> addReport(mlir::func::FuncOp function, MemoryReport report,
                                        size_t count);

private:
  struct HeldBack {
    std::optional<std::string> path; // none: stderr
    std::string text;
  };

  std::mutex lock;
  std::vector<HeldBack> heldBack;
  std::map<std::string, MemoryReport> reports; // by function
  std::vector<FunctionEntry> functions;
};

/// Plans `step` with each choice of epilogues that the request leaves open and that changes no bit,
/// makes it what the cheapest plan is for, and writes `llm.id` on the ops, `llm.schedule`,
/// `llm.places`, `llm.decision`, `llm.chunk`, `llm.policy`, `llm.budget`, `llm.certificate`, and
/// `llm.epilogues` where there was a choice; with a budget of the host `llm.host_budget`, and
/// `llm.copies` where something leaves. Fails,
/// after a located diagnostic, where the step cannot be planned or no plan was found (then
/// `outcome` says which).
llvm::LogicalResult planCheckpoints(mlir::func::FuncOp step, const StepStorage &storage,
                                    const CheckpointRequest &request, const DeviceModel &device,
                                    CheckpointOutcome &outcome);

/// Sets the chunks of `llm.chunk` and brings the ops of `step` into the order of `llm.schedule`,
/// cloning repeats and making the copies of `llm.copies`; returns the number of clones. Where the
/// schedule came with `llm.places` it writes what `planArena` writes, each result at its place.
/// Fails, after a located diagnostic, where the step and its plan do not fit each other, or as
/// `planArena` does. `storage` is of no use afterwards.
llvm::FailureOr<int64_t> applyCheckpoints(mlir::func::FuncOp step, const StepStorage &storage);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_CHECKPOINTS_H
