//===- llmmem-plan.cpp - The planner alone ------------------------------------===//

#include "Flag.h"
#include "Heartbeat.h"
#include "PlanFiles.h"
#include "Tools.h"
#include "llmmem/Planning/Bounds/Prove.h"
#include "llmmem/Planning/Formats/BufferCsv.h"
#include "llmmem/Planning/Formats/Explain.h"
#include "llmmem/Planning/Model/FoundStructure.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Offload/HostRequest.h"
#include "llmmem/Planning/Proofs/Check.h"
#include "llmmem/Planning/Sweep/BudgetOutlook.h"
#include "llmmem/Planning/Sweep/Sweep.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/ExitCode.h"
#include "llmmem/Support/LlvmResult.h"
#include "llmmem/Support/StartTool.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace llmmem;
using namespace llmmem::planning;

namespace {

/// Holds the flags that every program which plans has (Planning/PlannerOptions.td).
struct PlannerFlags {
  llvm::cl::OptionCategory category{"llmmem-plan"};
#include "PlannerFlags.h.inc"
};

/// Has a member for each flag, which is there once the tool runs: a program has several tools.
/// Many fields: the flags.
class PlanTool {
public:
  int run(int argc, char **argv) {
    llvm::InitLLVM init(argc, argv);
    startTool("llmmem-plan");
    llvm::cl::HideUnrelatedOptions(category);
    llvm::cl::ParseCommandLineOptions(argc, argv, overview);
    if (llvm::Error error = checkFlags())
      return fail(llvm::toString(std::move(error)));
    if (llvm::Error error = checkOutputs({checkMode ? llvm::StringRef() : llvm::StringRef(output),
                                          asked.emitProof, timelineFile, traceFile}))
      return fail(llvm::toString(std::move(error)));
    if (checkMode)
      return check();
    if (packMode)
      return packBuffers();
    return planProblem();
  }

private:
  PlannerFlags asked;
  llvm::cl::OptionCategory &category = asked.category;

  llvm::cl::list<std::string> inputs{llvm::cl::Positional, llvm::cl::desc("<file>..."),
                                     llvm::cl::cat(category)};
  Flag<bool> checkMode{category, "check", "",
                       "Check a plan, and what it claims where a proof is given: --check "
                       "problem.json plan.json [proof.json]"};
  Flag<std::string> timelineFile{
      category, "timeline", "file",
      "Write what the plan holds at each step, and where, as JSON; also with --check"};
  Flag<std::string> traceFile{
      category, "trace", "file",
      "Write the plan's steps and live bytes in the Trace Event Format, for "
      "Perfetto or chrome://tracing; also with --check"};
  Flag<std::string> profileFile{category, "profile", "file",
                                "With --timeline and --trace: times as measured, of a llmmem-run "
                                "--profile-json of the plan's step"};
  Flag<bool> packMode{category, "pack", "", "Pack a list of buffers: --pack instance.csv"};
  Flag<std::string> capacity{category, "capacity", "bytes",
                             "With --pack: the arena must not be larger"};
  Flag<int> sweepPoints{category, "sweep", "N", "Plan at N budgets and print the frontier"};
  Flag<bool> json{category, "json", "", "With --sweep: JSON instead of CSV"};
  Flag<bool> structure{
      category, "structure", "",
      "Print the blocks and stages that plans of the problem are made along, and plan nothing"};
  Flag<std::string> output{category, "o", "file", "Where to write (default: -, stdout)",
                           llvm::cl::init("-")};

  const std::string help = "\nPOLICIES\n" + policyHelp() + exitCodeHelp("llmmem-plan");
  llvm::cl::extrahelp extraHelp{help};

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
    auto buffer = readTextFile(file, FileKind::Program);
    if (!buffer)
      return buffer.takeError();
    auto parsed = parse((*buffer)->getBuffer());
    if (!parsed)
      return llvm::createStringError(file + ": " + llvm::toString(parsed.takeError()));
    return parsed;
  }

  /// Writes the timeline and the trace of `plan`, where they are asked for.
  int writeFiles(const Problem &problem, const Plan &plan, int code) {
    llvm::Error error = writePlanFiles(problem, plan, {timelineFile, traceFile, profileFile});
    return error ? fail(llvm::toString(std::move(error))) : code;
  }

