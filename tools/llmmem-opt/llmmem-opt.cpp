//===- llmmem-opt.cpp - Plan the memory of a step, or run any pass ---------===//

#include "Flags.h"
#include "Help.h"
#include "OtherInput.h"
#include "Tools.h"
#include "llmmem/InitAll.h"
#include "llmmem/Support/ExitCode.h"
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
/// wide, hides the message. The flag of mlir-opt restores it.
static SmallVector<char *> withoutOpsOnDiagnostics(int argc, char **argv) {
  static char flag[] = "--mlir-print-op-on-diagnostic=false";
  SmallVector<char *> arguments(argv, argv + argc);
  if (none_of(arguments,
              [](StringRef text) { return text.contains("mlir-print-op-on-diagnostic"); }))
    arguments.push_back(flag);
  return arguments;
}

static std::string prettyOpIn(StringRef text, const mlir::DialectRegistry &registry) {
  SmallVector<StringRef> dialects(registry.getDialectNames().begin(),
                                  registry.getDialectNames().end());
  return findPrettyOp(text, [&](StringRef name) { return is_contained(dialects, name); }).str();
}

int llmmem::optMain(int argc, char **argv) {
  InitLLVM init(argc, argv);
  startTool("llmmem-opt");
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllPasses();
  llmmem::registerAllDialects(registry);
  llmmem::registerAllPasses();

  Flags flags;
  const std::string help = helpAfterFlags();
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
  // Calls are inlined by the first pass, after which the verifier runs.
  if (flags.wantsPlan() && mayCallInRegions((*input)->getBuffer()))
    config.verifyOnParsing(false);
  std::string prettyOp = prettyOpIn((*input)->getBuffer(), registry);
  // The output is written completely or not at all.
  std::string text;
  raw_string_ostream os(text);
  if (failed(mlir::MlirOptMain(os, std::move(*input), registry, config))) {
    if (!prettyOp.empty())
      errs() << "llmmem-opt: " << adviseOnPrettyOp(prettyOp) << "\n";
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
