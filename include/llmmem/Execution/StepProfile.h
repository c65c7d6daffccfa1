//===- StepProfile.h - Where the time of steps goes ------------------------===//
//
// A profile has one entry for each call of a kernel, timed in the step itself. It leaves out the
// first of several steps, which commits pages.
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

/// Describes one call of a step: the op of its kernel, and its work.
struct KernelCall {
  std::string kind;  // For example linear; for a group, silu+mul.
  std::string key;   // Identifies its kernel in a device table: kind, types and attributes.
  std::string name;  // For example h.0.mlp.act.
  std::string phase; // Forward, backward, update, or empty.
  std::optional<int64_t> block;
  bool recomputed = false;
  int64_t flops = 0, bytes = 0;
  /// This is compute; communication, for which the step waits; started communication, which
  /// overlaps the step; or a wait for what was started, in the order of the starts.
  std::string work = "compute";
};

class StepProfile {
public:
  explicit StepProfile(llvm::ArrayRef<KernelCall> calls)
      : calls(calls.begin(), calls.end()), taken(calls.size()) {}

  /// Adds the nanoseconds before and after each call of one step.
  void add(llvm::ArrayRef<int64_t> times);

  /// Prints a table by phase and kind, with recomputation as a phase of its own, longest first.
  /// "all" is the time of the step, without overlapped communication.
  void print(llvm::raw_ostream &os) const;

  /// Holds the least time of each form of communication, by its key: its transfer. A call that
  /// takes longer has waited for another rank, or for the link.
  using Transfers = std::map<std::string, int64_t>;
  Transfers transfers() const;
  /// Holds the nanoseconds of a step on its own thread (compute, communication and waiting) and of
  /// overlapped communication. A wait for a started call counts as communication for as long as its
  /// transfer takes.
  struct Parts {
    int64_t compute = 0, communication = 0, waiting = 0, overlapped = 0;
  };
  /// Splits the time by the transfers that any rank has seen.
  Parts parts(const Transfers &transfers) const;
  /// Returns every call with the median of its nanoseconds; calls of equal keys run one kernel:
  ///   {"format": "llmmem-profile", "version": 1, "steps": 3, "calls": [{"kind": "linear", "key":
  ///   "linear(4x64xf32, 192x64xf32) -> 4x192xf32", "name": "h.0.attn.qkv", "phase": "forward",
  ///   "block": 0, "recomputed": false, "flops": 792576, "bytes": 82688, "work": "compute", "ns":
  ///   5120}]}
  llvm::json::Value toJson() const;
  /// Returns the last step in the Trace Event Format, for chrome://tracing or Perfetto.
  llvm::json::Value toTrace() const;

private:
  std::vector<int64_t> medians() const;
  int64_t counted() const { return steps > 1 ? steps - 1 : steps; }

  std::vector<KernelCall> calls;
  std::vector<std::vector<int64_t>> taken; // The ns of each call in the steps that count.
  std::vector<int64_t> last;
  int64_t steps = 0;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_STEPPROFILE_H