  /// Lets values leave for the host in every form, where --host-budget asks for it.
  llvm::Error addHostCopies(VariantSet &variants) {
    const auto given = [](const auto &flag) {
      return flag.getNumOccurrences() ? std::optional(flag.getValue()) : std::nullopt;
    };
    Result<HostRequest> host =
        readHostRequest({given(asked.hostBudget), given(asked.link), given(asked.linkLatency)},
                        [](llvm::StringRef name) { return "--" + name.str(); });
    if (!host)
      return llvm::createStringError(host.error());
    if (!host->budget)
      return llvm::Error::success();
    if (!host->link)
      return llvm::createStringError(
          "--host-budget: nothing leads to the host; give the rate of its "
          "link with --link=25GB/s");
    host->link->latency = asked.linkLatency;
    for (ProblemVariant &it : variants.alternatives) {
      Result<Problem> copied = withHostCopies(it.problem, *host->budget, *host->link);
      if (!copied)
        return llvm::createStringError(inputs[0] + ": --host-budget: " + copied.error());
      it.problem = std::move(*copied);
    }
    return llvm::Error::success();
  }

  /// Refuses to describe a plan of several memories: what describes plans knows the device alone.
  llvm::Error checkDescribable(const VariantSet &variants) {
    const bool describes = sweepPoints.getNumOccurrences() || asked.explain.getNumOccurrences() ||
                           !timelineFile.empty() || !traceFile.empty();
    if (!describes || variants.alternatives[0].problem.moreMemories.empty())
      return llvm::Error::success();
    return llvm::createStringError("--sweep, --explain, --timeline and --trace are of plans in one "
                                   "memory; this one has a host as well, so leave them out");
  }

  /// Returns the step of the command line in all its forms, under the budgets of --budget and
  /// --host-budget.
  llvm::Expected<VariantSet> loadVariants() {
    llvm::Expected<VariantSet> variants =
        load(inputs[0], [](llvm::StringRef text) { return toExpected(parseVariantSet(text)); });
    if (!variants)
      return variants;
    if (llvm::Error error = addHostCopies(*variants))
      return std::move(error);
    if (llvm::Error error = checkDescribable(*variants))
      return std::move(error);
    if (!asked.budget.getNumOccurrences())
      return variants;
    variants->setBudget(std::nullopt);
    if (asked.budget != "min") {
      llvm::Expected<int64_t> bytes = parseByteSize(asked.budget);
      if (!bytes)
        return llvm::createStringError("--budget: " + llvm::toString(bytes.takeError()) +
                                       ", or min");
      variants->setBudget(*bytes);
    }
    return variants;
  }

  /// Returns the plan of the command line, and the step in the form that it is a plan of.
  llvm::Expected<std::pair<Problem, Plan>> loadPlan(const VariantSet &variants) {
    Problem problem = variants.alternatives[variants.stated.alternative].problem;
    auto parse = [&](llvm::StringRef text) { return toExpected(parsePlan(problem, text)); };
    llvm::Expected<Plan> plan = load(inputs[1], parse);
    if (!plan)
      return plan.takeError();
    if (!plan->variant)
      return std::pair(problem, *plan);
    std::optional<Problem> planned = variants.problemOf(*plan->variant);
    if (!planned)
      return llvm::createStringError(inputs[1] + ": it is a plan of a form that " + inputs[0] +
                                     " does not have; give the problem that it was made from");
    problem = std::move(*planned);
    plan = load(inputs[1], parse);
    if (!plan)
      return plan.takeError();
    return std::pair(problem, *plan);
  }

  /// Prints one line for each claim, refused ones on stderr.
  int printChecks(const std::vector<ClaimCheck> &checks) {
    bool isRefused = false;
    for (const ClaimCheck &it : checks) {
      const bool isWrong = it.verdict == Verdict::Refused;
      isRefused |= isWrong;
      (isWrong ? llvm::errs() : llvm::outs())
          << it.claim << ": " << wordOf(it.verdict) << ": " << it.message << '\n';
    }
    if (llvm::Error error = flushStdout())
      return fail(llvm::toString(std::move(error)));
    return isRefused ? ExitNoPlan : ExitSuccess;
  }

