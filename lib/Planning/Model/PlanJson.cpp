//===- PlanJson.cpp - llmmem-plan, read and written --------------------------===//

#include "VersionedReader.h"
#include "llmmem/Planning/Model/Plan.h"
#include "llmmem/Planning/Model/ProblemIds.h"
#include "llmmem/Support/LlvmResult.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <limits>

namespace llmmem::planning {
namespace {

constexpr std::pair<llvm::StringLiteral, Status> statusWords[] = {
    {"feasible", Status::Feasible},
    {"infeasible", Status::Infeasible},
    {"unknown", Status::Unknown}};
constexpr PlannedCopy noCopy{-1, -1, -1, 0};

/// Ids that the problem does not have become index -1, so that such a plan can be read, and the
/// verifier reports it.
class PlanReader {
public:
  PlanReader(const Problem &problem, llvm::StringRef json)
      : problem(problem), reader(json), versions(reader), ids(problem, reader) {}

  llvm::Expected<Plan> run() {
    readPlan();
    if (llvm::Error error = reader.finish())
      return std::move(error);
    return std::move(plan);
  }

private:
  bool readPlan() {
    return versions.members(
        "a llmmem-plan",
        {{required("format"), [&] { return reader.format("llmmem-plan"); }},
         {required("version"), [&] { return readVersion(); }},
         {"form", [&] { return readVariant(plan.variant.emplace()); }},
         {required("status"), [&] { return reader.word(plan.status, statusWords); }},
         {required("steps"), [&] { return ids.readOps(plan.steps); }},
         {required("offsets"), [&] { return reader.array([&] { return readOffset(); }); }},
         {"workspaces", [&] { return reader.array([&] { return readWorkspace(); }); }},
         {required("cost"), plan.cost},
         {"base_cost", plan.baseCost},
         {"cost_lower_bound", plan.costLowerBound},
         {"seconds", plan.seconds},
         {"witness", [&] { return reader.null() || readWitness(plan.witness.emplace()); }}},
        {{required("peak"), plan.peak},
         {required("arena"), plan.arena},
         {"peak_lower_bound", plan.peakLowerBound}},
        {{"alternatives", [&] { return reader.array([&] { return readAlternative(); }); }},
         {"copies", [&] { return reader.array([&] { return readCopy(); }); }},
         {required("memories"), [&] { return reader.array([&] { return readMemory(); }); }},
         {required("time"), [&] { return reader.integer(time().time); }},
         {"base_time", [&] { return reader.integer(time().base); }},
         {"time_lower_bound", [&] { return reader.integer(time().lowerBound); }}});
  }

  /// Reads the version. A plan has that of its problem.
  bool readVersion() {
    return reader.version(versions.version, 2) &&
           (versions.isVersion2() || !problem.needsVersion2() ||
            reader.fail("expected version 2, as the problem has several memories or resources, "
                        "optional ops or alternatives"));
  }

  bool readMemory() {
    const int64_t number = numMemories++;
    int64_t id = -1;
    MemoryUse use;
    const bool read = reader.members(
        {{required("id"),
          [&] {
            return reader.integer(id) &&
                   (id == number || reader.fail("memories stand as in the problem; expected " +
                                                llvm::Twine(number)));
          }},
         {"peak", use.peak},
         {"arena", use.arena},
         {"peak_lower_bound", use.peakLowerBound}},
        "a memory");
    if (number > 0) {
      plan.moreMemories.push_back(use);
      return read;
    }
    plan.peak = use.peak;
    plan.arena = use.arena;
    plan.peakLowerBound = use.peakLowerBound;
    return read;
  }

  PlanTime &time() { return plan.time ? *plan.time : plan.time.emplace(); }

  bool readAlternative() {
    ChosenAlternative &chosen = plan.alternatives.emplace_back(ChosenAlternative{-1, 0});
    return reader.elements(
        "[op, number of its alternative]",
        {[&] { return ids.readOp(chosen.op); }, [&] { return step(chosen.number, 1); }});
  }

  bool readCopy() {
    PlannedCopy &copy = plan.copies.emplace_back(noCopy);
    return reader.members({{required("value"), [&] { return ids.readValue(copy.value); }},
                           {required("leaves"), [&] { return step(copy.leaves, 0); }},
                           {required("back"), [&] { return step(copy.back, 0); }},
                           {"host_offset", copy.hostOffset}},
                          "a copy");
  }

  bool readVariant(VariantNumber &variant) {
    return reader.members({{"alternative", [&] { return step(variant.alternative, 0); }},
                           {"tiling", [&] { return step(variant.tiling, 0); }}});
  }

  bool step(int32_t &step, int64_t least) {
    int64_t number = 0;
    if (!reader.integer(number, least))
      return false;
    step = static_cast<int32_t>(std::min<int64_t>(number, std::numeric_limits<int32_t>::max()));
    return true;
  }

  bool readOffset() {
    InstanceOffset &offset = plan.offsets.emplace_back(InstanceOffset{-1, -1, 0});
    return reader.elements("[step, value, byte offset]",
                           {[&] { return step(offset.step, -1); },
                            [&] { return ids.readValue(offset.value); },
                            [&] { return reader.integer(offset.offset); }});
  }

  bool readWorkspace() {
    WorkspaceOffset &offset = plan.workspaces.emplace_back(WorkspaceOffset{-1, 0});
    return reader.elements("[step, byte offset]", {[&] { return step(offset.step, 0); },
                                                   [&] { return reader.integer(offset.offset); }});
  }

