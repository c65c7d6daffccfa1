//===- MemoryReport.h - The facts of a planned step ------------------------===//
//
// A report gathers what a planned step holds, saves and recomputes, from its final IR alone. It is
// printed for people and as the JSON `llmmem-memory-report`, version 1. Bytes and FLOPs are
// integers.
//
// A budget bounds `neededBytes`: what is allocated.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_REPORTS_MEMORYREPORT_H
#define LLMMEM_REPORTS_MEMORYREPORT_H

#include "llmmem/Analysis/SavedValues.h"
#include "llmmem/Device/DeviceModel.h"
#include "llmmem/Layout/StepLiveness.h"
#include "llvm/Support/JSON.h"

namespace llmmem {

struct LiveEntry {
  mlir::Value value; // null for the workspace
  std::string name;
  int64_t bytes = 0;
  llvm::StringRef kind; // saved, gradient, temporary, workspace
  std::optional<int64_t> block;
};

/// Is an op that works in chunks, and how many rows it takes at a time.
struct ChunkEntry {
  std::string name;
  int64_t rows = 0, of = 0;
};

/// Is a choice of epilogues that was compared.
struct EpilogueEntry {
  std::string choice;
  bool taken = false;
  std::optional<int64_t> peak; // of its plan, where it has one
  int64_t ns = 0;              // of its plan; else a proved bound
  std::string why;             // it has no plan
};

/// Is one function of a step that is several: a pipeline stage, or a part that runs for each
/// micro-batch.
struct FunctionEntry {
  std::string name;
  int64_t runs = 1; // in a step
  int64_t needed = 0, peak = 0, arena = 0;
  int64_t ns = 0; // modelled, of one run with its recomputation
  int64_t recomputeNs = 0;
  int64_t lowerBoundNs = 0; // proved of `ns`
  int64_t sentBytes = 0;    // to other ranks
  std::optional<int64_t> budget;
  std::string device;
  std::optional<int64_t> withoutBudgetNs; // what `ns` is then, where that is known
};

/// Says how the stages of a pipeline run together.
struct PipelineEntry {
  std::string schedule; // empty: there is none
  int64_t microBatches = 1;
  int64_t ns = 0;    // modelled, of a step
  double bubble = 0; // the part of it that stages wait for each other
};

/// Lists all functions of a step that is several; the report is of the fullest.
struct SeveralFunctions {
  std::vector<FunctionEntry> functions;
  PipelineEntry pipeline;
};

/// Says how much of the started collectives and copies overlaps compute, modelled for the ops in
/// their order. Without starts `stepNs` is the sum of all ops.
struct OverlapEntry {
  int64_t started = 0;                     // collectives and copies
  int64_t startedNs = 0;                   // the time that they take
  int64_t hiddenNs = 0;                    // the part of that time that overlaps compute
  int64_t stepNs = 0;                      // from the first op to the end of the last
  std::optional<int64_t> timeLowerBoundNs; // that every plan takes, where the planner proved it
};

/// Is a value that leaves for the host.
struct LeavingEntry {
  std::string name;
  std::optional<int64_t> block;
  int64_t bytes = 0;
  int64_t ups = 0, downs = 0; // copies
};

/// Says what the host holds for the step, and what goes there and back.
struct HostEntry {
  std::optional<int64_t> budget;
  int64_t residentBytes = 0, residentPadding = 0; // of arguments that lie there
  int64_t arena = 0;
  std::vector<LeavingEntry> leaving;  // in the order in which they first leave
  int64_t upBytes = 0, downBytes = 0; // of all copies
  int64_t copyNs = 0;                 // that they take, modelled
  int64_t updates = 0, updateNs = 0;  // that run there, and what they take, modelled
  bool leavesWithin = false;          // whether a value leaves and comes back within the step

