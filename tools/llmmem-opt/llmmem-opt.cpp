//===- llmmem-opt.cpp - Plan the memory of a step, or run any pass ---------===//
//
// Exit codes: 0 the program printed fits and was verified; 1 bad input; 2 no plan under this
// budget.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Conversion/KernelOpInterface.h"
#include "llmmem/Conversion/Passes.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Pipelines/CheckpointPipeline.h"
#include "llmmem/Planning/ByteSize.h"
#include "llmmem/Planning/TextFile.h"
#include "llmmem/Transforms/Passes.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace llmmem;

static cl::OptionCategory category("Options of the memory plan");

static cl::opt<std::string>
    checkpointBudget("checkpoint-budget", cl::cat(category), cl::value_desc("bytes"),
                     cl::desc("Plan recomputation so that resident bytes and arena stay under "
                              "this: 40GB, 37.25GiB, 123456; "
                              "min: the least that can be found"));
static cl::opt<std::string>
    checkpointPolicy("checkpoint-policy", cl::cat(category), cl::value_desc("policy"),
                     cl::desc("none, every=K, sqrt, full, selective, least-peak or budget (the "
                              "default where a budget is given)"));
static cl::opt<std::string>
    deviceName("checkpoint-device", cl::cat(category), cl::init("h100"),
               cl::value_desc("name or file"),
               cl::desc("Device table that prices ops: h100, h200, a100, cpu, or a .json file"));
static cl::opt<bool> printDevice("print-device-table", cl::cat(category),
                                 cl::desc("Print the table of --checkpoint-device as JSON"));
static cl::opt<double> planSeconds("checkpoint-seconds", cl::cat(category), cl::init(10),
                                   cl::desc("Bound on the planner's search"));
enum class Kernels { Grouped, Apart };
static cl::opt<Kernels>
    kernels("checkpoint-kernels", cl::cat(category), cl::init(Kernels::Grouped),
            cl::values(clEnumValN(Kernels::Grouped, "grouped",
                                  "ops by elements and by rows share kernels (default)"),
                       clEnumValN(Kernels::Apart, "apart", "each op is a kernel of its own")),
            cl::desc("What lives only inside a kernel has no bytes"));
static cl::opt<std::string>
    lossChunk("loss-chunk", cl::cat(category), cl::init("auto"), cl::value_desc("tokens"),
              cl::desc("Tokens whose logits are held at a time: a number, auto (the plan chooses), "
                       "whole, or apart (the loss and its gradients stay several ops)"));
static cl::opt<std::string>
    epilogues("epilogues", cl::cat(category), cl::init("auto"), cl::value_desc("choice"),
              cl::desc("Which products take what follows them: auto (what the cheapest plan has), "
                       "separate, unshared (products that nothing else reads), fused, or "
                       "generated (also what only generated products can take)"));
static cl::opt<bool> memoryReport("memory-report", cl::cat(category),
                                  cl::desc("Print resident, saved and peak bytes on stderr"));
static cl::opt<std::string>
    memoryReportJson("memory-report-json", cl::cat(category), cl::value_desc("file"),
                     cl::desc("Write the report as JSON (- is stdout, then give -o)"));
static cl::opt<std::string>
    emitProblem("emit-problem", cl::cat(category), cl::value_desc("file"),
                cl::desc("Write what the planner sees as a llmmem-problem"));
static cl::opt<std::string> emitPlan("emit-plan", cl::cat(category), cl::value_desc("file"),
                                     cl::desc("Write what the planner decides as a llmmem-plan"));
enum class Target { None, Cuda };
static cl::opt<Target>
    target("target", cl::cat(category), cl::init(Target::None),
           cl::values(clEnumValN(Target::Cuda, "cuda",
                                 "kernels as PTX, and the host code that launches them")),
           cl::desc("Lower the planned @step, after planning it where a plan is asked for"));
static cl::opt<std::string> chip("chip", cl::cat(category), cl::init("sm_90a"),
                                 cl::value_desc("architecture"),
                                 cl::desc("What --target=cuda compiles for (default sm_90a)"));
static cl::opt<ProductSource> products(
    "products", cl::cat(category), cl::init(ProductSource::Generated),
    cl::values(
        clEnumValN(ProductSource::Generated, "generated", "kernels of llmmem (default)"),
        clEnumValN(ProductSource::Library, "library",
                   "cuBLASLt; the plan holds the workspace that the device table gives it, and "
                   "chooses among its epilogues")),
    cl::desc("What multiplies matrices on the GPU that is planned or lowered for"));