  int check() {
    if (inputs.size() != 2 && inputs.size() != 3)
      return fail("--check takes a problem and a plan: llmmem-plan --check problem.json plan.json, "
                  "and optionally proof.json after them");
    llvm::Expected<VariantSet> variants = loadVariants();
    if (!variants)
      return fail(llvm::toString(variants.takeError()));
    llvm::Expected<std::pair<Problem, Plan>> loaded = loadPlan(*variants);
    if (!loaded)
      return fail(llvm::toString(loaded.takeError()));
    const auto &[problem, plan] = *loaded;
    if (inputs.size() == 3) {
      llvm::Expected<Proof> proof = load(inputs[2], [&problem = problem](llvm::StringRef text) {
        return toExpected(parseProof(problem, text));
      });
      return proof ? printChecks(checkProof(problem, plan, *proof))
                   : fail(llvm::toString(proof.takeError()));
    }
    const std::vector<Violation> violations = verify(problem, plan);
    for (const Violation &violation : violations) {
      llvm::errs() << inputs[1] << ": ";
      if (violation.step >= 0)
        llvm::errs() << "step " << violation.step << ": ";
      llvm::errs() << violation.rule << ": " << violation.message << '\n';
    }
    return violations.empty() ? writeFiles(problem, plan, ExitSuccess) : ExitNoPlan;
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
    options.work = packWork(asked.seconds);
    Heartbeat heartbeat;
    heartbeat.say("offsets for " + std::to_string(table->buffers.size()) + " buffers");
    const Packing packing = pack(table->buffers, options);
    heartbeat.stop();
    llvm::errs() << "arena " << packing.arena << ", largest live sum " << packing.lowerBound
                 << '\n';
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
    Result<Policy> policy = parsePolicy(asked.policy.getValue());
    if (!policy)
      return llvm::createStringError("--policy: " + policy.error());
    options.policy = *policy;
    if (asked.budget == "min" && asked.policy.getNumOccurrences() &&
        policy->kind != PolicyKind::LeastPeak && policy->kind != PolicyKind::Budget)
      return llvm::createStringError("--budget=min asks for the least peak, and --policy=" +
                                     asked.policy + " for another plan; leave one of them out");
    if (asked.budget == "min")
      options.policy.kind = PolicyKind::LeastPeak;
    options.workSeconds = asked.seconds;
    options.progress = [&](llvm::StringRef activity) { heartbeat.say(activity); };
    return options;
  }

  /// Prints what a plan with copies needs of both memories, and when its step ends.
  void summarizeCopies(const Problem &problem, const Plan &plan) {
    int64_t up = 0, down = 0, numDown = 0, again = -plan.baseCost;
    for (OpIndex step : plan.steps) {
      const Op &op = problem.ops[step];
      const int64_t bytes = op.writes.empty() ? 0 : problem.values[op.writes[0]].bytes;
      up += op.resource == Resource::DeviceToHost ? bytes : 0;
      down += op.resource == Resource::HostToDevice ? bytes : 0;
      numDown += op.resource == Resource::HostToDevice;
      again += op.resource == Resource::Compute ? op.cost : 0;
    }
    const MemoryUse &host = plan.moreMemories[0];
    const PlanTime &time = *plan.time;
    const auto percent = [&](int64_t part) {
      return llvm::format("%.2f %%",
                          100.0 * part / std::max<double>(static_cast<double>(time.base), 1));
    };
    llvm::errs() << "needs " << formatByteSize(problem.residentBytes() + plan.arena) << " ("
                 << formatByteSize(plan.arena) << " of them arena), peak "
                 << formatByteSize(plan.peak) << "; of the host "
                 << formatByteSize(problem.residentBytes(1) + host.arena) << ", peak "
                 << formatByteSize(host.peak) << "\n"
                 << numDown << " copies back, " << formatByteSize(up) << " up and "
                 << formatByteSize(down) << " down\n"
                 << "step time " << time.time << ", slowdown " << percent(time.time - time.base)
                 << " against " << time.base << ": recomputed " << again << " (" << percent(again)
                 << "), waits for copies " << time.time - plan.baseCost - again << " ("
                 << percent(time.time - plan.baseCost - again) << ")\n"
                 << "proved least time " << time.lowerBound << " (" << plan.bound << "), gap "
                 << percent(time.time - time.lowerBound) << "\n";
  }

