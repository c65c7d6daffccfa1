//===- PlanModel.cpp - From a config.json to a plan in one command ----------===//

#include "PlanModel.h"
#include "Flag.h"
#include "Tools.h"
#include "llmmem/Fit/Fit.h"
#include "llmmem/Import/Import.h"
#include "llmmem/InitAll.h"
#include "llmmem/Support/ExitCode.h"
#include "llmmem/Support/StartTool.h"
#include "llmmem/Support/TextFile.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

namespace cl = llvm::cl;
using namespace llmmem;
using importer::ElementKind;

namespace {

/// Has a member for each flag, which is there once the tool runs: a program has several tools.
/// Many fields: the flags.
class PlanModelTool {
public:
  int run(int argc, char **argv) {
    llvm::InitLLVM init(argc, argv);
    startTool("llmmem-plan");
    cl::HideUnrelatedOptions(category);
    cl::ParseCommandLineOptions(argc, argv,
                                "The plan of a model's training step, from its config.json\n");
    llvm::Error error = checkFlags();
    if (!error)
      error = checkOutputs({output, reportJson});
    return error ? fail(std::move(error)) : planModel();
  }

private:
  cl::OptionCategory category{"llmmem plan config.json"};
  cl::opt<std::string> input{cl::Positional, cl::Required, cl::cat(category),
                             cl::desc("<config.json>")};
  Flag<std::string> budget{category, "budget", "bytes",
                           "Bytes that the step must stay under: 40GB, 37.25GiB; min for the least "
                           "(default: none, so that everything is kept)"};
  Flag<int64_t> batch{category, "batch", "B", "Sequences in a step (default 1)", cl::init(1)};
  Flag<int64_t> seq{category, "seq", "S",
                    "Tokens in a sequence (default 4096, or the most that the model has)",
                    cl::init(4096)};
  Choice<ElementKind> dtype{
      "dtype", cl::cat(category),
      cl::desc("Type of parameters and activations (default: the config's own):"),
      cl::values(clEnumValN(ElementKind::BF16, "bf16", "bfloat16"),
                 clEnumValN(ElementKind::F16, "f16", "float16"),
                 clEnumValN(ElementKind::F32, "f32", "float32"))};
  Flag<std::string> device{category, "device", "name",
                           "Table of the device whose times decide (default h100)"};
  Flag<std::string> output{category, "o", "step.mlir",
                           "Write the planned step as well, for llmmem run"};
  Flag<std::string> reportJson{category, "report-json", "file", "Write the report as JSON as well"};
  const std::string help = R"(
EXAMPLES
  llmmem plan examples/configs/gpt2.json --budget 4GB --batch 8 --seq 1024 --dtype bf16
  llmmem plan examples/configs/llama-3-8b.json --budget 140GB --seq 8192 -o step.mlir

What else can be asked of a model and of a plan are options of 'llmmem import' and 'llmmem opt', which this command joins; the last
lines of the report are these commands. 'llmmem-plan --help' says how problems in JSON are planned.
)" + exitCodeHelp("llmmem-plan");
  cl::extrahelp extraHelp{help};

  int fail(llvm::Error error) {
    llvm::WithColor::error(llvm::errs(), "llmmem-plan") << llvm::toString(std::move(error)) << '\n';
    return ExitBadInput;
  }

  llvm::Error checkFlags() {
    if (llvm::Error error =
            refuse({{batch < 1 || seq < 1, "--batch and --seq are numbers from 1 up"}}))
      return error;
    readPipelineOptions();
    return checkOptions(pipeline, [](llvm::StringRef option) { return "--" + option.str(); });
  }

  void readPipelineOptions() {
    if (budget.getNumOccurrences())
      pipeline.budget = budget;
    if (device.getNumOccurrences())
      pipeline.device = device;
    pipeline.memoryReport = true;
    pipeline.memoryReportJson = reportJson;
  }

