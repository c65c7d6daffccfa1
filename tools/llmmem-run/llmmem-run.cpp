//===- llmmem-run.cpp - Run a planned training step -------------------------===//

#include "CompareRanks.h"
#include "InputFile.h"
#include "RunFlags.h"
#include "Tools.h"
#include "llmmem/Analysis/PlanVerifier.h"
#include "llmmem/Analysis/Step.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Execution/CudaLibraries.h"
#include "llmmem/Execution/ProcessMemory.h"
#include "llmmem/Execution/RankAgreement.h"
#include "llmmem/Execution/RankJob.h"
#include "llmmem/Runtime/Collectives.h"
#include "llmmem/Runtime/Gemm.h"
#include "llmmem/Runtime/HostCopies.h"
#include "llmmem/Runtime/Parallel.h"
#include "llmmem/Support/ExitCode.h"
#include "llmmem/Support/StartTool.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"

using namespace llvm;
using namespace llmmem;

/// Prints in one write, since other ranks, and what started them, write to the same stream.
static int fail(const Twine &message) {
  const std::string rank =
      RankJob::size() > 1 ? ("rank " + Twine(RankJob::rank()) + ": ").str() : std::string();
  errs() << ("llmmem-run: " + rank + message + "\n").str();
  return ExitBadInput;
}

/// Returns the exit code: a failure that depends on the machine has its own. Where ranks differ
/// they all fail alike, and one says so.
static int failWith(Error error) {
  if (error.isA<RanksDiffer>()) {
    std::string differences = toString(std::move(error));
    if (RankJob::rank() == 0)
      errs() << "llmmem-run: " + differences + "\n";
    return ExitBadInput;
  }
  int code = error.isA<DeviceError>() ? ExitNoDevice : ExitBadInput;
  fail(toString(std::move(error)));
  return code;
}

static int printDevice(const RunOptions &options) {
  Expected<std::shared_ptr<CudaDevice>> opened = CudaDevice::open(options.cudaDriver);
  if (!opened)
    return failWith(opened.takeError());
  Expected<json::Object> facts = (*opened)->describe();
  if (!facts)
    return failWith(facts.takeError());
  outs() << json::Value(std::move(*facts)) << "\n";
  return ExitSuccess;
}

/// Checks whether the step can be compiled and its memory reserved. Nothing fills a buffer, so that
/// a step that no machine at hand could run is checked in megabytes.
static int runNothing(const CompiledStep &step) {
  ProcessMemory process = ProcessMemory::begin();
  process.forgetPeak();
  Expected<StepMemory> memory = StepMemory::allocate(step);
  if (!memory)
    return failWith(memory.takeError());
  // What ranks do together is captured where they have met.
  if (step.mesh().empty() && failed(step.prepare(*memory)))
    return ExitBadInput;
  int64_t resident = memory->residentBytes();
  outs() << "resident " << resident << " bytes, arena " << step.arenaBytes() << ", together "
         << resident + step.arenaBytes() << "\n";
  int64_t onHost = memory->residentOnHost(), hostArena = step.hostArenaBytes();
  if (onHost + hostArena > 0)
    outs() << "on the host resident " << onHost << " bytes, arena " << hostArena << ", together "
           << onHost + hostArena << "\n";
  if (std::optional<int64_t> bytes = process.peakBytes(); bytes && !step.cuda())
    outs() << "process memory for them " << *bytes << " bytes\n";
  outs() << "compiled " << step.numFunctions() << (step.cuda() ? " kernels" : " functions")
         << " in " << format("%.1f", step.compileSeconds()) << " s; nothing was run\n";
  return ExitSuccess;
}