static cl::extrahelp examples(R"(
EXAMPLES
  llmmem-import examples/configs/gpt2.json --batch 8 --seq 1024 -o model.mlir
  llmmem-opt --checkpoint-budget=6GB model.mlir -o step.mlir    plan under six billion bytes
  llmmem-opt --checkpoint-policy=sqrt --memory-report model.mlir -o step.mlir
  llmmem-opt --target=cuda --chip=sm_80 step.mlir               a planned step as PTX and host code
  llmmem-opt --differentiate model.mlir                         one stage alone, as in mlir-opt

STAGES, passes that --checkpoint-budget runs in this order
  differentiate, group-loss-head, group-kernels, annotate-memory, plan-checkpoints,
  apply-checkpoints, plan-arena, verify-plan
  --help-hidden lists every pass and flag, those of MLIR and LLVM too.

EXIT CODES
  0  the printed program fits its budget, and verify-plan proved it
  1  bad input: the message says what was expected
  2  no plan under this budget: the message says the least peak found and the proved lower bound
)");

static int fail(const Twine &message) {
  errs() << "llmmem-opt: " << message << "\n";
  return 1;
}

static int fail(Error error) { return fail(toString(std::move(error))); }

static int printDeviceTable() {
  Expected<DeviceModel> device = loadDeviceModel(deviceName);
  if (!device)
    return fail("--checkpoint-device: " + toString(device.takeError()));
  outs() << formatv("{0:2}\n", device->toJson());
  return 0;
}

/// Whether any flag asks for a memory plan; without one this is mlir-opt with our passes.
static bool wantsPlan() {
  return checkpointBudget.getNumOccurrences() || checkpointPolicy.getNumOccurrences() ||
         memoryReport || !memoryReportJson.empty() || !emitProblem.empty() || !emitPlan.empty();
}

static Expected<CheckpointPipelineOptions> readOptions(StringRef outputFile) {
  CheckpointPipelineOptions options;
  bool hasBudget = checkpointBudget.getNumOccurrences() != 0;
  options.policy = hasBudget ? "budget" : "none";
  if (checkpointPolicy.getNumOccurrences())
    options.policy = checkpointPolicy;
  options.device = deviceName;
  options.seconds = planSeconds;
  options.groupKernels = kernels == Kernels::Grouped;
  options.libraryWorkspace = products == ProductSource::Library;
  options.emitProblem = emitProblem;
  options.emitPlan = emitPlan;
  options.printReport = memoryReport;
  options.reportJson = memoryReportJson;
  if (hasBudget && checkpointBudget == "min") {
    if (!checkpointPolicy.empty())
      return createStringError(
          "--checkpoint-budget=min chooses for itself; leave --checkpoint-policy out");
    options.policy = "least-peak";
  } else if (hasBudget) {
    Expected<int64_t> bytes = planning::parseByteSize(checkpointBudget);
    if (!bytes)
      return createStringError("--checkpoint-budget: " + toString(bytes.takeError()));
    options.budget = std::to_string(*bytes);
  }
  if (Expected<planning::Policy> policy = planning::parsePolicy(options.policy); !policy)
    return createStringError("--checkpoint-policy: " + toString(policy.takeError()));
  if (options.policy == "budget" && !hasBudget)
    return createStringError(
        "--checkpoint-policy=budget needs --checkpoint-budget, as in --checkpoint-budget=40GB");
  options.groupLossHead = lossChunk != "apart";
  options.lossChunk = options.groupLossHead ? lossChunk.getValue() : "auto";
  if (Expected<ChunkRequest> chunk = parseChunkRequest(options.lossChunk); !chunk)
    return createStringError("--loss-chunk: " + toString(chunk.takeError()) +
                             "; or apart, to leave the loss and its gradients several ops");
  options.epilogues = epilogues;
  if (Expected<std::optional<Epilogues>> choice = parseEpilogues(epilogues); !choice)
    return createStringError("--epilogues: " + toString(choice.takeError()));
  if (!(planSeconds >= 0))
    return createStringError("--checkpoint-seconds: expected a number of seconds, 0 or more");
  if (Expected<DeviceModel> device = loadDeviceModel(options.device); !device)
    return createStringError("--checkpoint-device: " + toString(device.takeError()));
  for (StringRef file : {options.reportJson, options.emitProblem, options.emitPlan})
    if (file == "-" && outputFile == "-")
      return createStringError("a report on stdout needs the program elsewhere: give -o step.mlir");
  SmallVector<StringRef> files{outputFile, options.reportJson, options.emitProblem,
                               options.emitPlan};
  for (auto [index, file] : enumerate(files))
    if (!file.empty() && file != "/dev/null" &&
        is_contained(ArrayRef(files).take_front(index), file))
      return createStringError("two outputs go to '" + file + "'; give each a file of its own");
  return options;
}

