//===- Problem.cpp - Validation of a problem -------------------------------===//

#include "llmmem/Planning/Model/Problem.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <limits>
#include <unordered_map>

namespace llmmem::planning {
namespace {

constexpr int64_t largest = std::numeric_limits<int64_t>::max();

/// Visits a problem once and stops at its first broken rule. Places are JSON paths, which also name
/// the fields of a problem built in memory.
class Validator {
public:
  explicit Validator(const Problem &problem)
      : problem(problem), writer(problem.values.size(), -1), copier(writer), seen(writer) {}

  std::optional<std::string> run() {
    if (checkHeader() && checkValues() && checkOpsAlone() && checkWriters() && checkOrder() &&
        checkKeep() && checkPlaces())
      checkSums();
    if (message.empty())
      return std::nullopt;
    return message;
  }

private:
  bool fail(const llvm::Twine &place, const llvm::Twine &what) {
    message = (place + ": " + what).str();
    return false;
  }

  std::string place(OpIndex op, llvm::StringRef field = "") const {
    std::string text = "ops[" + std::to_string(op) + "]";
    if (!problem.ops[op].name.empty())
      text += " '" + problem.ops[op].name + "'";
    return field.empty() ? text : text + "." + field.str();
  }

  std::string valueName(ValueIndex value) const {
    return "value " + std::to_string(problem.values[value].id);
  }

  bool isValue(ValueIndex value) const {
    return value >= 0 && static_cast<size_t>(value) < problem.values.size();
  }

  bool isMemory(MemoryIndex memory) const { return memory >= 0 && memory < problem.numMemories(); }

  std::string noMemory() const {
    return "names no memory; there are 0 to " + std::to_string(problem.numMemories() - 1);
  }

  bool checkHeader() {
    if (problem.alignment < 1)
      return fail("alignment", "must be at least 1");
    if (problem.budget && *problem.budget < 0)
      return fail("budget", "must not be negative");
    for (MemoryIndex memory = 1; memory < problem.numMemories(); ++memory) {
      const Memory &it = problem.moreMemories[memory - 1];
      const std::string at = "memories[" + std::to_string(memory) + "]";
      if (it.alignment < 1)
        return fail(at + ".alignment", "must be at least 1");
      if (it.budget && *it.budget < 0)
        return fail(at + ".budget", "must not be negative");
      if (it.name.empty())
        return fail(at + ".name", "must not be empty");
      for (MemoryIndex other = 0; other < memory; ++other)
        if (problem.memoryName(other) == it.name)
          return fail(at + ".name", "'" + it.name + "' is taken by memories[" + llvm::Twine(other) +
                                        "]; give it one of its own");
    }
    if (problem.values.size() >= std::numeric_limits<int32_t>::max() ||
        problem.ops.size() >= std::numeric_limits<int32_t>::max())
      return fail("problem", "must have fewer than 2^31 values and ops");
    return true;
  }

  bool checkValues() {
    std::unordered_map<int64_t, size_t> positions; // DenseMap reserves two of the legal ids
    positions.reserve(problem.values.size());
    for (size_t i = 0; i < problem.values.size(); ++i) {
      const Value &value = problem.values[i];
      auto at = [&](llvm::StringRef field) {
        return "values[" + std::to_string(i) + "]" + field.str();
      };
      if (value.id < 0 || value.bytes < 0)
        return fail(at(""), "id and bytes must not be negative");
      if (!isMemory(value.memory))
        return fail(at(".memory"), noMemory());
      if (value.orderOnly && value.bytes != 0)
        return fail(at(".order_only"), "what only orders ops has 0 bytes");
      if (auto [other, isNew] = positions.try_emplace(value.id, i); !isNew)
        return fail(at(".id"), "id " + llvm::Twine(value.id) + " is taken by values[" +
                                   llvm::Twine(other->second) + "]; give it one of its own");
    }
    return true;
  }

