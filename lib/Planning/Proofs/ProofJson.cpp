//===- ProofJson.cpp - llmmem-proof, read and written ------------------------===//

#include "llmmem/Planning/Proofs/Proof.h"
#include "llmmem/Support/JsonReader.h"
#include "llmmem/Support/LlvmResult.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <unordered_map>

namespace llmmem::planning {
namespace {

using Kind = Argument::Kind;

constexpr std::pair<Kind, llvm::StringLiteral> kindNames[] = {
    {Kind::EveryOpOnce, "every_op_once"},
    {Kind::Resident, "resident"},
    {Kind::OneOp, "op"},
    {Kind::Cuts, "cuts"},
    {Kind::OpenCut, "open_cut"},
    {Kind::LastRuns, "last_runs"},
    {Kind::EverySchedule, "every_schedule"},
    {Kind::EveryPlacement, "every_placement"}};

constexpr llvm::StringLiteral programPointKeys =
    "op, price, needed, held, repeated, reads, values_before, ops_before";
constexpr llvm::StringLiteral openCutKeys = "op, price, scale, repeats, descendants, kept, reads, "
                                            "held, repeated, first, order, ancestors";

constexpr llvm::StringLiteral lastRunKeys = "ops, kept, held, reads";

/// Calls `visit` with the name and the list of each kind of flow, for the reader and the printer.
template <typename ProgramPoint, typename Visit>
void forEachList(ProgramPoint &programPoint, const Visit &visit)
  requires std::is_same_v<std::remove_const_t<ProgramPoint>, ProgramPointFlow>
{
  visit("needed", programPoint.needed);
  visit("held", programPoint.held);
  visit("repeated", programPoint.repeated);
  visit("reads", programPoint.reads);
  visit("values_before", programPoint.valuesBefore);
  visit("ops_before", programPoint.opsBefore);
}

template <typename Cut, typename Visit>
void forEachList(Cut &cut, const Visit &visit)
  requires std::is_same_v<std::remove_const_t<Cut>, OpenCutFlow>
{
  visit("descendants", cut.descendants);
  visit("kept", cut.kept);
  visit("reads", cut.reads);
  visit("held", cut.held);
  visit("repeated", cut.repeated);
  visit("first", cut.first);
  visit("order", cut.order);
  visit("ancestors", cut.ancestors);
}

template <typename Flow, typename Visit>
void forEachList(Flow &flow, const Visit &visit)
  requires std::is_same_v<std::remove_const_t<Flow>, LastRunFlow>
{
  visit("kept", flow.kept);
  visit("held", flow.held);
  visit("reads", flow.reads);
}

/// Ids that the problem does not have become index -1, for the checker to refuse.
class ProofReader {
public:
  ProofReader(const Problem &problem, llvm::StringRef json) : reader(json) {
    for (size_t i = 0; i < problem.values.size(); ++i)
      valueOf.try_emplace(problem.values[i].id, static_cast<int32_t>(i));
    for (size_t i = 0; i < problem.ops.size(); ++i)
      opOf.try_emplace(problem.ops[i].id, static_cast<int32_t>(i));
  }

  llvm::Expected<Proof> run() {
    readProof();
    if (llvm::Error error = reader.finish())
      return std::move(error);
    return std::move(proof);
  }

private:
  using IdMap = std::unordered_map<int64_t, int32_t>;

  bool readProof() {
    std::string format;
    int64_t version = 0;
    const bool read = reader.members(
        {{"format",
          [&] {
            return reader.string(format) &&
                   (format == "llmmem-proof" || reader.fail("expected \"llmmem-proof\""));
          }},
         {"version",
          [&] {
            return reader.integer(version) && (version == 1 || reader.fail("expected version 1"));
          }},
         {"budget", [&] { return reader.integer(proof.budget.emplace()); }},
         {"cost", [&] { return readArgument(proof.cost.emplace()); }},
         {"peak", [&] { return readArgument(proof.peak.emplace()); }},
         {"infeasible", [&] { return readArgument(proof.infeasible.emplace()); }}});
    return read && ((!format.empty() && version == 1) ||
                    reader.fail("expected \"format\": \"llmmem-proof\" and \"version\": 1"));
  }