  bool readWitness(Witness &witness) {
    return versions.members(
        "a witness",
        {{"step", [&] { return reader.null() || ids.readOp(witness.op.emplace()); }},
         {"values",
          [&] {
            return reader.array([&] { return ids.readValue(witness.values.emplace_back()); });
          }},
         {"bytes", witness.bytes},
         {"proved", witness.proved},
         {"why", witness.why}},
        {}, {{"memory", [&] { return step(witness.memory, 0); }}});
  }

  const Problem &problem;
  JsonReader reader;
  VersionedReader versions;
  ProblemIds ids;
  Plan plan;
  int64_t numMemories = 0; // read so far
};

void printString(llvm::raw_ostream &os, llvm::StringRef text) {
  os << llvm::json::Value(llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text));
}

void printWitness(const Problem &problem, const Witness &witness, llvm::raw_ostream &os) {
  os << ",\n \"witness\": {\"step\": ";
  printId(os, problem.ops, witness.op.value_or(-1));
  os << ", \"values\": [";
  llvm::interleaveComma(witness.values, os,
                        [&](ValueIndex value) { printId(os, problem.values, value); });
  os << "], \"bytes\": " << witness.bytes;
  if (problem.needsVersion2())
    os << ", \"memory\": " << witness.memory;
  os << ", \"proved\": " << (witness.proved ? "true" : "false") << ", \"why\": ";
  printString(os, witness.why);
  os << '}';
}

} // namespace

std::string_view nameOf(Status status) { return wordOf(statusWords, status); }

Result<Plan> parsePlan(const Problem &problem, std::string_view json) {
  return toResult(PlanReader(problem, json).run());
}

static void printMemories(const Plan &plan, llvm::raw_ostream &os) {
  os << "],\n \"memories\": [";
  int64_t number = 0;
  auto print = [&](const MemoryUse &use) {
    os << (number ? ", " : "") << "{\"id\": " << number << ", \"peak\": " << use.peak
       << ", \"arena\": " << use.arena << ", \"peak_lower_bound\": " << use.peakLowerBound << '}';
    ++number;
  };
  print({plan.peak, plan.arena, plan.peakLowerBound});
  for (const MemoryUse &use : plan.moreMemories)
    print(use);
  const PlanTime time = plan.time.value_or(PlanTime());
  os << "],\n \"cost\": " << plan.cost << ", \"base_cost\": " << plan.baseCost
     << ", \"cost_lower_bound\": " << plan.costLowerBound << ",\n \"time\": " << time.time
     << ", \"base_time\": " << time.base << ", \"time_lower_bound\": " << time.lowerBound;
}

static void printCopies(const Problem &problem, const Plan &plan, llvm::raw_ostream &os) {
  os << "],\n \"copies\": [";
  llvm::interleaveComma(plan.copies, os, [&](const PlannedCopy &copy) {
    os << "{\"value\": ";
    printId(os, problem.values, copy.value);
    os << ", \"leaves\": " << copy.leaves << ", \"back\": " << copy.back
       << ", \"host_offset\": " << copy.hostOffset << '}';
  });
}

std::string toJson(const Problem &problem, const Plan &plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const bool isVersion2 = problem.needsVersion2();
  os << "{\"format\": \"llmmem-plan\", \"version\": " << (isVersion2 ? 2 : 1);
  if (plan.variant)
    os << ", \"form\": {\"alternative\": " << plan.variant->alternative
       << ", \"tiling\": " << plan.variant->tiling << '}';
  os << ", \"status\": \"" << nameOf(plan.status) << "\",\n \"steps\": [";
  llvm::interleaveComma(plan.steps, os, [&](OpIndex op) { printId(os, problem.ops, op); });
  if (isVersion2) {
    os << "],\n \"alternatives\": [";
    llvm::interleaveComma(plan.alternatives, os, [&](const ChosenAlternative &chosen) {
      os << '[';
      printId(os, problem.ops, chosen.op);
      os << ", " << chosen.number << ']';
    });
  }
  os << "],\n \"offsets\": [";
  llvm::interleaveComma(plan.offsets, os, [&](const InstanceOffset &offset) {
    os << '[' << offset.step << ", ";
    printId(os, problem.values, offset.value);
    os << ", " << offset.offset << ']';
  });
  os << "],\n \"workspaces\": [";
  llvm::interleaveComma(plan.workspaces, os, [&](const WorkspaceOffset &offset) {
    os << '[' << offset.step << ", " << offset.offset << ']';
  });
  if (!plan.copies.empty())
    printCopies(problem, plan, os);
  if (isVersion2)
    printMemories(plan, os);
  else
    os << "],\n \"peak\": " << plan.peak << ", \"arena\": " << plan.arena
       << ", \"cost\": " << plan.cost << ", \"base_cost\": " << plan.baseCost
       << ", \"cost_lower_bound\": " << plan.costLowerBound
       << ",\n \"peak_lower_bound\": " << plan.peakLowerBound;
  // Milliseconds are precise enough, and keep the line short.
  os << ", \"seconds\": " << llvm::format("%.3f", plan.seconds);
  if (plan.witness)
    printWitness(problem, *plan.witness, os);
  os << "}\n";
  return text;
}

} // namespace llmmem::planning
