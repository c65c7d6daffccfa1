//===- StepProfile.h - Where the time of steps goes ------------------------===//
//
// One entry for each call of a kernel, timed in the step itself. The first of several steps is left
// out, as it commits pages.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_STEPPROFILE_H
#define LLMMEM_EXECUTION_STEPPROFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace llmmem {

/// One call of a step: which op's kernel, and its work.
struct KernelCall {
  std::string kind;  // linear; of a group, silu+mul
  std::string key;   // what identifies its kernel in a device table: kind, types and attributes
  std::string name;  // h.0.mlp.act
  std::string phase; // forward, backward, update, or empty
  std::optional<int64_t> block;
  bool recomputed = false;
  int64_t flops = 0, bytes = 0;
  /// compute; communication, for which the step stands still; started communication, which runs
  /// beside it; or a wait for what was started, in the order of the starts.
  std::string work = "compute";
};

class StepProfile {
public:
  explicit StepProfile(llvm::ArrayRef<KernelCall> calls)
      : calls(calls.begin(), calls.end()), taken(calls.size()) {}

  /// Nanoseconds before and after each call of one step.
  void add(llvm::ArrayRef<int64_t> times);

  /// A table by phase and kind, recomputation as a phase of its own, longest first. "all" is the
  /// time of the step, without what runs beside it.
  void print(llvm::raw_ostream &os) const;

  /// The least that each form of communication took, by its key: its transfer. What a call took
  /// beyond that it has waited for another rank, or for the link.
  using Transfers = std::map<std::string, int64_t>;
  Transfers transfers() const;
  /// Nanoseconds of a step on its own thread, which are compute, communication and waiting, and of
  /// communication beside it. A wait for a started call is communication as long as its transfer.
  struct Parts {
    int64_t compute = 0, communication = 0, waiting = 0, beside = 0;
  };
  /// By the transfers that any rank has seen.
  Parts parts(const Transfers &transfers) const;
  /// Every call with the median of its nanoseconds; calls of equal keys run one kernel:
  ///   {"format": "llmmem-profile", "version": 1, "steps": 3, "calls": [{"kind": "linear", "key":
  ///   "linear(4x64xf32, 192x64xf32) -> 4x192xf32", "name": "h.0.attn.qkv", "phase": "forward",
  ///   "block": 0, "recomputed": false, "flops": 792576, "bytes": 82688, "work": "compute", "ns":
  ///   5120}]}
  llvm::json::Value toJson() const;
  /// The last step in the Trace Event Format, for chrome://tracing or Perfetto.
  llvm::json::Value toTrace() const;

private:
  std::vector<int64_t> medians() const;
  int64_t counted() const { return steps > 1 ? steps - 1 : steps; }

  std::vector<KernelCall> calls;
  std::vector<std::vector<int64_t>> taken; // ns of each call in the steps that count
  std::vector<int64_t> last;
  int64_t steps = 0;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_STEPPROFILE_H