  bool readArgument(Argument &argument) {
    bool hasKind = false;
    const bool read = reader.members(
        {{"by", [&] { return hasKind = readKind(argument.kind); }},
         {"op", [&] { return index(opOf, argument.op); }},
         {"cuts",
          [&] { return reader.array([&] { return readCut(argument.cuts.emplace_back()); }); }},
         {"cut", [&] { return readOpenCut(argument.openCut); }},
         {"set", [&] { return readOps(argument.lastRuns.set); }},
         {"flows", [&] {
            return reader.array(
                [&] { return readLastRunFlow(argument.lastRuns.flows.emplace_back()); });
          }}});
    return read && (hasKind || reader.fail("an argument must have 'by'"));
  }

  bool readKind(Kind &kind) {
    std::string name;
    if (!reader.string(name))
      return false;
    for (const auto &[other, word] : kindNames)
      if (name == word) {
        kind = other;
        return true;
      }
    return reader.fail("expected every_op_once, resident, op, cuts, open_cut, last_runs, "
                       "every_schedule or every_placement");
  }

  bool readCut(CutFlow &cut) {
    return reader.members(
        {{"scale", cut.scale},
         {"later", [&] { return index(opOf, cut.later); }},
         {"moments", [&] {
            return reader.array([&] { return readProgramPoint(cut.programPoints.emplace_back()); });
          }}});
  }

  bool readProgramPoint(ProgramPointFlow &programPoint) {
    return reader.object([&](llvm::StringRef key) {
      if (key == "op")
        return index(opOf, programPoint.op);
      if (key == "price")
        return reader.integer(programPoint.price);
      return readList(key, programPoint, programPointKeys);
    });
  }

  bool readOpenCut(OpenCutFlow &cut) {
    return reader.object([&](llvm::StringRef key) {
      if (key == "op")
        return index(opOf, cut.op);
      if (key == "price")
        return reader.integer(cut.price);
      if (key == "scale")
        return reader.integer(cut.scale);
      if (key == "repeats")
        return reader.boolean(cut.repeats);
      return readList(key, cut, openCutKeys);
    });
  }

  bool readLastRunFlow(LastRunFlow &flow) {
    return reader.object([&](llvm::StringRef key) {
      return key == "ops" ? readOps(flow.ops) : readList(key, flow, lastRunKeys);
    });
  }

  bool readOps(std::vector<OpIndex> &ops) {
    return reader.array([&] { return index(opOf, ops.emplace_back(-1)); });
  }

  template <typename Cut>
  bool readList(llvm::StringRef key, Cut &cut, llvm::StringRef known) {
    bool isKnown = false, isRead = false;
    forEachList(cut, [&](llvm::StringRef name, auto &list) {
      if (name != key)
        return;
      isKnown = true;
      isRead = reader.array([&] { return readFlow(list.emplace_back()); });
    });
    return isKnown ? isRead : reader.unknownKey(key, known);
  }

  bool readFlow(ValueFlow &flow) {
    return fields("[value, amount]", {[&] { return index(valueOf, flow.value); },
                                      [&] { return reader.integer(flow.amount); }});
  }
  bool readFlow(OpFlow &flow) {
    return fields("[op, amount]", {[&] { return index(opOf, flow.op); },
                                   [&] { return reader.integer(flow.amount); }});
  }
  bool readFlow(ReadFlow &flow) {
    return fields("[op, value, amount]",
                  {[&] { return index(opOf, flow.op); }, [&] { return index(valueOf, flow.value); },
                   [&] { return reader.integer(flow.amount); }});
  }
  bool readFlow(OrderFlow &flow) {
    return fields("[writer, reader, amount]", {[&] { return index(opOf, flow.writer); },
                                               [&] { return index(opOf, flow.reader); },
                                               [&] { return reader.integer(flow.amount); }});
  }
  bool fields(llvm::StringRef expected, std::initializer_list<llvm::function_ref<bool()>> readers) {
    const auto *next = readers.begin();
    const bool read = reader.array(
        [&] { return next != readers.end() ? (*next++)() : reader.fail("expected " + expected); });
    return read && (next == readers.end() || reader.fail("expected " + expected));
  }

  bool index(const IdMap &map, int32_t &position) {
    int64_t id = 0;
    if (!reader.integer(id))
      return false;
    auto found = map.find(id);
    position = found == map.end() ? -1 : found->second;
    return true;
  }

  JsonReader reader;
  Proof proof;
  IdMap valueOf, opOf;
};

class ProofPrinter {
public:
  ProofPrinter(const Problem &problem, llvm::raw_ostream &os) : problem(problem), os(os) {}