/// Opens the GPU, with a library for matmuls if one is asked for or found.
static Error openDevice(const RunOptions &options, CompiledStep::Options &compile) {
  Expected<std::shared_ptr<CudaDevice>> opened = CudaDevice::open(options.cudaDriver);
  if (!opened)
    return opened.takeError();
  compile.cuda = std::move(*opened);
  if (isByWarpgroup(compile.tensorCores.value_or(TensorCores::Warp)) &&
      !isByWarpgroup(tensorCoresOf(compile.cuda->chip())))
    return createStringError("--tensor-cores=" +
                             std::string(*compile.tensorCores == TensorCores::WarpgroupTma
                                             ? "warpgroup-tma"
                                             : "warpgroup") +
                             ": wgmma is of sm_90a alone, and this device "
                             "runs " +
                             compile.cuda->chip() + "; leave the flag out");
  compile.libraryMatmuls = false;
  if (options.products == RunOptions::Products::Generated)
    return Error::success();
  std::vector<std::string> libraries = {options.cublasLt};
  if (options.cublasLt.empty())
    libraries = findCudaLibraries({"libcublasLt.so.13", "libcublasLt.so.12"});
  if (Error error = compile.cuda->openProducts(libraries)) {
    if (options.products == RunOptions::Products::Library)
      return error;
    errs() << "llmmem-run: warning: computes matmuls by generated kernels: "
           << toString(std::move(error))
           << "; install it (Python: nvidia-cublas), or name its folder in LLMMEM_CUDA_PATH or the "
              "library by --cublas-lt; --products=generated asks for what is done now\n";
    return Error::success();
  }
  compile.libraryMatmuls = true;
  return options.productAlgorithms.empty()
             ? Error::success()
             : compile.cuda->keepAlgorithms(options.productAlgorithms);
}

static std::string nameOfProducts(const CompiledStep::Options &compile, const CompiledStep &step) {
  if (compile.libraryMatmuls && compile.emulate)
    return "kernels instead of cuBLASLt";
  bool isReplaced = !step.replacedProducts().empty() && step.numLibraryMatmuls() == 0;
  if (!compile.libraryMatmuls || isReplaced)
    return compile.cuda ? "generated kernels" : "generated code";
  if (compile.cuda) {
    size_t replaced = step.replacedProducts().size();
    return compile.cuda->products() +
           (replaced ? " but for " + std::to_string(replaced) + (replaced > 1 ? " forms" : " form")
                     : "");
  }
  const llmmem_gemm_library *library = llmmem_find_gemm_library();
  return library->name + std::string(library->bf16 ? " for f32 and bf16" : " for f32") +
         ", else by generated code";
}

/// A step of several ranks meets the others first: it is not theirs if there are more or fewer.
/// Returns the bytes that the process holds more then.
static Expected<int64_t> joinRanks(mlir::func::FuncOp function, const RunOptions &options) {
  auto mesh = function->getAttrOfType<llm::MeshAttr>(llm::LlmDialect::kMesh);
  if (options.dryRun)
    return 0;
  const char *variable;
  int64_t processes = llmmem_launched_processes(&variable);
  if (!mesh && processes > 1)
    return createStringError("'" + options.inputFile +
                             "' is a step of one rank, and the launcher "
                             "has started " +
                             Twine(processes) + " processes (" + variable +
                             "), which would all run "
                             "the same; start one, or plan it with --mesh=dp=" +
                             Twine(processes));
  if (!mesh)
    return 0;
  bool keepsCaches = function->hasAttr(llm::LlmDialect::kContext);
  if (mesh.getNumRanks() > 1 && options.generate > 0 && !keepsCaches)
    return createStringError("--generate is for one rank, not for the " +
                             Twine(mesh.getNumRanks()) + " of '" + options.inputFile +
                             "'; import the model with --mode decode, whose ranks write tokens");
  if (mesh.getNumRanks() > 1 && keepsCaches && options.device == Device::Cuda)
    return createStringError("'" + options.inputFile + "' is a step with caches of " +
                             Twine(mesh.getNumRanks()) + " ranks, and GPUs run one of one rank; " +
                             "run it on CPUs, or plan it without --mesh");
  bool starts =
      function
          ->walk([](mlir::Operation *op) {
            return llm::isStarted(op) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
          })
          .wasInterrupted();
  ProcessMemory memory = ProcessMemory::begin();
  // One thread has the emulator: what is started runs at once.
  if (Error error = RankJob::join(mesh.getSizes(), starts && options.device != Device::Emulate,
                                  options.device == Device::Cuda))
    return std::move(error);
  if (options.device == Device::Emulate && !options.nccl.empty())
    if (Error error = RankJob::useNccl(options.nccl))
      return std::move(error);
  return memory.grownBytes().value_or(0);
}

