//===- ProblemJson.cpp - llmmem-problem, read and written -------------------===//

#include "llmmem/Planning/Model/Problem.h"
#include "llmmem/Support/JsonReader.h"
#include "llmmem/Support/LlvmResult.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <unordered_map>

namespace llmmem::planning {
namespace {

/// An op as its text stands: values by id, which resolve once all values are read (keys come in any
/// order).
struct OpText {
  std::vector<int64_t> reads, writes;
  std::vector<std::pair<int64_t, int64_t>> inPlace;
};

/// What both versions have, then what one alone has.
constexpr llvm::StringLiteral problemKeys[] = {"format, version, values, ops, keep",
                                               "budget, alignment", "memories"};
constexpr llvm::StringLiteral memoryKeys = "id, name, budget, alignment";
constexpr llvm::StringLiteral valueKeys[] = {"id, bytes, name, resident", "", "memory"};
constexpr llvm::StringLiteral opKeys[] = {
    "id, name, cost, workspace, reads, writes, recompute, in_place, block, phase, micro_batch", "",
    "resource, workspace_memory, optional, alternatives"};
constexpr llvm::StringLiteral alternativeKeys = "cost, workspace";

llvm::StringRef phaseName(Phase phase) {
  switch (phase) {
  case Phase::None:
    return "none";
  case Phase::Forward:
    return "forward";
  case Phase::Backward:
    return "backward";
  case Phase::Update:
    return "update";
  }
  return "none";
}

class ProblemReader {
public:
  explicit ProblemReader(llvm::StringRef json) : reader(json) {}

  llvm::Expected<Problem> run() {
    readProblem();
    if (llvm::Error error = reader.finish())
      return std::move(error);
    if (llvm::Error error = resolve())
      return std::move(error);
    if (std::optional<std::string> error = validateProblem(problem))
      return llvm::createStringError(*error);
    return std::move(problem);
  }

private:
  bool isVersion2() const { return version == 2; }

  /// `version` stands before what one version alone has, so that a key is known when it is read.
  bool unknownKey(llvm::StringRef key, const llvm::StringLiteral (&keys)[3]) {
    const llvm::StringRef more = keys[isVersion2() ? 2 : 1];
    const bool isOther =
        llvm::is_contained(llvm::split(keys[isVersion2() ? 1 : 2], ", "), key) && !key.empty();
    if (isOther)
      return reader.fail("key '" + key + "' belongs to version " + (isVersion2() ? "1" : "2") +
                         " of the format" +
                         (isVersion2() ? "; expected one of " + keys[0] + ", " + more
                                       : llvm::Twine("; give \"version\": 2 before it")));
    return reader.unknownKey(key, (keys[0] + (more.empty() ? "" : ", ") + more).str());
  }

  bool readMemory() {
    const int64_t number = numMemories++;
    int64_t id = -1, alignment = 1;
    std::string name;
    std::optional<int64_t> budget;
    const bool read = reader.object([&](llvm::StringRef key) {
      if (key == "id")
        return reader.integer(id) &&
               (id == number || reader.fail("memories are numbered from 0, the device first; "
                                            "expected " +
                                            llvm::Twine(number)));
      if (key == "name")
        return reader.string(name);
      if (key == "budget")
        return reader.integer(budget.emplace());
      if (key == "alignment")
        return reader.integer(alignment, 1);
      return reader.unknownKey(key, memoryKeys);
    });
    if (!read)
      return false;
    if (id < 0 || name.empty())
      return reader.fail("a memory must have 'id' and 'name'");
    if (number > 0) {
      problem.moreMemories.push_back({std::move(name), budget, alignment});
      return true;
    }
    problem.budget = budget;
    problem.alignment = alignment;
    return name == "device" || reader.fail("memory 0 must be named \"device\"");
  }

  bool memory(MemoryIndex &index) {
    int64_t number = 0;
    if (!reader.integer(number))
      return false;
    // Whether there is such a memory is known when all of the file is.
    index = static_cast<MemoryIndex>(std::min<int64_t>(number, INT32_MAX));
    return true;
  }

  bool resource(Resource &resource) {
    std::string name;
    if (!reader.string(name))
      return false;
    for (Resource candidate : allResources)
      if (name == nameOf(candidate)) {
        resource = candidate;
        return true;
      }
    return reader.fail(
        "expected \"compute\", \"host_compute\", \"link\", \"copy_up\" or \"copy_down\"");
  }

  bool readAlternative(Alternative &alternative) {
    bool hasCost = false;
    const bool read = reader.object([&](llvm::StringRef key) {
      if (key == "cost")
        return hasCost = true, reader.integer(alternative.cost);
      if (key == "workspace")
        return reader.integer(alternative.workspace);
      return reader.unknownKey(key, alternativeKeys);
    });
    return read && (hasCost || reader.fail("an alternative must have 'cost'"));
  }