  bool checkOpsAlone() {
    std::unordered_map<int64_t, OpIndex> positions;
    positions.reserve(problem.ops.size());
    for (OpIndex op = 0; op < static_cast<OpIndex>(problem.ops.size()); ++op) {
      const Op &it = problem.ops[op];
      if (it.id < 0 || it.cost < 0 || it.workspace < 0 || it.block.value_or(0) < 0)
        return fail(place(op), "id, cost, workspace and block must not be negative");
      for (const Alternative &other : it.alternatives)
        if (other.cost < 0 || other.workspace < 0)
          return fail(place(op, "alternatives"), "cost and workspace must not be negative");
      if (!isMemory(it.workspaceMemory))
        return fail(place(op, "workspace_memory"), noMemory());
      if (auto [other, isNew] = positions.try_emplace(it.id, op); !isNew)
        return fail(place(op, "id"), "id " + llvm::Twine(it.id) + " is taken by ops[" +
                                         llvm::Twine(other->second) + "]; give it one of its own");
      for (ValueIndex value : it.reads)
        if (!isValue(value))
          return fail(place(op, "reads"), "names no value");
      for (ValueIndex value : it.writes)
        if (!isValue(value))
          return fail(place(op, "writes"), "names no value");
    }
    return true;
  }

  bool checkWriters() {
    for (OpIndex op = 0; op < static_cast<OpIndex>(problem.ops.size()); ++op)
      for (ValueIndex value : problem.ops[op].writes) {
        if (problem.ops[op].optional && !problem.values[value].resident) {
          copier[value] = copier[value] < 0 ? op : copier[value];
          continue;
        }
        if (writer[value] >= 0)
          return fail(place(op, "writes"), valueName(value) + " is written by ops[" +
                                               llvm::Twine(writer[value]) +
                                               "] already; a value has one writer, so give this "
                                               "result a value of its own");
        if (problem.values[value].resident)
          return fail(place(op, "writes"), valueName(value) +
                                               " is resident, which only inputs may be; drop "
                                               "'resident' or the write");
        writer[value] = op;
      }
    return true;
  }

  bool checkOrder() {
    for (OpIndex op = 0; op < static_cast<OpIndex>(problem.ops.size()); ++op) {
      for (ValueIndex value : problem.ops[op].reads) {
        if (seen[value] == op)
          return fail(place(op, "reads"), valueName(value) + " is given twice");
        seen[value] = op;
        const bool isCopied = writer[value] < 0 && copier[value] >= 0;
        if (isCopied && !problem.ops[op].optional)
          return fail(place(op, "reads"), "reads " + valueName(value) +
                                              ", which only optional ops write; make the "
                                              "op optional, or one of theirs not");
        if (isCopied && copier[value] >= op)
          return fail(place(op, "reads"), "reads " + valueName(value) + " before ops[" +
                                              llvm::Twine(copier[value]) +
                                              "] writes it; ops stand in program order, so move "
                                              "the writer up (a cycle has no order)");
        if (writer[value] >= op)
          return fail(place(op, "reads"),
                      "reads " + valueName(value) + " before ops[" + llvm::Twine(writer[value]) +
                          "] writes it; ops stand in program order, so move the writer up (a "
                          "cycle has no order)");
      }
      if (!checkInPlace(op))
        return false;
    }
    return true;
  }

  /// Checks the in-place pairs. It relies on `seen`, which holds `op` for exactly what `op` reads.
  bool checkInPlace(OpIndex op) {
    for (const InPlace &pair : problem.ops[op].inPlace) {
      if (!isValue(pair.write) || !llvm::is_contained(problem.ops[op].writes, pair.write))
        return fail(place(op, "in_place"),
                    "the first of a pair must be a value that the op writes");
      if (!isValue(pair.read) || seen[pair.read] != op)
        return fail(place(op, "in_place"),
                    "the second of a pair must be a value that the op reads");
      if (problem.values[pair.write].memory != problem.values[pair.read].memory)
        return fail(place(op, "in_place"), "the two of a pair must live in one memory");
    }
    return true;
  }

  bool checkKeep() {
    for (ValueIndex value : problem.keep)
      if (!isValue(value))
        return fail("keep", "names no value");
    for (ValueIndex value : problem.keep)
      if (writer[value] < 0 && copier[value] >= 0)
        return fail("keep", valueName(value) + " is written by optional ops alone, which need not "
                                               "run");
    return true;
  }

