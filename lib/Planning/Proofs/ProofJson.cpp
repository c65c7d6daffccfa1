//===- ProofJson.cpp - llmmem-proof, read and written ------------------------===//

#include "llmmem/Planning/Model/ProblemIds.h"
#include "llmmem/Planning/Proofs/Proof.h"
#include "llmmem/Support/LlvmResult.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace llmmem::planning {
namespace {

using Kind = Argument::Kind;

constexpr std::pair<llvm::StringLiteral, Kind> kindWords[] = {
    {"every_op_once", Kind::EveryOpOnce},
    {"resident", Kind::Resident},
    {"op", Kind::OneOp},
    {"cuts", Kind::Cuts},
    {"open_cut", Kind::OpenCut},
    {"last_runs", Kind::LastRuns},
    {"every_schedule", Kind::EverySchedule},
    {"every_placement", Kind::EveryPlacement}};

constexpr llvm::StringLiteral programPointKeys =
    "op, price, needed, held, repeated, reads, values_before, ops_before";
constexpr llvm::StringLiteral openCutKeys = "op, price, scale, repeats, descendants, kept, reads, "
                                            "held, repeated, first, order, ancestors";

constexpr llvm::StringLiteral lastRunKeys = "ops, kept, held, reads";

/// Holds for a type of flows, const or not.
template <typename T, typename Flows>
concept FlowsOf = std::is_same_v<std::remove_const_t<T>, Flows>;

/// Call `visit` with the name and the list of each kind of flow, for the reader and the printer.
template <typename Visit>
void forEachList(FlowsOf<ProgramPointFlow> auto &programPoint, const Visit &visit) {
  visit("needed", programPoint.needed);
  visit("held", programPoint.held);
  visit("repeated", programPoint.repeated);
  visit("reads", programPoint.reads);
  visit("values_before", programPoint.valuesBefore);
  visit("ops_before", programPoint.opsBefore);
}
template <typename Visit>
void forEachList(FlowsOf<OpenCutFlow> auto &cut, const Visit &visit) {
  visit("descendants", cut.descendants);
  visit("kept", cut.kept);
  visit("reads", cut.reads);
  visit("held", cut.held);
  visit("repeated", cut.repeated);
  visit("first", cut.first);
  visit("order", cut.order);
  visit("ancestors", cut.ancestors);
}
template <typename Visit>
void forEachList(FlowsOf<LastRunFlow> auto &flow, const Visit &visit) {
  visit("kept", flow.kept);
  visit("held", flow.held);
  visit("reads", flow.reads);
}

/// Ids that the problem does not have become index -1, for the checker to refuse.
class ProofReader {
public:
  ProofReader(const Problem &problem, llvm::StringRef json) : reader(json), ids(problem, reader) {}

  llvm::Expected<Proof> run() {
    readProof();
    if (llvm::Error error = reader.finish())
      return std::move(error);
    return std::move(proof);
  }

private:
  bool readProof() {
    int64_t version = 0;
    return reader.members(
        {{required("format"), [&] { return reader.format("llmmem-proof"); }},
         {required("version"), [&] { return reader.version(version, 1); }},
         {"budget", [&] { return reader.integer(proof.budget.emplace()); }},
         {"cost", [&] { return readArgument(proof.cost.emplace()); }},
         {"peak", [&] { return readArgument(proof.peak.emplace()); }},
         {"infeasible", [&] { return readArgument(proof.infeasible.emplace()); }}},
        "a llmmem-proof");
  }

  bool readArgument(Argument &argument) {
    return reader.members(
        {{required("by"), [&] { return reader.word(argument.kind, kindWords); }},
         {"op", [&] { return ids.readOp(argument.op); }},
         {"cuts",
          [&] { return reader.array([&] { return readCut(argument.cuts.emplace_back()); }); }},
         {"cut", [&] { return readOpenCut(argument.openCut); }},
         {"set", [&] { return ids.readOps(argument.lastRuns.set); }},
         {"flows",
          [&] {
            return reader.array(
                [&] { return readLastRunFlow(argument.lastRuns.flows.emplace_back()); });
          }}},
        "an argument");
  }

  bool readCut(CutFlow &cut) {
    return reader.members(
        {{"scale", cut.scale},
         {"later", [&] { return ids.readOp(cut.later); }},
         {"moments", [&] {
            return reader.array([&] { return readProgramPoint(cut.programPoints.emplace_back()); });
          }}});
  }

  bool readProgramPoint(ProgramPointFlow &programPoint) {
    return reader.object([&](llvm::StringRef key) {
      if (key == "op")
        return ids.readOp(programPoint.op);
      if (key == "price")
        return reader.integer(programPoint.price);
      return readList(key, programPoint, programPointKeys);
    });
  }

  bool readOpenCut(OpenCutFlow &cut) {
    return reader.object([&](llvm::StringRef key) {
      if (key == "op")
        return ids.readOp(cut.op);
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
      return key == "ops" ? ids.readOps(flow.ops) : readList(key, flow, lastRunKeys);
    });
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
    return reader.elements("[value, amount]", {[&] { return ids.readValue(flow.value); },
                                               [&] { return reader.integer(flow.amount); }});
  }
  bool readFlow(OpFlow &flow) {
    return reader.elements("[op, amount]", {[&] { return ids.readOp(flow.op); },
                                            [&] { return reader.integer(flow.amount); }});
  }
  bool readFlow(ReadFlow &flow) {
    return reader.elements("[op, value, amount]", {[&] { return ids.readOp(flow.op); },
                                                   [&] { return ids.readValue(flow.value); },
                                                   [&] { return reader.integer(flow.amount); }});
  }
  bool readFlow(OrderFlow &flow) {
    return reader.elements("[writer, reader, amount]",
                           {[&] { return ids.readOp(flow.writer); },
                            [&] { return ids.readOp(flow.reader); },
                            [&] { return reader.integer(flow.amount); }});
  }

  JsonReader reader;
  ProblemIds ids;
  Proof proof;
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
    os << ",\n \"" << claim << "\": {\"by\": \"" << wordOf(kindWords, argument->kind) << '"';
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

  void printOp(llvm::StringRef before, OpIndex op) {
    os << before;
    printId(os, problem.ops, op);
  }
  void printValue(llvm::StringRef before, ValueIndex value) {
    os << before;
    printId(os, problem.values, value);
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
