//===- llmmem-opt.cpp - Plan the memory of a step, or run any pass ---------===//

#include "Flags.h"
#include "llmmem/InitAll.h"
#include "llmmem/Reports/MemoryReport.h"
#include "llmmem/Support/ExitCode.h"
#include "llmmem/Support/JsonTree.h"
#include "llmmem/Support/ProgramText.h"
#include "llmmem/Support/StartTool.h"
#include "llmmem/Support/TextFile.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"

using namespace llvm;
using namespace llmmem;

static const std::string help = R"(
EXAMPLES
  llmmem-import examples/configs/gpt2.json --batch 8 --seq 1024 -o model.mlir
  llmmem-opt --checkpoint-budget=6GB model.mlir -o step.mlir    plan under six billion bytes
  llmmem-opt --checkpoint-policy=sqrt --memory-report model.mlir -o step.mlir
  llmmem-opt --checkpoint-budget=3GB --host-budget=8GB --link=25GB/s model.mlir -o step.mlir   values may leave
  llmmem-opt --checkpoint-budget=24GB --optimizer-on=host --update-on=host model.mlir -o step.mlir   as ZeRO-Offload
  llmmem-opt --checkpoint-budget=24GB --optimizer-on=host --parameters-on=host model.mlir -o step.mlir   as ZeRO-Infinity
  llmmem-opt --mesh=dp=4 --zero=3 --checkpoint-budget=2GB model.mlir -o step.mlir   of one of 4 ranks
  llmmem-opt --mesh=pp=2 --micro-batches=4 --checkpoint-budget=2GB model.mlir -o step.mlir   of both stages
  llmmem-opt --mesh=dp=2,tp=4 --sequence-parallel --checkpoint-budget=2GB model.mlir -o step.mlir
  llmmem-opt --mesh=auto --topology=cluster.json model.mlir -o step.mlir   the fastest mesh for a cluster
  llmmem-opt --target=cuda --chip=sm_80 step.mlir               a planned step as PTX and host code
  llmmem-opt --differentiate model.mlir                         one stage alone, as in mlir-opt

POLICIES of --checkpoint-policy
)" + planning::policyHelp() + R"(
STAGES, passes that --checkpoint-budget runs in this order
  parallelize (with --mesh), split-micro-batches (with --micro-batches), differentiate (with pp build-stages), move-state-to-host (with --optimizer-on=host), group-loss-head, group-kernels, annotate-memory,
  plan-checkpoints, apply-checkpoints, start-collectives (with --overlap), start-host-copies (with --host-budget), verify-plan
  --help-hidden lists every pass and flag, those of MLIR and LLVM too.
)" + exitCodeHelp("llmmem-opt");

static int fail(const Twine &message) {
  errs() << "llmmem-opt: " << message << "\n";
  return ExitBadInput;
}

static int fail(Error error) { return fail(toString(std::move(error))); }

static int printDeviceTable(StringRef name) {
  Expected<DeviceModel> device = loadDeviceModel(name);
  if (!device)
    return fail("--checkpoint-device: " + toString(device.takeError()));
  if (Error error = writeTextFile("-", formatv("{0:2}\n", device->toJson()).str()))
    return fail(std::move(error));
  return ExitSuccess;
}

/// A diagnostic points at its source line; the op printed again below it, a whole layer's types
/// wide, hides the message. Whoever wants it back gives the flag of mlir-opt.
static SmallVector<char *> withoutOpsOnDiagnostics(int argc, char **argv) {
  static char flag[] = "--mlir-print-op-on-diagnostic=false";
  SmallVector<char *> arguments(argv, argv + argc);
  if (none_of(arguments,
              [](StringRef text) { return text.contains("mlir-print-op-on-diagnostic"); }))
    arguments.push_back(flag);
  return arguments;
}

/// Returns the first op in a text that is written as its own dialect's library prints it, of
/// dialects that llmmem reads without one; empty where there is none.
static StringRef findPrettyOp(StringRef text) {
  for (StringRef dialect : {"stablehlo.", "mhlo.", "chlo."})
    for (StringRef before : {"= ", "    ", "  "}) {
      size_t at = text.find((before + dialect).str());
      if (at != StringRef::npos)
        return text.substr(at + before.size()).take_until([](char c) { return isSpace(c); });
    }
  return {};
}

/// Returns what a JSON file that was given instead of a program is for; empty for a program.
static std::string findOtherInput(StringRef file, StringRef text) {
  if (!text.ltrim().starts_with("{") || text.ltrim().starts_with("{-#"))
    return "";
  Expected<json::Value> value = parseJsonTree(text);
  if (!value) {
    consumeError(value.takeError());
    return "";
  }
  const json::Object *object = value->getAsObject();
  if (object && object->get("model_type"))
    return ("'" + file + "' is a model's config; make a program of it first: llmmem-import " +
            file + " --batch 8 --seq 1024 -o model.mlir")
        .str();
  if (object && object->getString("format") == "llmmem-problem")
    return ("'" + file + "' is a llmmem-problem, which llmmem-plan plans: llmmem-plan " + file)
        .str();
  return ("'" + file + "' is JSON; expected a program in MLIR, as llmmem-import writes").str();
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  startTool("llmmem-opt");
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllPasses();
  llmmem::registerAllDialects(registry);
  llmmem::registerAllPasses();

  Flags flags;
  cl::extrahelp extra(help);
  SmallVector<char *> arguments = withoutOpsOnDiagnostics(argc, argv);
  mlir::registerCLIOptions("llmmem-opt", registry);
  flags.hideFlagsOfOthers();
  auto [inputFile, outputFile] = mlir::parseCLIOptions(
      arguments.size(), arguments.data(), "llmmem: the memory of transformers, planned\n");
  if (Error error = flags.read(outputFile))
    return fail(std::move(error));
  if (flags.wantsDeviceTable())
    return printDeviceTable(flags.options().device);

  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  auto outcome = std::make_shared<CheckpointOutcome>();
  if (flags.wantsPlan() || flags.wantsCuda())
    config.setPassPipelineSetupFn([&](mlir::PassManager &passes) {
      if (flags.wantsPlan())
        buildCheckpointPipeline(passes, flags.options(), outcome);
      if (flags.wantsCuda())
        buildStepToCudaPipeline(passes, flags.conversion(), flags.chip());
      return mlir::success();
    });

  Expected<std::unique_ptr<MemoryBuffer>> input = readProgram(inputFile);
  if (!input)
    return fail(input.takeError());
  if (std::string other = findOtherInput(inputFile, (*input)->getBuffer()); !other.empty())
    return fail(other);
  std::string prettyOp = findPrettyOp((*input)->getBuffer()).str();
  // The output is written completely or not at all.
  std::string text;
  raw_string_ostream os(text);
  if (failed(mlir::MlirOptMain(os, std::move(*input), registry, config))) {
    if (!prettyOp.empty())
      errs() << "llmmem-opt: '" << prettyOp
             << "' is written as its own dialect's library prints it, which is not here; print the "
                "generic form: stablehlo-opt --mlir-print-op-generic, or in JAX "
                "lowered.compiler_ir('stablehlo').operation.get_asm(print_generic_op_form=True)\n";
    return outcome->noPlan ? ExitNoPlan : ExitBadInput;
  }
  if (floodsTerminal(outputFile, text)) {
    errs() << "llmmem-opt: " << keptFromTerminal(text) << "-o step.mlir\n";
    return ExitSuccess;
  }
  if (Error error = writeTextFile(outputFile, text))
    return fail(std::move(error));
  return ExitSuccess;
}
