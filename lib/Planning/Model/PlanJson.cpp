//===- PlanJson.cpp - llmmem-plan, read and written --------------------------===//

#include "llmmem/Planning/Model/Plan.h"
#include "llmmem/Support/JsonReader.h"
#include "llmmem/Support/LlvmResult.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <limits>
#include <unordered_map>

namespace llmmem::planning {
namespace {

constexpr llvm::StringLiteral planKeys =
    "format, version, form, status, steps, offsets, workspaces, peak, arena, cost, base_cost, "
    "cost_lower_bound, peak_lower_bound, seconds, witness";
constexpr llvm::StringLiteral planKeys2 =
    "format, version, form, status, steps, alternatives, offsets, workspaces, copies, memories, "
    "cost, base_cost, "
    "cost_lower_bound, time, base_time, time_lower_bound, seconds, witness";
constexpr llvm::StringLiteral witnessKeys = "step, values, bytes, memory, proved, why";

llvm::StringRef statusName(Status status) {
  switch (status) {
  case Status::Feasible:
    return "feasible";
  case Status::Infeasible:
    return "infeasible";
  case Status::Unknown:
    return "unknown";
  }
  return "unknown";
}

/// Ids that the problem does not have become index -1, so that such a plan can be read, and the
/// verifier reports it.
class PlanReader {
public:
  PlanReader(const Problem &problem, llvm::StringRef json) : problem(problem), reader(json) {
    for (size_t i = 0; i < problem.values.size(); ++i)
      valueOf.try_emplace(problem.values[i].id, static_cast<int32_t>(i));
    for (size_t i = 0; i < problem.ops.size(); ++i)
      opOf.try_emplace(problem.ops[i].id, static_cast<int32_t>(i));
  }

  llvm::Expected<Plan> run() {
    readPlan();
    if (llvm::Error error = reader.finish())
      return std::move(error);
    return std::move(plan);
  }

private:
  using IdMap = std::unordered_map<int64_t, int32_t>; // DenseMap reserves two of the legal ids

  bool readPlan() {
    std::string format;
    unsigned required = 0;
    const bool read = reader.object([&](llvm::StringRef key) {
      required += llvm::is_contained({"status", "steps", "offsets", "cost"}, key);
      required += llvm::is_contained(
          {isVersion2() ? "memories" : "peak", isVersion2() ? "time" : "arena"}, key);
      if (key == "format")
        return reader.string(format) &&
               (format == "llmmem-plan" || reader.fail("expected \"llmmem-plan\""));
      if (key == "version")
        return readVersion();
      return readMember(key);
    });
    if (!read)
      return false;
    if (format.empty() || version == 0)
      return reader.fail("expected \"format\": \"llmmem-plan\" and \"version\": 1");
    return required == 6 ||
           reader.fail(isVersion2() ? "'status', 'steps', 'offsets', 'memories', 'cost' and 'time' "
                                      "must be there"
                                    : "'status', 'steps', 'offsets', 'peak', 'arena' and 'cost' "
                                      "must be there");
  }

  bool isVersion2() const { return version == 2; }

  /// Reads the version, which must come before the keys that only one version has. A plan has the
  /// version of its problem.
  bool readVersion() {
    if (!reader.integer(version))
      return false;
    if (version != 1 && version != 2)
      return reader.fail("expected version 1 or 2");
    if (!isVersion2() && problem.needsVersion2())
      return reader.fail("expected version 2, as the problem has several memories or resources, "
                         "optional ops or alternatives");
    return true;
  }

  bool readMemory() {
    const int64_t number = numMemories++;
    int64_t id = -1;
    MemoryUse use;
    const bool read = reader.members(
        {{"id",
          [&] {
            return reader.integer(id) &&
                   (id == number || reader.fail("memories stand as in the problem; expected " +
                                                llvm::Twine(number)));
          }},
         {"peak", use.peak},
         {"arena", use.arena},
         {"peak_lower_bound", use.peakLowerBound}});
    if (!read)
      return false;
    if (id < 0)
      return reader.fail("a memory must have 'id'");
    if (number > 0) {
      plan.moreMemories.push_back(use);
      return true;
    }
    plan.peak = use.peak;
    plan.arena = use.arena;
    plan.peakLowerBound = use.peakLowerBound;
    return true;
  }

  PlanTime &time() { return plan.time ? *plan.time : plan.time.emplace(); }

  bool readMemberOfVersion2(llvm::StringRef key) {
    if (key == "alternatives")
      return reader.array([&] { return readAlternative(); });
    if (key == "copies")
      return reader.array([&] { return readCopy(plan.copies.emplace_back(noCopy)); });
    if (key == "memories")
      return reader.array([&] { return readMemory(); });
    if (key == "time")
      return reader.integer(time().time);
    if (key == "base_time")
      return reader.integer(time().base);
    if (key == "time_lower_bound")
      return reader.integer(time().lowerBound);
    return reader.unknownKey(key, planKeys2);
  }

  bool readMemberOfVersion1(llvm::StringRef key) {
    if (key == "peak")
      return reader.integer(plan.peak);
    if (key == "arena")
      return reader.integer(plan.arena);
    if (key == "peak_lower_bound")
      return reader.integer(plan.peakLowerBound);
    return reader.unknownKey(key, planKeys);
  }