  /// Prints the summary. `withoutBudget` is the cost of the step without a budget, where it is
  /// known.
  void summarize(const Problem &problem, const Plan &plan, std::optional<int64_t> withoutBudget) {
    if (plan.witness)
      llvm::errs() << "no plan" << (plan.witness->proved ? " exists" : " was found") << ": "
                   << plan.witness->why << " (at least " << formatByteSize(plan.witness->bytes)
                   << " there)\n";
    if (plan.steps.empty())
      return;
    if (!problem.moreMemories.empty())
      return summarizeCopies(problem, plan);
    const double base =
        std::max<double>(static_cast<double>(withoutBudget.value_or(plan.baseCost)), 1);
    llvm::errs() << "needs " << formatByteSize(problem.residentBytes() + plan.arena) << " ("
                 << formatByteSize(plan.arena) << " of them arena), peak "
                 << formatByteSize(plan.peak) << ", recompute cost " << plan.cost - plan.baseCost
                 << llvm::format(" (%.2f %%)", 100.0 * (plan.cost - plan.baseCost) / base)
                 << ", proved least " << std::max<int64_t>(0, plan.costLowerBound - plan.baseCost)
                 << " (" << plan.bound << ")\n";
    if (withoutBudget)
      llvm::errs() << "step cost " << plan.cost
                   << llvm::format(", slowdown %.2f %%",
                                   100.0 * (plan.cost - *withoutBudget) / base)
                   << " against " << *withoutBudget << " without a budget\n";
  }

  /// Writes the proof of `plan` where it is asked for, and says what its check says.
  int writeProof(const Problem &problem, const Plan &plan, int code) {
    if (asked.emitProof.empty())
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
    if (llvm::Error error = writeTextFile(asked.emitProof, toJson(problem, proof)))
      return fail(llvm::toString(std::move(error)));
    return code;
  }

  int sweepProblem(const VariantSet &variants, const PlanOptions &options) {
    const std::vector<SweepPoint> sweep = sweepBudgets(variants, options, sweepPoints);
    std::string text;
    llvm::raw_string_ostream os(text);
    (json ? printSweepJson : printSweepCsv)(sweep, os);
    return write(text, ExitSuccess);
  }

  /// Prints what --explain asks for, and returns the exit code.
  int explainTo(llvm::raw_ostream &os, const VariantSet &variants, const Problem &problem,
                const Plan &planned, const PlanOptions &options) {
    if (!asked.explain.empty()) {
      Result<std::string> text = explainNamed(problem, planned, asked.explain.getValue());
      if (!text)
        return fail("--explain: " + text.error());
      os << *text;
      return ExitSuccess;
    }
    os << explanationText(problem, explainPlan(problem, planned)) << peakText(problem, planned)
       << outlookText(lookAround(variants, options, planned.cost),
                      costWithoutBudget(variants).value_or(planned.baseCost));
    return ExitSuccess;
  }

