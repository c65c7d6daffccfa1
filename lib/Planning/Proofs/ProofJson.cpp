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
    {"rounds", Kind::Rounds},
    {"every_schedule", Kind::EverySchedule},
    {"every_placement", Kind::EveryPlacement}};

/// Holds for a type of flows, const or not.
template <typename T, typename Flows>
concept FlowsOf = std::is_same_v<std::remove_const_t<T>, Flows>;

/// Call `visit` with the key and the value of each member, for the reader and the printer.
template <typename Visit>
void forEachMember(FlowsOf<ProgramPointFlow> auto &programPoint, const Visit &visit) {
  visit("op", programPoint.op);
  visit("price", programPoint.price);
  visit("needed", programPoint.needed);
  visit("held", programPoint.held);
  visit("repeated", programPoint.repeated);
  visit("reads", programPoint.reads);
  visit("values_before", programPoint.valuesBefore);
  visit("ops_before", programPoint.opsBefore);
}
template <typename Visit>
void forEachMember(FlowsOf<OpenCutFlow> auto &cut, const Visit &visit) {
  visit("op", cut.op);
  visit("price", cut.price);
  visit("scale", cut.scale);
  visit("repeats", cut.repeats);
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
void forEachMember(FlowsOf<LastRunFlow> auto &flow, const Visit &visit) {
  visit("ops", flow.ops);
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
         {"cut", [&] { return readFlows(argument.openCut); }},
         {"set", [&] { return ids.readOps(argument.lastRuns.set); }},
         {"flows",
          [&] {
            return reader.array([&] { return readFlows(argument.lastRuns.flows.emplace_back()); });
          }},
         {"points", [&] { return ids.readOps(argument.rounds.programPoints); }},
         {"chains",
          [&] {
            return reader.array([&] { return read(argument.rounds.chains.emplace_back().ops); });
          }}},
        "an argument");
  }

  bool readCut(CutFlow &cut) {
    return reader.members({{"scale", cut.scale},
                           {"later", [&] { return ids.readOp(cut.later); }},
                           {"moments", [&] {
                              return reader.array(
                                  [&] { return readFlows(cut.programPoints.emplace_back()); });
                            }}});
  }

  template <typename Flows>
  bool readFlows(Flows &flows) {
    return reader.object([&](llvm::StringRef key) {
      bool isKnown = false, isRead = false;
      std::string keys;
      forEachMember(flows, [&](llvm::StringRef name, auto &member) {
        keys += (keys.empty() ? "" : ", ") + name.str();
        if (name != key)
          return;
        isKnown = true;
        isRead = read(member);
      });
      return isKnown ? isRead : reader.unknownKey(key, keys);
    });
  }

  bool read(OpIndex &op) { return ids.readOp(op); }
  bool read(int64_t &number) { return reader.integer(number); }
  bool read(bool &isSo) { return reader.boolean(isSo); }
  bool read(std::vector<OpIndex> &ops) { return ids.readOps(ops); }
  template <typename Flow>
  bool read(std::vector<Flow> &list) {
    return reader.array([&] { return readFlow(list.emplace_back()); });
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
      printFlows(", \"cut\":\n  {", argument->openCut);
    if (argument->kind == Kind::LastRuns)
      print(argument->lastRuns);
    if (argument->kind == Kind::Rounds)
      print(argument->rounds);
    os << '}';
  }

  void print(const CutFlow &cut) {
    os << "\n  {\"scale\": " << cut.scale;
    if (cut.later >= 0)
      printOp(", \"later\": ", cut.later);
    os << ", \"moments\": [";
    llvm::interleaveComma(cut.programPoints, os,
                          [&](const ProgramPointFlow &each) { printFlows("\n   {", each); });
    os << "]}";
  }

  void print(const LastRunArgument &argument) {
    printOps(", \"set\": [", argument.set);
    os << ", \"flows\": [";
    llvm::interleaveComma(argument.flows, os,
                          [&](const LastRunFlow &flow) { printFlows("\n   {", flow); });
    os << ']';
  }

  void print(const RoundArgument &argument) {
    printOps(", \"points\": [", argument.programPoints);
    os << ", \"chains\": [";
    llvm::interleaveComma(argument.chains, os, [&](const RoundChain &chain) {
      os << "\n   [";
      llvm::interleaveComma(chain.ops, os, [&](const OpFlow &flow) { printFlow(flow); });
      os << ']';
    });
    os << ']';
  }

  void printOps(llvm::StringRef before, const std::vector<OpIndex> &ops) {
    os << before;
    llvm::interleaveComma(ops, os, [&](OpIndex op) { printOp("", op); });
    os << ']';
  }

  template <typename Flows>
  void printFlows(llvm::StringRef before, const Flows &flows) {
    os << before;
    forEachMember(flows, [&](llvm::StringRef name, const auto &member) { print(name, member); });
    os << '}';
  }
  /// An op, or the ops, come first.
  void print(llvm::StringRef, OpIndex op) { printOp("\"op\": ", op); }
  void print(llvm::StringRef, const std::vector<OpIndex> &ops) { printOps("\"ops\": [", ops); }
  void print(llvm::StringRef name, int64_t number) { os << ", \"" << name << "\": " << number; }
  void print(llvm::StringRef name, bool isSo) {
    os << ", \"" << name << "\": " << (isSo ? "true" : "false");
  }
  template <typename Flow>
  void print(llvm::StringRef name, const std::vector<Flow> &list) {
    if (list.empty())
      return;
    os << ",\n    \"" << name << "\": [";
    llvm::interleaveComma(list, os, [&](const Flow &flow) { printFlow(flow); });
    os << ']';
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