/// Lets the device make the collectives, where the step has any.
static Error joinDeviceWithRanks(mlir::func::FuncOp function, const RunOptions &options,
                                 CudaDevice &device) {
  auto mesh = function->getAttrOfType<llm::MeshAttr>(llm::LlmDialect::kMesh);
  if (!mesh)
    return Error::success();
  bool isAlone = mesh.getNumRanks() == 1;
  return device.joinRanks(options.nccl.empty() && !isAlone ? findCudaLibrary("libnccl.so.2")
                                                           : options.nccl);
}

/// Returns this rank's step of a pipeline, or the only step.
static mlir::func::FuncOp functionOfRank(mlir::ModuleOp module, mlir::func::FuncOp step) {
  auto mesh = step->getAttrOfType<llm::MeshAttr>(llm::LlmDialect::kMesh);
  if (!step->hasAttr(llm::LlmDialect::kStage) || !mesh)
    return step;
  mlir::Builder builder(module.getContext());
  Shard stage{mesh.getAxisBits(builder.getStrArrayAttr({"pp"}))};
  return findStepFunctions(module)[stage.position()];
}

/// Warns before anything runs, once for each reason.
static void warnOfReplaced(const CompiledStep &step) {
  for (const std::string &why : step.replacedProducts())
    errs() << "llmmem-run: warning: cuBLASLt: " << why << "\n";
}

/// Compiles for `--dry-run` every stage of a pipeline, of which a rank runs one.
static int runNothing(mlir::ModuleOp module, mlir::func::FuncOp step,
                      CompiledStep::Options options) {
  llvm::SmallVector<mlir::func::FuncOp> functions{step};
  if (step->hasAttr(llm::LlmDialect::kStage))
    functions = findStepFunctions(module);
  for (mlir::func::FuncOp function : functions) {
    options.function = function.getName().str();
    mlir::FailureOr<std::unique_ptr<CompiledStep>> compiled =
        CompiledStep::compile(module, options);
    if (failed(compiled))
      return ExitBadInput;
    warnOfReplaced(**compiled);
    if (functions.size() > 1)
      outs() << "@" << options.function << ": ";
    if (int code = runNothing(**compiled); code != ExitSuccess)
      return code;
  }
  return ExitSuccess;
}

/// Verifies the plan, which may have been edited, or written by another tool: overlapping offsets
/// would give wrong results.
static bool verifyPlans(mlir::ModuleOp module) {
  for (mlir::func::FuncOp planned : findStepFunctions(module))
    if (planned->hasAttr(llm::LlmDialect::kArena) && failed(verifyPlan(planned)))
      return false;
  return true;
}

static CompiledStep::Options compileOptionsOf(mlir::func::FuncOp function,
                                              const RunOptions &options) {
  CompiledStep::Options compileOptions;
  compileOptions.function = function.getName().str();
  compileOptions.fillDeadBytes = options.poison;
  compileOptions.optimize = options.optimize;
  compileOptions.profile =
      options.profile || !options.profileJson.empty() || !options.trace.empty();
  compileOptions.libraryMatmuls = options.libraryMatmuls;
  // Ranks whose devices answer differently would compute different bits.
  compileOptions.replacesMissing =
      options.products == RunOptions::Products::Best && !function->hasAttr(llm::LlmDialect::kMesh);
  compileOptions.emulate = options.device == Device::Emulate;
  compileOptions.tensorCores = options.tensorCores;
  return compileOptions;
}