  bool readProblem() {
    std::string format;
    bool hasValues = false, hasOps = false;
    const bool read = reader.object([&](llvm::StringRef key) {
      if (key == "format")
        return reader.string(format) &&
               (format == "llmmem-problem" || reader.fail("expected \"llmmem-problem\""));
      if (key == "version")
        return reader.integer(version) &&
               (version == 1 || version == 2 || reader.fail("expected version 1 or 2"));
      if (!isVersion2() && key == "budget")
        return reader.integer(problem.budget.emplace());
      if (!isVersion2() && key == "alignment")
        return reader.integer(problem.alignment, 1);
      if (isVersion2() && key == "memories")
        return reader.array([&] { return readMemory(); });
      if (key == "keep")
        return ids(keep);
      if (key == "values")
        return hasValues = true, reader.array([&] { return readValue(); });
      if (key == "ops")
        return hasOps = true, reader.array([&] { return readOp(); });
      return unknownKey(key, problemKeys);
    });
    if (!read)
      return false;
    if (format.empty() || version == 0)
      return reader.fail("expected \"format\": \"llmmem-problem\" and \"version\": 1");
    return (hasValues && hasOps) || reader.fail("'values' and 'ops' must be there");
  }

  bool readValue() {
    Value &value = problem.values.emplace_back();
    bool hasId = false, hasBytes = false;
    const bool read = reader.object([&](llvm::StringRef key) {
      if (key == "id")
        return hasId = true, reader.integer(value.id);
      if (key == "bytes")
        return hasBytes = true, reader.integer(value.bytes);
      if (key == "name")
        return reader.string(value.name);
      if (key == "resident")
        return reader.boolean(value.resident);
      if (isVersion2() && key == "memory")
        return memory(value.memory);
      return unknownKey(key, valueKeys);
    });
    return read && ((hasId && hasBytes) || reader.fail("a value must have 'id' and 'bytes'"));
  }

  bool readOp() {
    Op &op = problem.ops.emplace_back();
    OpText &text = texts.emplace_back();
    bool hasId = false, hasReads = false, hasWrites = false;
    const bool read = reader.object([&](llvm::StringRef key) {
      if (key == "id")
        return hasId = true, reader.integer(op.id);
      if (key == "name")
        return reader.string(op.name);
      if (key == "cost")
        return reader.integer(op.cost);
      if (key == "workspace")
        return reader.integer(op.workspace);
      if (key == "reads")
        return hasReads = true, ids(text.reads);
      if (key == "writes")
        return hasWrites = true, ids(text.writes);
      if (key == "recompute")
        return reader.boolean(op.recompute);
      if (key == "in_place")
        return pairs(text.inPlace);
      if (key == "block")
        return reader.integer(op.block.emplace());
      if (key == "phase")
        return phase(op.phase);
      if (key == "micro_batch")
        return reader.integer(op.microBatch.emplace());
      return isVersion2() ? readOpOfVersion2(op, key) : unknownKey(key, opKeys);
    });
    return read && ((hasId && hasReads && hasWrites) ||
                    reader.fail("an op must have 'id', 'reads' and 'writes'"));
  }

  bool readOpOfVersion2(Op &op, llvm::StringRef key) {
    if (key == "resource")
      return resource(op.resource);
    if (key == "workspace_memory")
      return memory(op.workspaceMemory);
    if (key == "optional")
      return reader.boolean(op.optional);
    if (key == "alternatives")
      return reader.array([&] { return readAlternative(op.alternatives.emplace_back()); });
    return unknownKey(key, opKeys);
  }

  bool ids(std::vector<int64_t> &list) {
    return reader.array([&] { return reader.integer(list.emplace_back()); });
  }

  bool pairs(std::vector<std::pair<int64_t, int64_t>> &list) {
    return reader.array([&] {
      std::vector<int64_t> pair;
      if (!ids(pair))
        return false;
      if (pair.size() != 2)
        return reader.fail("expected a pair [written value, read value]");
      list.emplace_back(pair[0], pair[1]);
      return true;
    });
  }

  bool phase(Phase &phase) {
    std::string name;
    if (!reader.string(name))
      return false;
    for (Phase candidate : {Phase::None, Phase::Forward, Phase::Backward, Phase::Update})
      if (name == phaseName(candidate)) {
        phase = candidate;
        return true;
      }
    return reader.fail("expected \"forward\", \"backward\" or \"update\"");
  }

  llvm::Error resolve() {
    for (size_t i = 0; i < problem.values.size(); ++i)
      indexOf.try_emplace(problem.values[i].id, static_cast<ValueIndex>(i));
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::string at = "ops[" + std::to_string(i) + "]";
      Op &op = problem.ops[i];
      if (llvm::Error error = resolveList(texts[i].reads, op.reads, at + ".reads"))
        return error;
      dropRepeats(op.reads); // f(x, x) reads x
      if (llvm::Error error = resolveList(texts[i].writes, op.writes, at + ".writes"))
        return error;
      for (auto [write, read] : texts[i].inPlace) {
        std::vector<ValueIndex> pair;
        if (llvm::Error error = resolveList({write, read}, pair, at + ".in_place"))
          return error;
        op.inPlace.push_back({pair[0], pair[1]});
      }
    }
    if (llvm::Error error = resolveList(keep, problem.keep, "keep"))
      return error;
    dropRepeats(problem.keep);
    return llvm::Error::success();
  }

