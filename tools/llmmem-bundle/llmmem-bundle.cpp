//===- llmmem-bundle.cpp - Write a planned step for a machine with a GPU alone ===//

#include "Flag.h"
#include "Tools.h"
#include "llmmem/Analysis/PlanVerifier.h"
#include "llmmem/Analysis/Step.h"
#include "llmmem/Bundle/Bundle.h"
#include "llmmem/Execution/CompiledStep.h"
#include "llmmem/Pipelines/ProgramFile.h"
#include "llmmem/Support/ExitCode.h"
#include "llmmem/Support/JsonTree.h"
#include "llmmem/Support/OwnFile.h"
#include "llmmem/Support/StartTool.h"
#include "llmmem/Support/TemporaryFile.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace llvm;
using namespace llmmem;

namespace {
/// Has a member for each flag, which is there once the tool runs: a program has several tools.
/// Many fields: the flags.
class BundleTool {
public:
  int run(int argc, char **argv) {
    InitLLVM init(argc, argv);
    startTool("llmmem-bundle");
    cl::HideUnrelatedOptions(category);
    cl::ParseCommandLineOptions(
        argc, argv, "llmmem-bundle: writes a planned step for a machine without a compiler\n");
    mlir::DialectRegistry registry;
    registerExecution(registry);
    mlir::MLIRContext context(registry);
    context.loadAllAvailableDialects();
    Expected<std::unique_ptr<ProgramFile>> file = ProgramFile::parse(context, inputFile);
    if (!file)
      return fail(toString(file.takeError()));
    return writeBundle(*(*file)->module);
  }

private:
  cl::OptionCategory category{"Options of the bundle"};

  cl::opt<std::string> inputFile{cl::Positional, cl::cat(category), cl::Required,
                                 cl::desc("<planned step>")};
  Flag<std::string> outputFile{category, "o", "file.json", "Where the bundle is written",
                               cl::Required};
  Flag<std::string> kernels{category, "kernels", "folder",
                            "Where images of kernels are written, next to the bundle; several "
                            "bundles may share it (default: kernels)",
                            cl::init("kernels")};
  cl::list<std::string> chips{"chips", cl::cat(category), cl::CommaSeparated,
                              cl::value_desc("chips"),
                              cl::desc("What the kernels run on (default: sm_80,sm_90a)")};
  Flag<std::string> ptxas{
      category, "ptxas", "program",
      "The CUDA toolkit's assembler; none: kernels stay PTX, which the driver compiles "
      "(default: where PATH, CUDA_HOME or /usr/local/cuda has it, else none)"};
  Flag<std::string> linker{
      category, "linker", "program",
      "A C compiler, which links the code of updates on the host for the machine's processor; "
      "none: such a step is refused (default: where PATH has cc)"};
  Flag<std::string> reportFile{category, "report", "file.json",
                               "What --memory-report-json of llmmem-opt has written: bytes and "
                               "times that the plan predicts"};
  Choice<TensorCores> tensorCores{
      "tensor-cores", cl::cat(category), cl::init(TensorCores::WarpgroupTma),
      cl::desc("How kernels for sm_90a multiply bf16 and f16 (default: warpgroup-tma):"),
      cl::values(clEnumValN(TensorCores::Warp, "warp", "mma.sync, of sm_80 and later"),
                 clEnumValN(TensorCores::Warpgroup, "warpgroup", "wgmma"),
                 clEnumValN(TensorCores::WarpgroupTma, "warpgroup-tma",
                            "wgmma, with tiles that the tensor memory accelerator copies"))};
  Choice<llm::TileSharing> tileSharing{
      "tile-sharing", cl::cat(category), cl::init(llm::TileSharing::Modelled),
      cl::desc("With --tensor-cores=warpgroup-tma: which products' tiles two blocks share, to "
               "measure it (default: modelled):"),
      cl::values(
          clEnumValN(llm::TileSharing::Never, "never", "none"),
          clEnumValN(llm::TileSharing::Modelled, "modelled", "where that saves time by the model"),
          clEnumValN(llm::TileSharing::Always, "always", "wherever there are pairs of blocks"))};
  Flag<std::string> tile{category, "tile", "ROWSxCOLUMNS",
                         "The tiles of products by wgmma that can have them, to measure them "
                         "(default: the fastest by the model)"};
  enum class Products { Both, Generated };
  Choice<Products> products{
      "products", cl::cat(category), cl::init(Products::Both),
      cl::desc("What computes matmuls (default: both, and the machine takes the library's where it "
               "finds one):"),
      cl::values(clEnumValN(Products::Both, "both", "a program with cuBLASLt, and one without"),
                 clEnumValN(Products::Generated, "generated", "kernels of llmmem alone"))};
  const std::string help = R"(
EXAMPLE
  llmmem-opt --checkpoint-budget=6GB --memory-report-json=report.json model.mlir -o step.mlir
  llmmem-bundle step.mlir --report=report.json -o bundle/step.json
  llmmem-replay bundle/step.json --data book.txt --steps 20      on a machine with a GPU
)" + exitCodeHelp("llmmem-bundle");
  cl::extrahelp extraHelp{help};