/// Returns the function of a module that is not split over ranks, ready to run.
static Expected<PlannedFunction> compile(mlir::ModuleOp module, mlir::func::FuncOp function,
                                         const CompiledStep::Options &compileOptions) {
  mlir::FailureOr<std::unique_ptr<CompiledStep>> compiled =
      CompiledStep::compile(module, compileOptions);
  if (failed(compiled))
    return createStringError("the step cannot be compiled");
  warnOfReplaced(**compiled);
  Expected<StepRoles> roles = StepRoles::find(function);
  if (!roles)
    return roles.takeError();
  std::string products = nameOfProducts(compileOptions, **compiled);
  PlannedFunction planned{std::move(*compiled), std::move(*roles), std::nullopt, 0, 0,
                          std::move(products)};
  if (auto peak = function->getAttrOfType<mlir::IntegerAttr>(llm::LlmDialect::kPeak))
    planned.peak = peak.getInt();
  if (auto context = function->getAttrOfType<mlir::IntegerAttr>(llm::LlmDialect::kContext))
    planned.context = context.getInt();
  return std::move(planned);
}

/// Fails on all ranks alike, and one says why.
static int failOnFirstRank(Error error) {
  if (RankJob::rank() == 0)
    return failWith(std::move(error));
  consumeError(std::move(error));
  return ExitBadInput;
}

/// The first rank writes, or all of them in its folder.
static Error checkFiles(const RunOptions &options) {
  if (RankJob::rank() != 0 || options.dryRun)
    return Error::success();
  return checkOutputs({options.saveFile, options.gradientsFile, options.logitsFile,
                       options.profileJson, options.trace});
}

static int runFunction(mlir::ModuleOp module, mlir::func::FuncOp function,
                       const RunOptions &options) {
  if (!verifyPlans(module))
    return ExitBadInput;
  Expected<int64_t> transportBytes = joinRanks(function, options);
  if (!transportBytes)
    return failOnFirstRank(transportBytes.takeError());
  if (Error error = compareSteps(function, options))
    return failWith(std::move(error));
  if (Error error = checkFiles(options))
    return fail(toString(std::move(error)));
  if (!options.dryRun)
    function = functionOfRank(module, function);
  CompiledStep::Options compileOptions = compileOptionsOf(function, options);
  if (options.device == Device::Cuda)
    if (Error error = openDevice(options, compileOptions))
      return failWith(std::move(error));
  if (options.dryRun)
    return runNothing(module, function, compileOptions);
  if (compileOptions.cuda)
    if (Error error = joinDeviceWithRanks(function, options, *compileOptions.cuda))
      return failWith(std::move(error));
  Expected<PlannedFunction> planned = compile(module, function, compileOptions);
  if (!planned)
    return fail(toString(planned.takeError()));
  planned->transportBytes = *transportBytes;
  if (options.generate > 0) {
    if (options.loadFile.empty())
      return fail("--generate: needs --load with trained parameters");
    if (Error error = generate(*planned, options))
      return failWith(std::move(error));
    return ExitSuccess;
  }
  Expected<int> code = train(*planned, options);
  if (!code)
    return failWith(code.takeError());
  if (compileOptions.cuda)
    compileOptions.cuda->leaveRanks();
  return *code;
}

/// Joins the ranks, which both steps with caches must share.
static Expected<int64_t> joinRanksOfCached(ArrayRef<std::unique_ptr<InputFile>> files,
                                           const RunOptions &options) {
  auto meshOf = [](const std::unique_ptr<InputFile> &file) {
    return file->function->getAttrOfType<llm::MeshAttr>(llm::LlmDialect::kMesh);
  };
  if (any_of(files, [&](const auto &file) { return meshOf(file) != meshOf(files.front()); }))
    return createStringError("'" + options.inputFiles.front() + "' and '" +
                             options.inputFiles.back() +
                             "' are planned for different ranks; plan both with the same --mesh");
  return joinRanks(files.front()->function, options);
}

