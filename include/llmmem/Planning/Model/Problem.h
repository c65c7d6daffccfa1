//===- Problem.h - The planner's input -------------------------------------===//
//
// A Problem is a straight-line program seen from its memory: ops in program order that read and
// write values of known size. Nothing here knows MLIR; the JSON of docs/Design/Planning.md is the
// same data.
//
// Every size is in bytes, and all costs are in the same unit (llmmem uses ns of modelled time).
//
// These are the rules that every solver and the verifier follow:
//  - A value has at most one writer. A value that no op writes is an input. It is in memory from
//    the start to its last read (one that is neither read nor kept has no bytes), or throughout
//    where it is `resident`.
//  - While an op runs, all it reads, all it writes and its workspace are held.
//  - An op may run several times. Each run of a writer makes a new *instance* of what it writes,
//    and a read sees the latest instance. An instance is freed after its last read before it is
//    written again.
//  - Values in `keep` are held at the end.
//  - inPlace {w, r}: w may take r's bytes when this run is the last read of r's instance and w is
//    no larger.
//  - recompute == false: the op runs exactly once.
//  - Sizes are as given; offsets, workspaces' too, are multiples of `alignment`.
//
// These rules are for problems with several memories or resources (docs/Design/Planning.md,
// "Version 2", has the example):
//  - Memory 0 is the device; `moreMemories` are the others. Each has its budget and its arena, and
//    each value is in one of them.
//  - Each op runs on one resource, and ops of different resources may overlap. An op on Compute or
//    Link reads and writes the device's memory alone, one on HostCompute the other memories alone.
//    DeviceToHost reads the device and writes another memory, HostToDevice the reverse. Values of 0
//    bytes only order ops, and may be in any memory.
//  - An `optional` op need not run. It may write a value that another op writes, if it writes the
//    same bits.
//  - An op with `alternatives` runs as itself, or as one of them, in all of its runs.
//
// Example: x(1024, input) -> matmul -> y(1024), keep y. Peak 2048, or 1024 with inPlace {y, x}.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_MODEL_PROBLEM_H
#define LLMMEM_PLANNING_MODEL_PROBLEM_H

#include "llmmem/Support/Export.h"
#include "llmmem/Support/Result.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace llmmem::planning {

/// A dense position in Problem::values or Problem::ops. The ids of the JSON are separate `id`
/// fields.
using ValueIndex = int32_t;
using OpIndex = int32_t;

/// A dense position of a memory; 0 is the device.
using MemoryIndex = int32_t;

enum class Phase : uint8_t { None, Forward, Backward, Update };

/// Returns `none`, `forward`, `backward` or `update`.
LLMMEM_EXPORT std::string_view nameOf(Phase phase);

/// The resource that an op occupies while it runs. DeviceToHost copies from the device to another
/// memory, HostToDevice copies back.
enum class Resource : uint8_t { Compute, HostCompute, Link, DeviceToHost, HostToDevice };
inline constexpr Resource allResources[] = {Resource::Compute, Resource::HostCompute,
                                            Resource::Link, Resource::DeviceToHost,
                                            Resource::HostToDevice};

/// Returns `compute`, `host_compute`, `link`, `copy_up` or `copy_down`.
LLMMEM_EXPORT std::string_view nameOf(Resource resource);

/// A memory other than the device's.
struct Memory {
  std::string name;
  std::optional<int64_t> budget; // its resident values + its arena must not exceed it
  int64_t alignment = 1;
};

struct Value {
  int64_t id = 0;
  int64_t bytes = 0;
  bool resident = false; // inputs only: held throughout, outside the arena
  std::string name;
  MemoryIndex memory = 0;
  /// A value of 0 bytes that only orders ops: its readers come after its writer in every order, and
  /// may overlap with it on another resource.
  bool orderOnly = false;
};

struct InPlace {
  ValueIndex write;
  ValueIndex read;
};

/// Another way to run an op, with the same reads, writes and resource.
struct Alternative {
  int64_t cost = 0;
  int64_t workspace = 0;
};

/// Many fields: an op is one record of the JSON, and each field one of its keys. The few that only
/// some problems use (alternatives, memories, resources) are empty elsewhere.
struct Op {
  int64_t id = 0;
  int64_t cost = 0;
  int64_t workspace = 0;          // bytes held only while the op runs
  std::vector<ValueIndex> reads;  // distinct, in the order given
  std::vector<ValueIndex> writes; // distinct
  std::vector<InPlace> inPlace;
  bool recompute = true;
  std::optional<int64_t> block; // a repeated part of the graph, mostly one transformer layer
  Phase phase = Phase::None;
  std::optional<int64_t> microBatch; // its micro-batch, where one step runs several
  std::string name;
  Resource resource = Resource::Compute;
  MemoryIndex workspaceMemory = 0;
  bool optional = false;                 // need not run, and may write what another op writes
  std::vector<Alternative> alternatives; // numbered from 1; the op itself is 0
};

struct Problem {
  std::optional<int64_t> budget;    // budget of the device: resident + arena must not exceed it
  int64_t alignment = 1;            // alignment of the device
  std::vector<Memory> moreMemories; // memories 1 and up
  std::vector<Value> values;
  std::vector<Op> ops; // program order: every value is written before it is read
  std::vector<ValueIndex> keep;

  /// Returns the bytes of a memory that are held throughout, outside of its arena.
  LLMMEM_EXPORT int64_t residentBytes(MemoryIndex memory = 0) const;

  MemoryIndex numMemories() const { return static_cast<MemoryIndex>(moreMemories.size()) + 1; }
  std::optional<int64_t> budgetOf(MemoryIndex memory) const {
    return memory == 0 ? budget : moreMemories[memory - 1].budget;
  }
  int64_t alignmentOf(MemoryIndex memory) const {
    return memory == 0 ? alignment : moreMemories[memory - 1].alignment;
  }
  /// Returns `device`, or the memory's name.
  LLMMEM_EXPORT std::string_view memoryName(MemoryIndex memory) const;

  /// Says whether this problem needs version 2 of the format: it has several memories or resources,
  /// optional ops, alternatives, or values that only order ops.
  LLMMEM_EXPORT bool needsVersion2() const;
};

/// Reads the JSON of a llmmem-problem. It refuses, with the place (line or JSON path) and the fix:
/// unknown keys, duplicate ids, two writers, a read before the write, a resident value that is
/// written, numbers that are negative or 2^63 or more, sums that overflow.
LLMMEM_EXPORT Result<Problem> parseProblem(std::string_view json);

/// Makes the checks of parseProblem on a Problem that was built in memory, and returns what is
/// wrong with it. Callers that fill a Problem by hand (the MLIR side does) run this once before
/// planning.
LLMMEM_EXPORT std::optional<std::string> validateProblem(const Problem &problem);

/// Returns the JSON that parseProblem reads, in the lowest version that can express it. Equal
/// problems give equal text.
LLMMEM_EXPORT std::string toJson(const Problem &problem);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_PROBLEM_H