  bool isUsed() const { return budget || residentBytes > 0 || !leaving.empty(); }
  int64_t neededBytes() const { return residentBytes + residentPadding + arena; }
};

/// Counts saved values that are held in fewer bits (`llm.pack` for the backward).
struct PackedValues {
  int64_t values = 0;
  int64_t bytes = 0, bytesWithScales = 0; // as they are, and packed
};

/// Says what lies in the device's memory from the start of the step to its end.
struct ResidentEntry {
  std::map<std::string, int64_t> byRole; // bytes
  int64_t bytes = 0;
  int64_t padding = 0;           // that aligning their buffers adds; in no peak
  int64_t serverBytes = 0;       // of them, with their padding, those that only a server has
  int64_t parameters = 0;        // elements
  int64_t trainedParameters = 0; // of them, those that are not frozen
};

/// Says where the most bytes are live; resident bytes and workspaces are among them.
struct PeakEntry {
  int64_t bytes = 0;
  int64_t position = -1;
  mlir::Operation *op = nullptr;
  std::vector<LiveEntry> live; // there, largest first
};

struct ArenaEntry {
  int64_t bytes = 0;
  double fragmentation = 0;
};

/// Says what the forward leaves for the backward.
struct SavedEntry {
  std::vector<SavedValue> values; // kept and recomputed ones
  int64_t bytes = 0;              // of the kept ones
  std::vector<int64_t> byBlock;   // of the kept ones
  PackedValues packed;            // each once
};

/// Says in which variant the step runs.
struct VariantEntry {
  std::vector<ChunkEntry> chunks;
  std::vector<EpilogueEntry> epilogues;
  bool epiloguesDecideBits = false; // a library rounds after an epilogue, not before it too
};

/// Says where the prices of ops come from.
struct PriceEntry {
  std::string device, source;         // the table of prices, and where they come from
  bool ratesAreMeasured = false;      // of the device: else it does no more than this
  int64_t measured = 0, modelled = 0; // ops of the program, by how they were priced
  /// Counts the ops without a description, by name: how many, and their ns by their traffic alone
  /// (--unpriced=by-bytes).
  std::map<std::string, std::pair<int64_t, int64_t>> byBytes;
};

struct Work {
  /// Attention over a million tokens takes a step to 2^63 FLOPs. Exact up to 2^53, then rounded.
  double flops = 0;
  int64_t ns = 0;
};

/// Says what the step computes, and how long that takes.
struct TimeEntry {
  Work once; // of every op
  Work recomputed;
  int64_t recomputedOps = 0;
  std::optional<int64_t> withoutBudgetNs; // of the step then, in the chunks that it then has
  int64_t tokens = 0;                     // of one run of the step; 0 where it is not known
  OverlapEntry overlap;

  /// Returns the modelled ns of the step, repetitions and what collectives hide included.
  int64_t plannedNs() const { return overlap.stepNs; }
};

/// Says what the ranks of the step's mesh share; the report says the memory of each. A rank sends
/// in one step, repetitions included, what ring algorithms do (`CostOpInterface::getTransfer`).
struct RanksEntry {
  int64_t count = 1;
  std::string mesh;        // as `#llm.mesh<dp = 4>`; empty without one
  int64_t collectives = 0; // that send anything
  int64_t repeated = 0;    // of them, by recomputation
  int64_t sentBytes = 0;
  int64_t ns = 0; // modelled
  /// Counts the bytes that all ranks of the mesh together hold of arguments beyond those of the
  /// whole, where ranks do not divide a vocabulary. Copies count once.
  int64_t paddingBytes = 0;
};

/// Says what the planner proved of every plan.
struct CertificateEntry {
  int64_t costLowerBoundNs = 0; // of the whole step
  int64_t peakLowerBound = 0;
  std::string bound;
  std::string checked; // which of its claims were checked with its proof; empty: no proof
};

/// Says what was asked of the planner, and how long it took.
struct PlanEntry {
  std::string policy;
  std::optional<int64_t> budget;
  double seconds = 0; // known only where the step was planned in the same run
};

struct MemoryReport {
  PlanEntry plan;
  ResidentEntry resident;
  PeakEntry peak;
  ArenaEntry arena;
  SavedEntry saved;
  VariantEntry variant;
  PriceEntry prices;
  TimeEntry time;
  RanksEntry ranks;
  HostEntry host;
  CertificateEntry certificate;
  SeveralFunctions several;

  /// Fails, after a located diagnostic, where the step is not planned.
  static llvm::FailureOr<MemoryReport> compute(mlir::func::FuncOp step, const StepStorage &storage,
                                               const StepLiveness &liveness,
                                               const DeviceModel &device);

  int64_t neededBytes() const { return resident.bytes + resident.padding + arena.bytes; }
  /// Returns how much longer it takes than without a budget, in percent; nothing where that is not
  /// known.
  std::optional<double> slowdownPercent() const;
  /// Describes a step of several functions that run one after another, each as often as it runs.
  /// There is none for one function, for stages that run at the same time, or where a function's
  /// time is not known.
  struct WholeStep {
    int64_t ns = 0, withoutBudgetNs = 0;
    double slowdownPercent() const;
  };
  std::optional<WholeStep> wholeStep() const;
  /// Returns the rate of one device that does all of the step; nothing where that is not known.
  std::optional<double> tokensPerSecond() const;
  /// Returns (modelled time - proved bound) / modelled time of every op once, in percent: of the
  /// whole step where copies run at the same time, else of its ops one after another.
  double gapPercent() const;

  /// Returns what `several` has of this one.
  FunctionEntry entryOf(mlir::func::FuncOp function) const;

  llvm::json::Value toJson() const;
  /// Prints all of it: roles, blocks, the largest values at the peak.
  void print(llvm::raw_ostream &os) const;
  /// Prints the lines that every successful run with a budget ends with.
  void printSummary(llvm::raw_ostream &os) const;
  /// Emits the same facts as remarks of the category `llmmem-memory`.
  void emitRemarks(mlir::func::FuncOp step) const;
};

} // namespace llmmem

#endif // LLMMEM_REPORTS_MEMORYREPORT_H
