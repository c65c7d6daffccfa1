//===- CheckpointOutcome.h - What came of planning, for reports -------------===//

#ifndef LLMMEM_REPORTS_CHECKPOINTOUTCOME_H
#define LLMMEM_REPORTS_CHECKPOINTOUTCOME_H

#include "llmmem/Planning/Model/Plan.h"
#include "llmmem/Reports/MemoryReport.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <mutex>

namespace llmmem {

/// Says how few bytes a step can do with, where there is no plan under its budget.
struct LeastBytes {
  int64_t peak = 0;             // found
  int64_t budget = 0;           // that the plan of this peak needs
  int64_t peakLowerBound = 0;   // proved, of what is live
  int64_t budgetLowerBound = 0; // proved: no smaller budget has a plan

  /// Takes the larger of each.
  void add(const LeastBytes &other);
};

/// Says what came of planning, for reports: it holds what the IR does not say. For a step of
/// several functions, which passes may plan at once, it holds the worst of each number.
struct CheckpointOutcome {
  planning::Status status = planning::Status::Unknown;
  bool noPlan = false;     // planning ran, and found none
  bool changedOps = false; // the plan is for a step with other ops, and the step is now that
  double seconds = 0;
  LeastBytes least;
  std::string checked; // which of its claims were checked with its proof

  /// Says what becomes of files and reports. An attempt that another may follow holds them back
  /// until it is known to be the last, so that a failed one leaves nothing.
  enum class Texts { Written, HeldBack, Dropped };
  Texts texts = Texts::Written;
  /// Receives the reports for people.
  llvm::raw_ostream *reportStream = &llvm::errs();

  /// `text` is for the file `path`, `-` for stdout.
  llvm::Error write(llvm::StringRef path, std::string text);
  /// `text` is for `reportStream`.
  void print(std::string text);
  /// Writes and prints all that was held back, in the order in which it came.
  llvm::Error writeHeldBack();

  /// Takes in what came of one function. Any thread may call it.
  void add(const CheckpointOutcome &function);
  /// Keeps the report of one of `count` functions of a step. The last call returns that of the
  /// fullest, together with entries of all; the others return nothing.
  std::optional<MemoryReport> addReport(mlir::func::FuncOp function, MemoryReport report,
                                        size_t count);

private:
  struct HeldBack {
    std::optional<std::string> path; // none: reportStream
    std::string text;
  };

  std::mutex lock;
  std::vector<HeldBack> heldBack;
  std::map<std::string, MemoryReport> reports; // by function
  std::vector<FunctionEntry> functions;
};

} // namespace llmmem

#endif // LLMMEM_REPORTS_CHECKPOINTOUTCOME_H