  bool readAlternative() {
    ChosenAlternative chosen{-1, 0};
    int field = 0;
    const bool read = reader.array([&] {
      switch (field++) {
      case 0:
        return index(opOf, chosen.op);
      case 1:
        return step(chosen.number, 1);
      default:
        return reader.fail("expected two integers: [op, number of its alternative]");
      }
    });
    plan.alternatives.push_back(chosen);
    return read && (field == 2 || reader.fail("expected [op, number of its alternative]"));
  }

  static constexpr PlannedCopy noCopy{-1, -1, -1, 0};

  bool readCopy(PlannedCopy &copy) {
    bool hasValue = false;
    const bool read =
        reader.members({{"value", [&] { return hasValue = true, index(valueOf, copy.value); }},
                        {"leaves", [&] { return step(copy.leaves, 0); }},
                        {"back", [&] { return step(copy.back, 0); }},
                        {"host_offset", copy.hostOffset}});
    return read && ((hasValue && copy.leaves >= 0 && copy.back >= 0) ||
                    reader.fail("a copy must have 'value', 'leaves' and 'back'"));
  }

  bool readVariant(VariantNumber &variant) {
    return reader.members({{"alternative", [&] { return step(variant.alternative, 0); }},
                           {"tiling", [&] { return step(variant.tiling, 0); }}});
  }

  bool readMember(llvm::StringRef key) {
    if (key == "form")
      return readVariant(plan.variant.emplace());
    if (key == "status")
      return readStatus();
    if (key == "steps")
      return reader.array([&] { return index(opOf, plan.steps.emplace_back()); });
    if (key == "offsets")
      return reader.array([&] { return readOffset(); });
    if (key == "workspaces")
      return reader.array([&] { return readWorkspace(); });
    if (key == "cost")
      return reader.integer(plan.cost);
    if (key == "base_cost")
      return reader.integer(plan.baseCost);
    if (key == "cost_lower_bound")
      return reader.integer(plan.costLowerBound);
    if (key == "seconds")
      return reader.real(plan.seconds);
    if (key == "witness")
      return reader.null() || readWitness(plan.witness.emplace());
    return isVersion2() ? readMemberOfVersion2(key) : readMemberOfVersion1(key);
  }

  bool readStatus() {
    std::string name;
    if (!reader.string(name))
      return false;
    for (Status candidate : {Status::Feasible, Status::Infeasible, Status::Unknown})
      if (name == statusName(candidate)) {
        plan.status = candidate;
        return true;
      }
    return reader.fail("expected \"feasible\", \"infeasible\" or \"unknown\"");
  }

  bool index(const IdMap &map, int32_t &position) {
    int64_t id = 0;
    if (!reader.integer(id))
      return false;
    auto found = map.find(id);
    position = found == map.end() ? -1 : found->second;
    return true;
  }

  bool step(int32_t &step, int64_t least) {
    int64_t number = 0;
    if (!reader.integer(number, least))
      return false;
    step = static_cast<int32_t>(std::min<int64_t>(number, std::numeric_limits<int32_t>::max()));
    return true;
  }

  bool readOffset() {
    InstanceOffset offset{-1, -1, 0};
    int field = 0;
    const bool read = reader.array([&] {
      switch (field++) {
      case 0:
        return step(offset.step, -1);
      case 1:
        return index(valueOf, offset.value);
      case 2:
        return reader.integer(offset.offset);
      default:
        return reader.fail("expected three integers: [step, value, byte offset]");
      }
    });
    plan.offsets.push_back(offset);
    return read && (field == 3 || reader.fail("expected [step, value, byte offset]"));
  }

  bool readWorkspace() {
    WorkspaceOffset offset{-1, 0};
    int field = 0;
    const bool read = reader.array([&] {
      switch (field++) {
      case 0:
        return step(offset.step, 0);
      case 1:
        return reader.integer(offset.offset);
      default:
        return reader.fail("expected two integers: [step, byte offset]");
      }
    });
    plan.workspaces.push_back(offset);
    return read && (field == 2 || reader.fail("expected [step, byte offset]"));
  }

  bool readWitness(Witness &witness) {
    return reader.object([&](llvm::StringRef key) {
      if (key == "step")
        return reader.null() || index(opOf, witness.op.emplace());
      if (key == "values")
        return reader.array([&] { return index(valueOf, witness.values.emplace_back()); });
      if (key == "bytes")
        return reader.integer(witness.bytes);
      if (isVersion2() && key == "memory")
        return step(witness.memory, 0);
      if (key == "proved")
        return reader.boolean(witness.proved);
      if (key == "why")
        return reader.string(witness.why);
      return reader.unknownKey(key, witnessKeys);
    });
  }

  const Problem &problem;
  JsonReader reader;
  Plan plan;
  int64_t version = 0;
  int64_t numMemories = 0; // read so far
  IdMap valueOf, opOf;
};

/// The ids of a plan that names what the problem does not have print as null, and the text does not
/// parse.
template <typename Item>
void printId(llvm::raw_ostream &os, const std::vector<Item> &items, int32_t index) {
  if (index >= 0 && static_cast<size_t>(index) < items.size())
    os << items[index].id;
  else
    os << "null";
}

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
  os << ", \"status\": \"" << statusName(plan.status) << "\",\n \"steps\": [";
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