  int planProblem() {
    if (inputs.size() != 1)
      return fail("give one problem: llmmem-plan problem.json --budget=40GB -o plan.json");
    llvm::Expected<VariantSet> variants = loadVariants();
    if (!variants)
      return fail(llvm::toString(variants.takeError()));
    for (const ProblemVariant &it : variants->alternatives)
      if (std::optional<std::string> why = checkPlannable(it.problem))
        return fail(inputs[0] + ": " + *why);
    if (structure) {
      const VariantNumber stated = variants->stated;
      return write(
          structureText(findStructure(variants->alternatives[stated.alternative].problem)) + "\n",
          ExitSuccess);
    }
    Heartbeat heartbeat;
    llvm::Expected<PlanOptions> options = planOptions(heartbeat);
    if (!options)
      return fail(llvm::toString(options.takeError()));
    if (sweepPoints.getNumOccurrences())
      return sweepPoints >= 1 ? sweepProblem(*variants, *options)
                              : fail("--sweep takes a number of points, at least 1");

    ProblemVariantPlan best = planVariants(*variants, *options);
    heartbeat.stop();
    Plan &planned = best.chosen.plan;
    const VariantNumber variant = {static_cast<int32_t>(best.alternative),
                                   static_cast<int32_t>(best.chosen.tiling)};
    const Problem problem = *variants->problemOf(variant);
    if (variants->hasSeveral())
      planned.variant = variant;
    int code = planned.status == Status::Feasible ? ExitSuccess : ExitNoPlan;
    // Never write a plan that the verifier refuses.
    const std::vector<Violation> violations = verify(problem, planned);
    if (!violations.empty()) {
      llvm::errs()
          << "llmmem-plan: the plan found is wrong and is not written; please report this: "
          << violations.front().rule << ": " << violations.front().message << '\n';
      return ExitNoPlan;
    }
    summarize(problem, planned, costWithoutBudget(*variants));
    if (asked.explain.getNumOccurrences() && !planned.steps.empty())
      if (int wrong = explainTo(llvm::errs(), *variants, problem, planned, *options))
        return wrong;
    if (code = writeProof(problem, planned, code); code == ExitBadInput)
      return code;
    if (code = writeFiles(problem, planned, code); code == ExitBadInput)
      return code;
    return write(toJson(problem, planned), code);
  }

  static constexpr llvm::StringLiteral overview =
      "llmmem's planner: order, recomputation and offsets for a problem in JSON\n\n"
      "  llmmem-plan problem.json --budget=40GB -o plan.json   plan within 40 * 10^9 bytes\n"
      "  llmmem-plan problem.json --budget=min --explain       the least peak that can be found\n"
      "  llmmem-plan problem.json --sweep=20 -o frontier.csv   bytes against cost\n"
      "  llmmem-plan problem.json --budget=40GB --host-budget=64GB --link=25GB/s   with offload\n"
      "  llmmem-plan --check problem.json plan.json            verify a plan\n"
      "  llmmem-plan --check problem.json plan.json --trace=trace.json   and open it in Perfetto\n"
      "  llmmem-plan --check problem.json plan.json proof.json  and what it claims\n"
      "  llmmem-plan --pack instance.csv --capacity=1MiB       offsets alone\n\n"
      "  A file named - is stdin or stdout. Exit 0: planned, 2: no plan (or a wrong one), 1: bad "
      "input.\n";

  /// Refuses flags that exclude each other, or that say nothing of what is asked.
  llvm::Error checkFlags() {
    return refuse(
        {{!(asked.seconds >= 0) || !std::isfinite(asked.seconds),
          "--seconds must be a number from 0 up"},
         {checkMode && packMode, "--check and --pack exclude each other"},
         {!asked.emitProof.empty() && (checkMode || packMode || sweepPoints.getNumOccurrences()),
          "--emit-proof is of one plan, and goes with none of --check, --pack and --sweep"},
         {(!timelineFile.empty() || !traceFile.empty()) &&
              (packMode || sweepPoints.getNumOccurrences() || inputs.size() == 3),
          "--timeline and --trace are of one plan: with --check problem.json plan.json, or where "
          "one "
          "is made"},
         {!profileFile.empty() && timelineFile.empty() && traceFile.empty(),
          "--profile: its times go into --timeline or --trace; give one of them"},
         {asked.hostBudget.getNumOccurrences() && (!asked.emitProof.empty() || inputs.size() == 3),
          "--emit-proof and the check of a proof are of plans in one memory, and do not go with "
          "--host-budget"},
         {asked.hostBudget.getNumOccurrences() && packMode,
          "--host-budget is of plans, and does not go with --pack"},
         {json && !sweepPoints.getNumOccurrences(),
          "--json is of --sweep; a plan is JSON as it is"},
         {!capacity.empty() && !packMode, "--capacity is of --pack; plans have --budget"},
         {asked.budget.getNumOccurrences() && packMode,
          "--budget is of plans; --pack has --capacity"},
         {llvm::count(inputs, "-") > 1, "stdin is one file; give the others by name"}});
  }
};
} // namespace

int llmmem::planMain(int argc, char **argv) { return PlanTool().run(argc, argv); }
