//===- llmmem-plan.cpp - The planner alone ------------------------------------===//

#include "Heartbeat.h"
#include "llmmem/Planning/Bounds/Prove.h"
#include "llmmem/Planning/Formats/BufferCsv.h"
#include "llmmem/Planning/Formats/Explain.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Proofs/Check.h"
#include "llmmem/Planning/Sweep.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/ExitCode.h"
#include "llmmem/Support/LlvmResult.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace llmmem;
using namespace llmmem::planning;

namespace {

llvm::cl::OptionCategory category("llmmem-plan");
llvm::cl::list<std::string> inputs(llvm::cl::Positional, llvm::cl::desc("<file>..."),
                                   llvm::cl::cat(category));
llvm::cl::opt<bool> checkMode("check", llvm::cl::cat(category),
                              llvm::cl::desc("Check a plan, and what it claims where a proof is "
                                             "given: --check problem.json plan.json [proof.json]"));
llvm::cl::opt<std::string> emitProof(
    "emit-proof", llvm::cl::value_desc("file"), llvm::cl::cat(category),
    llvm::cl::desc(
        "Write what proves the plan's bounds, or that there is none; it is checked first"));
llvm::cl::opt<bool> packMode("pack", llvm::cl::cat(category),
                             llvm::cl::desc("Pack a list of buffers: --pack instance.csv"));
llvm::cl::opt<std::string> capacity("capacity", llvm::cl::value_desc("bytes"),
                                    llvm::cl::cat(category),
                                    llvm::cl::desc("With --pack: the arena must not be larger"));
llvm::cl::opt<std::string>
    budget("budget", llvm::cl::value_desc("bytes|min"), llvm::cl::cat(category),
           llvm::cl::desc("Resident bytes and arena must fit (40GB, 37.25GiB, 4096); overrides the "
                          "problem's own. min: the least peak that can be found"));
llvm::cl::opt<std::string>
    policyText("policy", llvm::cl::init("budget"), llvm::cl::cat(category),
               llvm::cl::desc("The policy that chooses the kept values (default budget); see "
                              "POLICIES below"));
llvm::cl::opt<int> sweepPoints("sweep", llvm::cl::value_desc("N"), llvm::cl::cat(category),
                               llvm::cl::desc("Plan at N budgets and print the frontier"));
llvm::cl::opt<bool> json("json", llvm::cl::cat(category),
                         llvm::cl::desc("With --sweep: JSON instead of CSV"));
llvm::cl::opt<bool> explain(
    "explain", llvm::cl::cat(category),
    llvm::cl::desc("Print the decision for each saved value on stderr, and the cost of the other "
                   "choice"));
llvm::cl::opt<double> seconds("seconds", llvm::cl::init(10), llvm::cl::cat(category),
                              llvm::cl::desc("Time to spend, as a count of work (default 10)"));
llvm::cl::opt<std::string> output("o", llvm::cl::init("-"), llvm::cl::value_desc("file"),
                                  llvm::cl::cat(category),
                                  llvm::cl::desc("Where to write (default: -, stdout)"));

const std::string help = "\nPOLICIES\n" + policyHelp() + exitCodeHelp("llmmem-plan");
llvm::cl::extrahelp extraHelp(help);

int fail(const llvm::Twine &what) {
  llvm::WithColor::error(llvm::errs(), "llmmem-plan") << what << '\n';
  return ExitBadInput;
}

int write(llvm::StringRef text, int code) {
  if (llvm::Error error = writeTextFile(output, text))
    return fail(llvm::toString(std::move(error)));
  return code;
}

/// Reads and parses `file`; an error names the file.
template <typename Parse>
auto load(llvm::StringRef file, Parse parse) -> decltype(parse(llvm::StringRef())) {
  auto buffer = readTextFile(file);
  if (!buffer)
    return buffer.takeError();
  auto parsed = parse((*buffer)->getBuffer());
  if (!parsed)
    return llvm::createStringError(file + ": " + llvm::toString(parsed.takeError()));
  return parsed;
}

/// The problem of the command line, its budget overridden by --budget.
llvm::Expected<Problem> loadProblem() {
  llvm::Expected<Problem> problem =
      load(inputs[0], [](llvm::StringRef text) { return toExpected(parseProblem(text)); });
  if (!problem || !budget.getNumOccurrences())
    return problem;
  problem->budget.reset();
  if (budget != "min") {
    llvm::Expected<int64_t> bytes = parseByteSize(budget);
    if (!bytes)
      return llvm::createStringError("--budget: " + llvm::toString(bytes.takeError()) + ", or min");
    problem->budget = *bytes;
  }
  return problem;
}

/// One line for each claim, refused ones on stderr.
int printChecks(const std::vector<ClaimCheck> &checks) {
  bool isRefused = false;
  for (const ClaimCheck &it : checks) {
    const bool isWrong = it.verdict == Verdict::Refused;
    isRefused |= isWrong;
    (isWrong ? llvm::errs() : llvm::outs())
        << it.claim << ": " << wordOf(it.verdict) << ": " << it.message << '\n';
  }
  return isRefused ? ExitNoPlan : ExitSuccess;
}

int check() {
  if (inputs.size() != 2 && inputs.size() != 3)
    return fail("--check takes a problem and a plan: llmmem-plan --check problem.json plan.json, "
                "and perhaps proof.json behind them");
  llvm::Expected<Problem> problem = loadProblem();
  if (!problem)
    return fail(llvm::toString(problem.takeError()));
  llvm::Expected<Plan> plan =
      load(inputs[1], [&](llvm::StringRef text) { return toExpected(parsePlan(*problem, text)); });
  if (!plan)
    return fail(llvm::toString(plan.takeError()));
  if (inputs.size() == 3) {
    llvm::Expected<Proof> proof = load(
        inputs[2], [&](llvm::StringRef text) { return toExpected(parseProof(*problem, text)); });
    return proof ? printChecks(checkProof(*problem, *plan, *proof))
                 : fail(llvm::toString(proof.takeError()));
  }
  const std::vector<Violation> violations = verify(*problem, *plan);
  for (const Violation &violation : violations) {
    llvm::errs() << inputs[1] << ": ";
    if (violation.step >= 0)
      llvm::errs() << "step " << violation.step << ": ";
    llvm::errs() << violation.rule << ": " << violation.message << '\n';
  }
  return violations.empty() ? ExitSuccess : ExitNoPlan;
}

int packBuffers() {
  if (inputs.size() != 1)
    return fail("--pack takes one list of buffers: llmmem-plan --pack instance.csv");
  PackOptions options;
  if (!capacity.empty()) {
    llvm::Expected<int64_t> bytes = parseByteSize(capacity);
    if (!bytes)
      return fail("--capacity: " + llvm::toString(bytes.takeError()));
    options.capacity = *bytes;
  }
  llvm::Expected<BufferTable> table = load(inputs[0], parseBufferCsv);
  if (!table)
    return fail(llvm::toString(table.takeError()));
  options.work = packWork(seconds);
  Heartbeat heartbeat;
  heartbeat.say("offsets for " + std::to_string(table->buffers.size()) + " buffers");
  const Packing packing = pack(table->buffers, options);
  heartbeat.stop();
  llvm::errs() << "arena " << packing.arena << ", largest live sum " << packing.lowerBound << '\n';
  if (options.capacity && packing.arena > *options.capacity) {
    // Every packing needs the live sum. Only where that fits did the packing search fail.
    const bool proved = packing.lowerBound > *options.capacity;
    llvm::errs() << "no packing within " << *options.capacity << ": "
                 << (proved ? "more bytes are live at once, so none exists\n"
                            : "none was found in the time given, though the live bytes fit\n");
    return ExitNoPlan;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  printBufferCsv(*table, packing.offsets, os);
  return write(text, ExitSuccess);
}

llvm::Expected<PlanOptions> planOptions(Heartbeat &heartbeat) {
  PlanOptions options;
  Result<Policy> policy = parsePolicy(policyText.getValue());
  if (!policy)
    return llvm::createStringError("--policy: " + policy.error());
  options.policy = *policy;
  if (budget == "min")
    options.policy.kind = PolicyKind::LeastPeak;
  options.seconds = seconds;
  options.progress = [&](llvm::StringRef activity) { heartbeat.say(activity); };
  return options;
}

void summarize(const Problem &problem, const Plan &plan) {
  if (plan.witness)
    llvm::errs() << "no plan" << (plan.witness->proved ? " exists" : " was found") << ": "
                 << plan.witness->why << " (at least " << formatByteSize(plan.witness->bytes)
                 << " there)\n";
  if (plan.steps.empty())
    return;
  const double base = std::max<double>(static_cast<double>(plan.baseCost), 1);
  llvm::errs() << "needs " << formatByteSize(problem.residentBytes() + plan.arena) << " ("
               << formatByteSize(plan.arena) << " of them arena), peak "
               << formatByteSize(plan.peak) << ", recompute cost " << plan.cost - plan.baseCost
               << llvm::format(" (%.2f %%)", 100.0 * (plan.cost - plan.baseCost) / base)
               << ", proved least " << plan.costLowerBound - plan.baseCost << " (" << plan.bound
               << ")\n";
}

/// Writes the proof of `plan` where it is asked for, and says what its check says.
int writeProof(const Problem &problem, const Plan &plan, int code) {
  if (emitProof.empty())
    return code;
  const Proof proof = prove(problem, plan);
  std::string said;
  for (const ClaimCheck &it : checkProof(problem, plan, proof)) {
    if (it.verdict == Verdict::Refused) {
      llvm::errs() << "llmmem-plan: the proof found is wrong and is not written; please report "
                      "this: "
                   << it.claim << ": " << it.message << '\n';
      return ExitNoPlan;
    }
    said += (said.empty() ? "" : ", ") + it.claim + " " + std::string(wordOf(it.verdict));
  }
  llvm::errs() << "proof: " << said << '\n';
  if (llvm::Error error = writeTextFile(emitProof, toJson(problem, proof)))
    return fail(llvm::toString(std::move(error)));
  return code;
}

int sweepProblem(const Problem &problem, const PlanOptions &options) {
  const std::vector<SweepPoint> sweep = sweepBudgets(problem, options, sweepPoints);
  std::string text;
  llvm::raw_string_ostream os(text);
  (json ? printSweepJson : printSweepCsv)(sweep, os);
  return write(text, ExitSuccess);
}

int planProblem() {
  if (inputs.size() != 1)
    return fail("give one problem: llmmem-plan problem.json --budget=40GB -o plan.json");
  llvm::Expected<Problem> problem = loadProblem();
  if (!problem)
    return fail(llvm::toString(problem.takeError()));
  if (std::optional<std::string> why = checkPlannable(*problem))
    return fail(inputs[0] + ": " + *why);
  if (!emitProof.empty() && emitProof == output && output != "/dev/null")
    return fail("two outputs go to '" + output + "'; give each a file of its own");
  Heartbeat heartbeat;
  llvm::Expected<PlanOptions> options = planOptions(heartbeat);
  if (!options)
    return fail(llvm::toString(options.takeError()));
  if (sweepPoints.getNumOccurrences())
    return sweepPoints >= 1 ? sweepProblem(*problem, *options)
                            : fail("--sweep takes a number of points, at least 1");

  Plan planned = plan(*problem, *options);
  heartbeat.stop();
  int code = planned.status == Status::Feasible ? ExitSuccess : ExitNoPlan;
  // Never write a plan that the verifier refuses.
  const std::vector<Violation> violations = verify(*problem, planned);
  if (!violations.empty()) {
    llvm::errs() << "llmmem-plan: the plan found is wrong and is not written; please report this: "
                 << violations.front().rule << ": " << violations.front().message << '\n';
    return ExitNoPlan;
  }
  summarize(*problem, planned);
  if (explain && !planned.steps.empty())
    llvm::errs() << explanationText(*problem, explainPlan(*problem, planned));
  if (code = writeProof(*problem, planned, code); code == ExitBadInput)
    return code;
  return write(toJson(*problem, planned), code);
}

constexpr llvm::StringLiteral overview =
    "llmmem's planner: order, recomputation and offsets for a problem in JSON\n\n"
    "  llmmem-plan problem.json --budget=40GB -o plan.json   plan within 40 * 10^9 bytes\n"
    "  llmmem-plan problem.json --budget=min --explain       the least peak that can be found\n"
    "  llmmem-plan problem.json --sweep=20 -o frontier.csv   bytes against cost\n"
    "  llmmem-plan --check problem.json plan.json            verify a plan\n"
    "  llmmem-plan --check problem.json plan.json proof.json  and what it claims\n"
    "  llmmem-plan --pack instance.csv --capacity=1MiB       offsets alone\n\n"
    "  A file named - is stdin or stdout. Exit 0: planned, 2: no plan (or a wrong one), 1: bad "
    "input.\n";

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(argc, argv, overview);
  if (!(seconds >= 0) || !std::isfinite(seconds))
    return fail("--seconds must be a number from 0 up");
  if (checkMode && packMode)
    return fail("--check and --pack exclude each other");
  if (!emitProof.empty() && (checkMode || packMode || sweepPoints.getNumOccurrences()))
    return fail("--emit-proof is of one plan, and goes with none of --check, --pack and --sweep");
  if (checkMode)
    return check();
  if (packMode)
    return packBuffers();
  return planProblem();
}
