//===- Problem.h - What the planner is asked -------------------------------===//
//
// A Problem is a straight-line program seen from its memory: ops in program order that read and write
// values of known size. Nothing here knows MLIR; the JSON of docs/Design/Planning.md is the same data.
//
// Units: bytes for every size, any one unit for every cost (llmmem uses ns of modelled time).
//
// Meaning (the contract every solver and the verifier share):
//  - A value has at most one writer. A value nobody writes is an input: in memory from the start to its last
//    read (one that nobody reads or keeps holds nothing), or throughout where `resident`.
//  - While an op runs, all it reads, all it writes and its workspace are held.
//  - An op may run several times. Each run of a writer makes a new *instance* of what it writes; a read
//    sees the latest instance. An instance is freed after its last read before it is written again.
//  - Values in `keep` are held at the end.
//  - inPlace {w, r}: w may take r's bytes when this run is the last read of r's instance and w is no larger.
//  - recompute == false: the op runs exactly once.
//  - Sizes are as given; offsets, workspaces' too, are multiples of `alignment`.
//
// Example: x(1024, input) -> matmul -> y(1024), keep y. Peak 2048, or 1024 with inPlace {y, x}.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_MODEL_PROBLEM_H
#define LLMMEM_PLANNING_MODEL_PROBLEM_H

#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace llmmem::planning {

/// Dense position in Problem::values or Problem::ops. The ids of the JSON are `id` fields beside them.
using ValueIndex = int32_t;
using OpIndex = int32_t;

enum class Phase : uint8_t { None, Forward, Backward, Update };

struct Value {
  int64_t id = 0;
  int64_t bytes = 0;
  bool resident = false; // inputs only: held throughout, outside the arena
  std::string name;
};

struct InPlace {
  ValueIndex write;
  ValueIndex read;
};

struct Op {
  int64_t id = 0;
  int64_t cost = 0;
  int64_t workspace = 0; // bytes held only while the op runs
  std::vector<ValueIndex> reads;  // distinct, in the order given
  std::vector<ValueIndex> writes; // distinct
  std::vector<InPlace> inPlace;
  bool recompute = true;
  std::optional<int64_t> block; // a repeated part of the graph, mostly one transformer layer
  Phase phase = Phase::None;
  std::string name;
};

struct Problem {
  std::optional<int64_t> budget; // resident + arena must not exceed it
  int64_t alignment = 1;
  std::vector<Value> values;
  std::vector<Op> ops; // program order: every value is written before it is read
  std::vector<ValueIndex> keep;

  /// Bytes held throughout, outside the arena.
  int64_t residentBytes() const;
};

/// Reads the JSON of a llmmem-problem. Refuses, with the place (line or JSON path) and the mend: unknown
/// keys, duplicate ids, two writers, a read before the write, a resident value that is written, numbers that
/// are negative or 2^63 or more, sums that overflow.
llvm::Expected<Problem> parseProblem(llvm::StringRef json);

/// Checks what parseProblem checks of a Problem that was built in memory. Callers that fill a Problem by hand
/// (the MLIR side does) run this once before planning.
llvm::Error validateProblem(const Problem &problem);

/// Writes the JSON that parseProblem reads; equal problems give equal text.
void printProblem(const Problem &problem, llvm::raw_ostream &os);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_PROBLEM_H
