//===- ProblemJson.cpp - llmmem-problem, read and written -------------------===//

#include "ProblemReader.h"
#include "llmmem/Support/LlvmResult.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace llmmem::planning {

std::string_view nameOf(Phase phase) { return wordOf(phaseWords, phase); }
std::string_view nameOf(Resource resource) { return wordOf(resourceWords, resource); }

namespace {

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
  if (value.orderOnly)
    os << ", \"order_only\": true";
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
    os << ", \"phase\": \"" << nameOf(op.phase) << '"';
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

// This code prints one value or op per line. The writer of llvm::json prints either everything on
// one line or one number per line.
void printBody(llvm::raw_ostream &os, const Problem &problem) {
  os << "\"values\": [";
  llvm::interleave(
      problem.values, os, [&](const Value &value) { os << "\n  ", printValue(os, value); }, ",");
  os << "],\n \"ops\": [";
  llvm::interleave(
      problem.ops, os, [&](const Op &op) { os << "\n  ", printOp(os, problem, op); }, ",");
  os << "],\n \"keep\": ";
  printIds(os, problem, problem.keep);
}

void printProblem(llvm::raw_ostream &os, const Problem &problem) {
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
  os << ",\n ";
  printBody(os, problem);
}

void printTiling(llvm::raw_ostream &os, const Problem &problem, const Tiling &tiling) {
  os << '[';
  llvm::interleaveComma(tiling, os, [&](const OpTiling &entry) {
    os << "{\"op\": " << problem.ops[entry.op].id << ", \"cost\": " << entry.cost
       << ", \"workspace\": " << entry.workspace << '}';
  });
  os << ']';
}

void printVariant(llvm::raw_ostream &os, const ProblemVariant &variant, bool isStated) {
  os << "{\"tilings\": [";
  llvm::interleave(
      variant.tilings, os,
      [&](const Tiling &tiling) { os << "\n   ", printTiling(os, variant.problem, tiling); }, ",");
  os << "], \"selected\": [";
  llvm::interleaveComma(variant.selected, os,
                        [&](OpIndex op) { os << variant.problem.ops[op].id; });
  os << ']';
  if (!isStated) {
    os << ",\n ";
    printBody(os, variant.problem);
  }
  os << '}';
}

} // namespace

Result<VariantSet> parseVariantSet(std::string_view json) {
  JsonReader reader(json);
  return toResult(ProblemReader(reader).run());
}

Result<Problem> parseProblem(std::string_view json) {
  Result<VariantSet> variants = parseVariantSet(json);
  if (!variants)
    return Failure{variants.error()};
  return std::move(variants->alternatives[variants->stated.alternative].problem);
}

std::string toJson(const Problem &problem) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printProblem(os, problem);
  os << "}\n";
  return text;
}

std::string toJson(const VariantSet &variants) {
  const Problem stated = *variants.problemOf(variants.stated);
  const bool isOnly = !variants.hasSeveral() && variants.alternatives.front().selected.empty() &&
                      !variants.guessedPhases;
  if (isOnly)
    return toJson(stated);
  std::string text;
  llvm::raw_string_ostream os(text);
  printProblem(os, stated);
  if (variants.choice == VariantSelection::ByOpsOnce)
    os << ",\n \"choice\": \"ops_once\"";
  if (variants.guessedPhases)
    os << ",\n \"guessed_phases\": true";
  os << ",\n \"forms\": [";
  int32_t number = 0;
  llvm::interleave(
      variants.alternatives, os,
      [&](const ProblemVariant &variant) {
        os << "\n  ";
        printVariant(os, variant, number++ == variants.stated.alternative);
      },
      ",");
  os << "]}\n";
  return text;
}

} // namespace llmmem::planning