/// A diagnostic points at its source line; the op printed again below it, a whole layer's types
/// wide, hides the message. Whoever wants it back gives the flag of mlir-opt.
static SmallVector<char *> withoutOpsOnDiagnostics(int argc, char **argv) {
  static char flag[] = "--mlir-print-op-on-diagnostic=false";
  SmallVector<char *> arguments(argv, argv + argc);
  bool given = any_of(arguments,
                      [](StringRef text) { return text.contains("mlir-print-op-on-diagnostic"); });
  if (!given)
    arguments.push_back(flag);
  return arguments;
}

/// What a program learns of a budget that no plan keeps.
static Error writeFailureReport(const CheckpointPipelineOptions &options,
                                const CheckpointOutcome &outcome) {
  bool proved = outcome.status == planning::Status::Infeasible;
  int64_t budget = 0;
  StringRef(options.budget).getAsInteger(10, budget);
  json::Object report{{"format", "llmmem-memory-report"},
                      {"version", 1},
                      {"status", proved ? "infeasible" : "unknown"},
                      {"policy", options.policy},
                      {"budget", budget},
                      {"least_peak_found", outcome.leastPeak},
                      {"least_budget_found", outcome.leastBudget},
                      {"certificate", json::Object{{"peak_lower_bound", outcome.peakLowerBound}}},
                      {"planning_seconds", outcome.seconds}};
  return planning::writeTextFile(options.reportJson,
                                 formatv("{0:2}\n", json::Value(std::move(report))).str());
}

/// MLIR and LLVM register more than a thousand lines of passes and flags. Ours would drown among
/// them, so `--help-hidden` alone lists those.
static void hideFlagsOfOthers() {
  SmallVector<cl::Option *> shown;
  for (cl::Option *option : make_second_range(cl::getRegisteredOptions()))
    if (option->getOptionHiddenFlag() == cl::NotHidden)
      shown.push_back(option);
  cl::HideUnrelatedOptions(category);
  for (cl::Option *option : shown)
    if (option->getOptionHiddenFlag() == cl::ReallyHidden)
      option->setHiddenFlag(cl::Hidden);
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  registry.insert<llm::LlmDialect>();
  registerKernelModels(registry);
  mlir::registerAllPasses();
  registerLlmmemTransformsPasses();
  registerLlmmemConversionPasses();
  registerKernelsToLLVMPipeline();
  registerGpuKernelsToNVVMPipeline();

  SmallVector<char *> arguments = withoutOpsOnDiagnostics(argc, argv);
  mlir::registerCLIOptions("llmmem-opt", registry);
  hideFlagsOfOthers();
  auto [inputFile, outputFile] = mlir::parseCLIOptions(
      arguments.size(), arguments.data(), "llmmem: the memory of transformers, planned\n");
  if (printDevice)
    return printDeviceTable();
  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  auto outcome = std::make_shared<CheckpointOutcome>();
  CheckpointPipelineOptions pipeline;
  if (wantsPlan()) {
    Expected<CheckpointPipelineOptions> options = readOptions(outputFile);
    if (!options)
      return fail(options.takeError());
    pipeline = *options;
  }
  ConvertStepToKernelsOptions conversion;
  conversion.products = products;
  if (wantsPlan() || target == Target::Cuda)
    config.setPassPipelineSetupFn([&pipeline, conversion, outcome](mlir::PassManager &passes) {
      if (wantsPlan())
        buildCheckpointPipeline(passes, pipeline, outcome);
      if (target == Target::Cuda)
        buildStepToCudaPipeline(passes, conversion, chip);
      return mlir::success();
    });

  Expected<std::unique_ptr<MemoryBuffer>> input = planning::readTextFile(inputFile);
  if (!input)
    return fail(input.takeError());
  // The output exists as a whole or not at all.
  std::string text;
  raw_string_ostream os(text);
  if (failed(mlir::MlirOptMain(os, std::move(*input), registry, config))) {
    if (!outcome->noPlan)
      return 1;
    if (!pipeline.reportJson.empty())
      if (Error error = writeFailureReport(pipeline, *outcome))
        return fail(std::move(error));
    return 2;
  }
  if (Error error = planning::writeTextFile(outputFile, text))
    return fail(std::move(error));
  return 0;
}