  void print(const Proof &proof) {
    os << "{\"format\": \"llmmem-proof\", \"version\": 1";
    if (proof.budget)
      os << ", \"budget\": " << *proof.budget;
    print("cost", proof.cost);
    print("peak", proof.peak);
    print("infeasible", proof.infeasible);
    os << "}\n";
  }

private:
  void print(llvm::StringRef claim, const std::optional<Argument> &argument) {
    if (!argument)
      return;
    os << ",\n \"" << claim << "\": {\"by\": \"";
    for (const auto &[kind, word] : kindNames)
      if (kind == argument->kind)
        os << word;
    os << '"';
    if (argument->kind == Kind::OneOp)
      printOp(", \"op\": ", argument->op);
    if (argument->kind == Kind::Cuts) {
      os << ", \"cuts\": [";
      llvm::interleaveComma(argument->cuts, os, [&](const CutFlow &cut) { print(cut); });
      os << ']';
    }
    if (argument->kind == Kind::OpenCut)
      print(argument->openCut);
    if (argument->kind == Kind::LastRuns)
      print(argument->lastRuns);
    os << '}';
  }

  void print(const CutFlow &cut) {
    os << "\n  {\"scale\": " << cut.scale;
    if (cut.later >= 0)
      printOp(", \"later\": ", cut.later);
    os << ", \"moments\": [";
    llvm::interleaveComma(cut.programPoints, os, [&](const ProgramPointFlow &programPoint) {
      printOp("\n   {\"op\": ", programPoint.op);
      os << ", \"price\": " << programPoint.price;
      printLists(programPoint);
      os << '}';
    });
    os << "]}";
  }

  void print(const OpenCutFlow &cut) {
    printOp(", \"cut\":\n  {\"op\": ", cut.op);
    os << ", \"price\": " << cut.price << ", \"scale\": " << cut.scale
       << ", \"repeats\": " << (cut.repeats ? "true" : "false");
    printLists(cut);
    os << '}';
  }

  void print(const LastRunArgument &argument) {
    printOps(", \"set\": [", argument.set);
    os << ", \"flows\": [";
    llvm::interleaveComma(argument.flows, os, [&](const LastRunFlow &flow) {
      printOps("\n   {\"ops\": [", flow.ops);
      printLists(flow);
      os << '}';
    });
    os << ']';
  }

  void printOps(llvm::StringRef before, const std::vector<OpIndex> &ops) {
    os << before;
    llvm::interleaveComma(ops, os, [&](OpIndex op) { printOp("", op); });
    os << ']';
  }

  template <typename Cut>
  void printLists(const Cut &cut) {
    forEachList(cut, [&](llvm::StringRef name, const auto &list) {
      if (list.empty())
        return;
      os << ",\n    \"" << name << "\": [";
      llvm::interleaveComma(list, os, [&](const auto &flow) { printFlow(flow); });
      os << ']';
    });
  }

  void printFlow(const ValueFlow &flow) {
    printValue("[", flow.value);
    os << ", " << flow.amount << ']';
  }
  void printFlow(const OpFlow &flow) {
    printOp("[", flow.op);
    os << ", " << flow.amount << ']';
  }
  void printFlow(const ReadFlow &flow) {
    printOp("[", flow.op);
    printValue(", ", flow.value);
    os << ", " << flow.amount << ']';
  }
  void printFlow(const OrderFlow &flow) {
    printOp("[", flow.writer);
    printOp(", ", flow.reader);
    os << ", " << flow.amount << ']';
  }

  /// An id that the problem does not have prints as null, and the text does not parse.
  template <typename Item>
  void printId(llvm::StringRef before, const std::vector<Item> &items, int32_t index) {
    os << before;
    if (index >= 0 && static_cast<size_t>(index) < items.size())
      os << items[index].id;
    else
      os << "null";
  }
  void printOp(llvm::StringRef before, OpIndex op) { printId(before, problem.ops, op); }
  void printValue(llvm::StringRef before, ValueIndex value) {
    printId(before, problem.values, value);
  }

  const Problem &problem;
  llvm::raw_ostream &os;
};

} // namespace

std::string toJson(const Problem &problem, const Proof &proof) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ProofPrinter(problem, os).print(proof);
  return text;
}

Result<Proof> parseProof(const Problem &problem, std::string_view json) {
  return toResult(ProofReader(problem, json).run());
}

} // namespace llmmem::planning
