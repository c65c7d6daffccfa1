//===- Problem.cpp - The rules a problem keeps -----------------------------===//

#include "llmmem/Planning/Model/Problem.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>
#include <unordered_map>

namespace llmmem::planning {
namespace {

constexpr int64_t largest = std::numeric_limits<int64_t>::max();

/// Walks a problem once and stops at its first broken rule. Places are JSON paths, which also name
/// the fields of a problem built in memory.
class Validator {
public:
  explicit Validator(const Problem &problem)
      : problem(problem), writer(problem.values.size(), -1), seen(problem.values.size(), -1) {}

  llvm::Error run() {
    if (checkHeader() && checkValues() && checkOpsAlone() && checkWriters() && checkOrder() &&
        checkKeep())
      checkSums();
    if (message.empty())
      return llvm::Error::success();
    return llvm::createStringError(message);
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

  bool checkHeader() {
    if (problem.alignment < 1)
      return fail("alignment", "must be at least 1");
    if (problem.budget && *problem.budget < 0)
      return fail("budget", "must not be negative");
    if (problem.values.size() >= std::numeric_limits<int32_t>::max() ||
        problem.ops.size() >= std::numeric_limits<int32_t>::max())
      return fail("problem", "must have fewer than 2^31 values and ops");
    return true;
  }

  bool checkValues() {
    std::unordered_map<int64_t, size_t> positions; // DenseMap reserves two of the legal ids
    for (size_t i = 0; i < problem.values.size(); ++i) {
      const Value &value = problem.values[i];
      const std::string at = "values[" + std::to_string(i) + "]";
      if (value.id < 0 || value.bytes < 0)
        return fail(at, "id and bytes must not be negative");
      if (auto [other, isNew] = positions.try_emplace(value.id, i); !isNew)
        return fail(at + ".id", "id " + llvm::Twine(value.id) + " is taken by values[" +
                                    llvm::Twine(other->second) + "]; give it one of its own");
    }
    return true;
  }

  bool checkOpsAlone() {
    std::unordered_map<int64_t, OpIndex> positions;
    for (OpIndex op = 0; op < static_cast<OpIndex>(problem.ops.size()); ++op) {
      const Op &it = problem.ops[op];
      if (it.id < 0 || it.cost < 0 || it.workspace < 0 || it.block.value_or(0) < 0)
        return fail(place(op), "id, cost, workspace and block must not be negative");
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
          return fail(place(op, "reads"), valueName(value) + " stands there twice");
        seen[value] = op;
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

  /// Relies on `seen`, which holds `op` for exactly what `op` reads.
  bool checkInPlace(OpIndex op) {
    for (const InPlace &pair : problem.ops[op].inPlace) {
      if (!isValue(pair.write) || writer[pair.write] != op)
        return fail(place(op, "in_place"),
                    "the first of a pair must be a value that the op writes");
      if (!isValue(pair.read) || seen[pair.read] != op)
        return fail(place(op, "in_place"),
                    "the second of a pair must be a value that the op reads");
    }
    return true;
  }

  bool checkKeep() {
    for (ValueIndex value : problem.keep)
      if (!isValue(value))
        return fail("keep", "names no value");
    return true;
  }

  /// Sizes count rounded up to the alignment, as the arena will hold them, so that no later sum
  /// over what lives together can overflow.
  void checkSums() {
    __int128 bytes = 0, cost = 0, workspace = 0;
    const __int128 alignment = problem.alignment;
    auto rounded = [&](int64_t size) { return (size + alignment - 1) / alignment * alignment; };
    for (const Value &value : problem.values)
      bytes += rounded(value.bytes);
    for (const Op &op : problem.ops) {
      workspace = std::max<__int128>(workspace, rounded(op.workspace));
      cost += op.cost;
    }
    if (bytes + workspace > largest)
      fail("values", "their bytes, rounded up to the alignment, and the largest workspace add up "
                     "to 2^63 or more");
    else if (cost > largest)
      fail("ops", "their costs add up to 2^63 or more; use a larger unit");
  }

  const Problem &problem;
  std::vector<OpIndex> writer; // by value; -1: an input
  std::vector<OpIndex> seen;   // by value; the last op that reads it so far
  std::string message;
};

} // namespace

int64_t Problem::residentBytes() const {
  int64_t bytes = 0;
  for (const Value &value : values)
    if (value.resident)
      bytes += value.bytes;
  return bytes;
}

llvm::Error validateProblem(const Problem &problem) { return Validator(problem).run(); }

} // namespace llmmem::planning