  llvm::Error resolveList(llvm::ArrayRef<int64_t> list, std::vector<ValueIndex> &values,
                          const std::string &place) {
    for (int64_t id : list) {
      auto found = indexOf.find(id);
      if (found == indexOf.end())
        return llvm::createStringError(place + ": no value has the id " + std::to_string(id) +
                                       "; add it to 'values'");
      values.push_back(found->second);
    }
    return llvm::Error::success();
  }

  static void dropRepeats(std::vector<ValueIndex> &values) {
    llvm::DenseSet<ValueIndex> seen;
    llvm::erase_if(values, [&](ValueIndex value) { return !seen.insert(value).second; });
  }

  JsonReader reader;
  Problem problem;
  int64_t version = 0;
  int64_t numMemories = 0; // read so far
  std::vector<OpText> texts;
  std::vector<int64_t> keep;
  std::unordered_map<int64_t, ValueIndex> indexOf; // DenseMap reserves two of the legal ids
};

void printString(llvm::raw_ostream &os, llvm::StringRef text) {
  os << llvm::json::Value(llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text));
}

void printIds(llvm::raw_ostream &os, const Problem &problem, llvm::ArrayRef<ValueIndex> values) {
  os << '[';
  llvm::interleaveComma(values, os, [&](ValueIndex value) { os << problem.values[value].id; });
  os << ']';
}

void printValue(llvm::raw_ostream &os, const Value &value) {
  os << "{\"id\": " << value.id << ", \"bytes\": " << value.bytes;
  if (!value.name.empty()) {
    os << ", \"name\": ";
    printString(os, value.name);
  }
  if (value.resident)
    os << ", \"resident\": true";
  if (value.memory)
    os << ", \"memory\": " << value.memory;
  os << '}';
}

void printOp(llvm::raw_ostream &os, const Problem &problem, const Op &op) {
  os << "{\"id\": " << op.id;
  if (!op.name.empty()) {
    os << ", \"name\": ";
    printString(os, op.name);
  }
  os << ", \"cost\": " << op.cost;
  if (op.workspace)
    os << ", \"workspace\": " << op.workspace;
  os << ", \"reads\": ";
  printIds(os, problem, op.reads);
  os << ", \"writes\": ";
  printIds(os, problem, op.writes);
  if (!op.recompute)
    os << ", \"recompute\": false";
  if (!op.inPlace.empty()) {
    os << ", \"in_place\": [";
    llvm::interleaveComma(op.inPlace, os, [&](const InPlace &pair) {
      printIds(os, problem, {pair.write, pair.read});
    });
    os << ']';
  }
  if (op.block)
    os << ", \"block\": " << *op.block;
  if (op.phase != Phase::None)
    os << ", \"phase\": \"" << phaseName(op.phase) << '"';
  if (op.microBatch)
    os << ", \"micro_batch\": " << *op.microBatch;
  if (op.resource != Resource::Compute)
    os << ", \"resource\": \"" << nameOf(op.resource) << '"';
  if (op.workspaceMemory)
    os << ", \"workspace_memory\": " << op.workspaceMemory;
  if (op.optional)
    os << ", \"optional\": true";
  if (!op.alternatives.empty()) {
    os << ", \"alternatives\": [";
    llvm::interleaveComma(op.alternatives, os, [&](const Alternative &other) {
      os << "{\"cost\": " << other.cost;
      if (other.workspace)
        os << ", \"workspace\": " << other.workspace;
      os << '}';
    });
    os << ']';
  }
  os << '}';
}

void printMemories(const Problem &problem, llvm::raw_ostream &os) {
  os << ",\n \"memories\": [";
  for (MemoryIndex memory = 0; memory < problem.numMemories(); ++memory) {
    os << (memory ? ",\n  " : "\n  ") << "{\"id\": " << memory << ", \"name\": ";
    printString(os, problem.memoryName(memory));
    if (std::optional<int64_t> budget = problem.budgetOf(memory))
      os << ", \"budget\": " << *budget;
    os << ", \"alignment\": " << problem.alignmentOf(memory) << '}';
  }
  os << ']';
}

} // namespace

Result<Problem> parseProblem(std::string_view json) { return toResult(ProblemReader(json).run()); }

// One value or op per line: llvm::json's writer knows only everything on one line or one number per
// line.
std::string toJson(const Problem &problem) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "{\"format\": \"llmmem-problem\", \"version\": ";
  if (problem.needsVersion2()) {
    os << 2;
    printMemories(problem, os);
  } else {
    os << 1;
    if (problem.budget)
      os << ", \"budget\": " << *problem.budget;
    os << ", \"alignment\": " << problem.alignment;
  }
  os << ",\n \"values\": [";
  llvm::interleave(
      problem.values, os, [&](const Value &value) { os << "\n  ", printValue(os, value); }, ",");
  os << "],\n \"ops\": [";
  llvm::interleave(
      problem.ops, os, [&](const Op &op) { os << "\n  ", printOp(os, problem, op); }, ",");
  os << "],\n \"keep\": ";
  printIds(os, problem, problem.keep);
  os << "}\n";
  return text;
}

} // namespace llmmem::planning