  /// Checks that each op touches the memories that its resource reaches. Values of 0 bytes only
  /// order ops.
  bool checkPlaces() {
    for (OpIndex op = 0; op < static_cast<OpIndex>(problem.ops.size()); ++op) {
      const Op &it = problem.ops[op];
      const bool isUp = it.resource == Resource::DeviceToHost,
                 isDown = it.resource == Resource::HostToDevice;
      const bool isHost = it.resource == Resource::HostCompute;
      if (!touchesOnly(op, it.reads, "reads", isHost || isDown) ||
          !touchesOnly(op, it.writes, "writes", isHost || isUp))
        return false;
      bool needsWorkspace = it.workspace > 0;
      for (const Alternative &other : it.alternatives)
        needsWorkspace |= other.workspace > 0;
      if (needsWorkspace && (it.workspaceMemory != 0) != isHost)
        return fail(place(op, "workspace_memory"), outsideOf(it.resource, isHost));
    }
    return true;
  }

  bool touchesOnly(OpIndex op, const std::vector<ValueIndex> &values, llvm::StringRef field,
                   bool others) {
    for (ValueIndex value : values)
      if (problem.values[value].bytes > 0 && (problem.values[value].memory != 0) != others)
        return fail(place(op, field),
                    valueName(value) + ": " + outsideOf(problem.ops[op].resource, others));
    return true;
  }

  static std::string outsideOf(Resource resource, bool others) {
    return "an op on '" + std::string(nameOf(resource)) + "' " +
           (others ? "has this in a memory other than the device's"
                   : "has this in the device's memory");
  }

  /// Checks the sums of sizes. Sizes count rounded up to the alignment, as the arena will hold
  /// them, so that no later sum over what lives together can overflow.
  void checkSums() {
    __int128 bytes = 0, cost = 0, workspace = 0;
    auto rounded = [&](int64_t size, MemoryIndex memory) {
      const __int128 alignment = problem.alignmentOf(memory);
      return (size + alignment - 1) / alignment * alignment;
    };
    for (const Value &value : problem.values)
      bytes += rounded(value.bytes, value.memory);
    for (const Op &op : problem.ops) {
      int64_t dearest = op.cost, largestWorkspace = op.workspace;
      for (const Alternative &other : op.alternatives) {
        dearest = std::max(dearest, other.cost);
        largestWorkspace = std::max(largestWorkspace, other.workspace);
      }
      workspace = std::max(workspace, rounded(largestWorkspace, op.workspaceMemory));
      cost += dearest;
    }
    if (bytes + workspace > largest)
      fail("values", "their bytes, rounded up to the alignment, and the largest workspace add up "
                     "to 2^63 or more");
    else if (cost > largest)
      fail("ops", "their costs add up to 2^63 or more; use a larger unit");
  }

  const Problem &problem;
  std::vector<OpIndex> writer; // by value; its writer among the ops that must run; -1: none
  std::vector<OpIndex> copier; // by value; the first optional one; -1: none
  std::vector<OpIndex> seen;   // by value; the last op that reads it so far
  std::string message;
};

} // namespace

std::string_view Problem::memoryName(MemoryIndex memory) const {
  return memory == 0 ? std::string_view("device") : std::string_view(moreMemories[memory - 1].name);
}

bool Problem::needsVersion2() const {
  return !moreMemories.empty() ||
         llvm::any_of(values, [](const Value &value) { return value.orderOnly; }) ||
         llvm::any_of(ops, [](const Op &op) {
           return op.resource != Resource::Compute || op.optional || !op.alternatives.empty();
         });
}

int64_t Problem::residentBytes(MemoryIndex memory) const {
  int64_t bytes = 0;
  for (const Value &value : values)
    if (value.resident && value.memory == memory)
      bytes += value.bytes;
  return bytes;
}

std::optional<std::string> validateProblem(const Problem &problem) {
  return Validator(problem).run();
}

} // namespace llmmem::planning