/// Steps with caches: one of decoding, optionally after one of prefill.
static int runCached(ArrayRef<std::unique_ptr<InputFile>> files, const RunOptions &options) {
  if (options.generate == 0)
    return fail("'" + options.inputFile +
                "' is a step with caches, which is not trained; say how "
                "many tokens it is to write: --generate 32");
  for (const std::unique_ptr<InputFile> &file : files)
    if (!verifyPlans(*file->program->module))
      return ExitBadInput;
  if (Expected<int64_t> joined = joinRanksOfCached(files, options); !joined)
    return failOnFirstRank(joined.takeError());
  SmallVector<mlir::func::FuncOp> functions;
  for (const std::unique_ptr<InputFile> &file : files)
    functions.push_back(file->function);
  if (Error error = compareSteps(functions, options))
    return failWith(std::move(error));
  if (Error error = checkFiles(options))
    return fail(toString(std::move(error)));
  std::vector<PlannedFunction> steps;
  std::optional<CompiledStep::Options> onDevice; // of all steps
  for (const std::unique_ptr<InputFile> &file : files) {
    CompiledStep::Options compileOptions = compileOptionsOf(file->function, options);
    if (options.device == Device::Cuda && !onDevice)
      if (Error error = openDevice(options, onDevice.emplace()))
        return failWith(std::move(error));
    if (onDevice) {
      compileOptions.cuda = onDevice->cuda;
      compileOptions.libraryMatmuls = onDevice->libraryMatmuls;
    }
    Expected<PlannedFunction> planned =
        compile(*file->program->module, file->function, compileOptions);
    if (!planned)
      return fail(toString(planned.takeError()));
    steps.push_back(std::move(*planned));
  }
  if (Error error = generateCached(steps, options))
    return failWith(std::move(error));
  return ExitSuccess;
}

static int runFiles(mlir::MLIRContext &context, const RunOptions &options) {
  if (options.inputFiles.size() > 2)
    return fail("expected one planned step, or a prefill and a decode");
  std::vector<std::unique_ptr<InputFile>> files;
  for (const std::string &path : options.inputFiles) {
    Expected<std::unique_ptr<InputFile>> file = InputFile::read(context, path);
    if (!file)
      return fail(toString(file.takeError()));
    files.push_back(std::move(*file));
  }
  bool keepCaches = all_of(files, [](const auto &file) { return file->keepsCaches(); });
  if (keepCaches && !options.dryRun)
    return runCached(files, options);
  if (files.size() > 1)
    return fail("two programs are run to generate, both of them steps with caches: import them "
                "with --mode prefill and --mode decode");
  return runFunction(*files.front()->program->module, files.front()->function, options);
}

/// Sets the threads of kernels and matmuls; 0 stands for all cores.
static void setThreads(unsigned threads) {
  if (threads > 0)
    llmmem_set_threads(static_cast<int>(std::min<unsigned>(threads, INT_MAX)));
  if (threads > static_cast<unsigned>(llmmem_threads()))
    errs() << "llmmem-run: note: --threads=" << threads << ": runs on " << llmmem_threads()
           << " threads, the most that there can be\n";
}

/// Returns `code`, or that of bad input where stdout did not take all that was printed.
static int finishStdout(int code) {
  Error error = flushStdout();
  return error ? fail(toString(std::move(error))) : code;
}

int llmmem::runMain(int argc, char **argv) {
  InitLLVM init(argc, argv);
  startTool("llmmem-run");
  Expected<RunOptions> options = readFlags(argc, argv);
  if (!options)
    return fail(toString(options.takeError()));
  if (options->describeDevice)
    return finishStdout(printDevice(*options));
  setThreads(options->threads);
  if (options->copyBytesPerSecond)
    llmmem_throttle_copies(*options->copyBytesPerSecond);
  mlir::DialectRegistry registry;
  registerExecution(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  return RankJob::leave(finishStdout(runFiles(context, *options)));
}