  /// Prints what is said of the graph as said of the file that the graph comes from.
  void say(mlir::Diagnostic &diagnostic) {
    const bool isError = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
    auto &os = isError ? llvm::WithColor::error(llvm::errs(), "llmmem-plan")
                       : llvm::WithColor::note(llvm::errs(), "llmmem-plan");
    os << input << ": " << diagnostic.str() << '\n';
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      say(note);
  }

  importer::ImportOptions readImportOptions() {
    importer::ImportOptions options;
    options.batch = batch;
    options.seq = seq;
    if (dtype.getNumOccurrences())
      options.dtype = dtype;
    return options;
  }

  int planModel() {
    auto text = readTextFile(input);
    if (!text)
      return fail(text.takeError());
    importer::ImportOptions options = readImportOptions();
    auto model = importer::readModel((*text)->getBuffer(), input, options);
    if (!model)
      return fail(model.takeError());
    if (!seq.getNumOccurrences() && (*model)->facts.maxSeq < options.seq)
      options.seq = (*model)->facts.maxSeq;
    for (const std::string &note : (*model)->facts.notes)
      llvm::WithColor::note(llvm::errs(), "llmmem-plan") << note << '\n';
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    mlir::MLIRContext context(registry);
    auto module = importer::buildModule(context, **model, options);
    return module ? planModule(**module, options) : fail(module.takeError());
  }

  int planModule(mlir::ModuleOp module, const importer::ImportOptions &options) {
    mlir::ScopedDiagnosticHandler handler(module.getContext(),
                                          [&](mlir::Diagnostic &diagnostic) { say(diagnostic); });
    auto outcome = std::make_shared<CheckpointOutcome>();
    outcome->reportStream = &llvm::outs();
    mlir::PassManager passes(module.getContext());
    buildCheckpointPipeline(passes, pipeline, outcome);
    if (failed(passes.run(module)))
      return outcome->noPlan ? ExitNoPlan : ExitBadInput;
    printCommands(options);
    return output.empty() ? ExitSuccess : writeStep(module);
  }

  int writeStep(mlir::ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream os(text);
    module.print(os);
    os << '\n';
    llvm::Error error = writeTextFile(output, text);
    return error ? fail(std::move(error)) : ExitSuccess;
  }

  /// Prints the commands that make this plan one stage after the other.
  void printCommands(const importer::ImportOptions &options) {
    std::string import =
        llvm::formatv("llmmem import {0} --batch {1} --seq {2}", input, options.batch, options.seq);
    if (dtype.getNumOccurrences())
      import += " --dtype " + dtypeName(dtype).str();
    std::string opt = "llmmem opt";
    if (budget.getNumOccurrences())
      opt += " --checkpoint-budget=" + budget;
    if (device.getNumOccurrences())
      opt += " --checkpoint-device=" + device;
    llvm::outs() << "\nthe same, one stage after the other\n  " << import << " -o model.mlir\n  "
                 << opt << " --memory-report model.mlir -o step.mlir\n";
  }

  CheckpointPipelineOptions pipeline;
};

} // namespace

/// Returns whether `path` is a model's config.json, which names the model's type; a problem does
/// not.
static bool isModelConfig(llvm::StringRef path) {
  auto text = readTextFile(path);
  if (text)
    return (*text)->getBuffer().contains("\"model_type\"");
  llvm::consumeError(text.takeError()); // Whoever reads the file says why it cannot be read.
  return false;
}

/// Says whether the flag is of a config alone, whose file may be missing.
static bool isOfConfig(llvm::StringRef flag) {
  return flag.consume_front("--") &&
         llvm::is_contained({"batch", "seq", "dtype"}, flag.split('=').first);
}

int llmmem::planAnyMain(int argc, char **argv) {
  const auto arguments = llvm::drop_begin(llvm::ArrayRef(argv, argc));
  const bool isOfModel = llvm::any_of(arguments, [](llvm::StringRef argument) {
    return argument == "--help" || isOfConfig(argument) ||
           (!argument.starts_with("-") && isModelConfig(argument));
  });
  return isOfModel ? PlanModelTool().run(argc, argv) : planMain(argc, argv);
}
