//===- ProblemJson.cpp - llmmem-problem, read and written -------------------===//

#include "llmmem/Support/JsonReader.h"
#include "llmmem/Planning/Model/Problem.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
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

constexpr llvm::StringLiteral problemKeys = "format, version, budget, alignment, values, ops, keep";
constexpr llvm::StringLiteral valueKeys = "id, bytes, name, resident";
constexpr llvm::StringLiteral opKeys =
    "id, name, cost, workspace, reads, writes, recompute, in_place, block, phase";

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
    if (llvm::Error error = validateProblem(problem))
      return std::move(error);
    return std::move(problem);
  }

private:
  bool readProblem() {
    std::string format;
    int64_t version = 0;
    bool hasValues = false, hasOps = false;
    const bool read = reader.object([&](llvm::StringRef key) {
      if (key == "format")
        return reader.string(format) &&
               (format == "llmmem-problem" || reader.fail("expected \"llmmem-problem\""));
      if (key == "version")
        return reader.integer(version) && (version == 1 || reader.fail("expected version 1"));
      if (key == "budget")
        return reader.integer(problem.budget.emplace());
      if (key == "alignment")
        return reader.integer(problem.alignment, 1);
      if (key == "keep")
        return ids(keep);
      if (key == "values")
        return hasValues = true, reader.array([&] { return readValue(); });
      if (key == "ops")
        return hasOps = true, reader.array([&] { return readOp(); });
      return reader.unknownKey(key, problemKeys);
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
      return reader.unknownKey(key, valueKeys);
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
      return reader.unknownKey(key, opKeys);
    });
    return read && ((hasId && hasReads && hasWrites) ||
                    reader.fail("an op must have 'id', 'reads' and 'writes'"));
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
  os << '}';
}

} // namespace

llvm::Expected<Problem> parseProblem(llvm::StringRef json) { return ProblemReader(json).run(); }

// One value or op per line: llvm::json's writer knows only everything on one line or one number per
// line.
void printProblem(const Problem &problem, llvm::raw_ostream &os) {
  os << "{\"format\": \"llmmem-problem\", \"version\": 1";
  if (problem.budget)
    os << ", \"budget\": " << *problem.budget;
  os << ", \"alignment\": " << problem.alignment << ",\n \"values\": [";
  llvm::interleave(
      problem.values, os, [&](const Value &value) { os << "\n  ", printValue(os, value); }, ",");
  os << "],\n \"ops\": [";
  llvm::interleave(
      problem.ops, os, [&](const Op &op) { os << "\n  ", printOp(os, problem, op); }, ",");
  os << "],\n \"keep\": ";
  printIds(os, problem, problem.keep);
  os << "}\n";
}

} // namespace llmmem::planning