  int fail(const Twine &message) {
    errs() << "llmmem-bundle: " << message << "\n";
    return ExitBadInput;
  }

  /// Returns the program that a user names: as PATH finds it if the name is bare, else as given.
  std::string findNamed(StringRef name) {
    ErrorOr<std::string> found = sys::findProgramByName(name);
    return found ? *found : name.str();
  }

  std::string findPtxas() {
    if (ptxas == "none")
      return "";
    if (!ptxas.empty())
      return findNamed(ptxas);
    std::string home = sys::Process::GetEnv("CUDA_HOME").value_or("/usr/local/cuda") + "/bin";
    if (ErrorOr<std::string> found = sys::findProgramByName("ptxas"))
      return *found;
    ErrorOr<std::string> found = sys::findProgramByName("ptxas", {home});
    return found ? *found : "";
  }

  std::string findLinker() {
    if (linker == "none")
      return "";
    if (!linker.empty())
      return findNamed(linker);
    ErrorOr<std::string> found = sys::findProgramByName("cc");
    return found ? *found : "";
  }

  /// Keeps what a run is compared with, and drops a report's lists of tensors.
  Expected<json::Object> readPrediction() {
    Expected<std::unique_ptr<MemoryBuffer>> text = readTextFile(reportFile);
    if (!text)
      return text.takeError();
    Expected<json::Value> value = parseJsonTree((*text)->getBuffer());
    if (!value)
      return value.takeError();
    const json::Object *report = value->getAsObject();
    if (!report || report->getString("format") != "llmmem-memory-report")
      return createStringError("'" + reportFile + "' is no llmmem-memory-report");
    json::Object predicted;
    for (StringRef key : {"policy", "budget", "parameters", "resident", "resident_padding", "arena",
                          "fragmentation", "step", "recompute", "certificate", "device"})
      if (const json::Value *member = report->get(key))
        predicted[key] = *member;
    if (const json::Object *saved = report->getObject("saved"))
      predicted["saved"] = json::Object{{"bytes", saved->getInteger("bytes").value_or(0)}};
    if (const json::Object *peak = report->getObject("peak"))
      predicted["peak"] = peak->getInteger("bytes").value_or(0);
    return predicted;
  }

  int writeBundle(mlir::ModuleOp module) {
    mlir::func::FuncOp step = findStep(module);
    if (!step)
      return fail("'" + inputFile + "' has no function @step");
    if (failed(verifyPlan(step)))
      return ExitBadInput;
    BundleOptions options;
    options.function = step.getName().str();
    if (!chips.empty())
      options.chips = chips;
    options.ptxas = findPtxas();
    options.linker = findLinker();
    options.warpgroups = tensorCores;
    options.tileSharing = tileSharing;
    if (!tile.empty() && !llm::warpgroupTileOf(tile.getValue()))
      return fail("--tile=" + tile + ": products have no such tiles; " + llm::expectedTiles());
    options.tile = tile;
    options.withLibrary = products == Products::Both;
    std::optional<json::Object> predicted;
    if (!reportFile.empty()) {
      Expected<json::Object> read = readPrediction();
      if (!read)
        return fail("--report: " + toString(read.takeError()));
      predicted = std::move(*read);
    }
    if (leadsOut(kernels))
      return fail("--kernels=" + kernels +
                  ": expected a folder next to the bundle, without '..' and "
                  "without '/' in front: wherever the bundle goes, its kernels go with it");
    SmallString<128> folder(sys::path::parent_path(outputFile));
    sys::path::append(folder, kernels);
    options.kernels = folder.str().str();
    if (std::error_code error =
            sys::fs::create_directories(folder, /*IgnoreExisting=*/true, sys::fs::perms::all_all))
      return fail("'" + folder + "' cannot be made: " + error.message());
    removeDeadTemporariesIn(folder, {".ptx", ".cubin", ".so"});
    if (Error error = checkOutputs({outputFile}))
      return fail(toString(std::move(error)));
    mlir::FailureOr<json::Object> bundle = makeBundle(module, options);
    if (failed(bundle))
      return ExitBadInput;
    (*bundle)["kernels"] = kernels.getValue();
    if (predicted)
      (*bundle)["predicted"] = std::move(*predicted);
    if (Error error =
            writeTextFile(outputFile, formatv("{0}\n", json::Value(std::move(*bundle))).str()))
      return fail(toString(std::move(error)));
    return ExitSuccess;
  }
};
} // namespace

int llmmem::bundleMain(int argc, char **argv) { return BundleTool().run(argc, argv); }
