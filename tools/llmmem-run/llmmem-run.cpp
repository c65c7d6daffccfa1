//===- llmmem-run.cpp - Run a planned training step -------------------------===//

#include "InputFile.h"
#include "RunOptions.h"
#include "llmmem/Analysis/PlanVerifier.h"
#include "llmmem/Analysis/Step.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Execution/ProcessMemory.h"
#include "llmmem/Execution/RankJob.h"
#include "llmmem/Planning/Offload/HostCopies.h"
#include "llmmem/Runtime/Gemm.h"
#include "llmmem/Runtime/HostCopies.h"
#include "llmmem/Runtime/Parallel.h"
#include "llmmem/Support/ExitCode.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include <cmath>

using namespace llvm;
using namespace llmmem;

static cl::OptionCategory category("Options of the run");

static cl::list<std::string>
    inputFiles(cl::Positional, cl::cat(category),
               cl::desc("<planned step> (to generate, two: prefill and decode)"));
static cl::opt<int64_t> steps("steps", cl::cat(category), cl::init(1),
                              cl::desc("Steps to run (default 1)"));
static cl::opt<uint64_t>
    seed("seed", cl::cat(category), cl::init(0),
         cl::desc("Seed of parameters and dropout (default: a checkpoint's, or 0)"));
static cl::opt<std::string> dataFile("data", cl::cat(category), cl::value_desc("text"),
                                     cl::desc("Train on the bytes of this file (- is stdin)"));
static cl::opt<std::string>
    tokensFile("tokens", cl::cat(category), cl::value_desc("ids"),
               cl::desc("Train on token ids separated by white space (- is stdin); with --generate "
                        "the ids of prompts: 1,2,3;4,5"));
static cl::opt<std::string>
    labelsFile("labels", cl::cat(category), cl::value_desc("ids"),
               cl::desc("What to predict at the place of each id of --tokens or --data, -100 where "
                        "there is no loss (default: the ids; masked models need it)"));
static cl::opt<bool> shuffleRows(
    "shuffle", cl::cat(category),
    cl::desc(
        "Rows begin at positions sampled from the seed and the step (default: one after another)"));
static cl::opt<double> learningRate("lr", cl::cat(category), cl::init(1e-3),
                                    cl::desc("Learning rate (default 1e-3)"));
static cl::opt<int64_t>
    warmupSteps("warmup-steps", cl::cat(category), cl::init(0),
                cl::desc("The learning rate rises in a line until this step (default 0)"));
static cl::opt<int64_t>
    cosineSteps("cosine-steps", cl::cat(category), cl::init(0),
                cl::desc("... and falls to a tenth at this step (default 0: it stays)"));
static cl::opt<int64_t>
    linearSteps("linear-steps", cl::cat(category), cl::init(0),
                cl::desc("... or falls in a line to 0 at this step (default 0: it does not)"));
static cl::opt<int64_t>
    linearFrom("linear-from", cl::cat(category), cl::init(0),
               cl::desc("The step that this line begins at (default: where it has risen)"));
static cl::opt<bool> inverseRoot("inverse-root", cl::cat(category),
                                 cl::desc("... or falls as 1 / sqrt(step) behind --warmup-steps"));
static cl::opt<std::string>
    loadFile("load", cl::cat(category), cl::value_desc("safetensors"),
             cl::desc("Begin with these parameters; continue where a run saved them"));
static cl::opt<std::string>
    resumeFile("resume", cl::cat(category), cl::value_desc("safetensors"),
               cl::desc("Continue a run where it saved; refuses a file of parameters alone"));
static cl::opt<std::string>
    saveFile("save", cl::cat(category), cl::value_desc("safetensors"),
             cl::desc("Write parameters and optimizer state after the last step"));
static cl::opt<int64_t>
    saveEvery("save-every", cl::cat(category), cl::value_desc("steps"), cl::init(0),
              cl::desc("With --save: write the file after every so many steps as well"));
static cl::opt<std::string> gradientsFile("save-gradients", cl::cat(category),
                                          cl::value_desc("safetensors"),
                                          cl::desc("Write the gradients of the first step"));
static cl::opt<bool> asJson("json", cl::cat(category),
                            cl::desc("Print one line of JSON for each step"));
static cl::opt<bool> noDigest(
    "no-digest", cl::cat(category),
    cl::desc("Leave the digest out of --json: it fetches all parameters from a GPU each step"));
static cl::opt<bool> poison(
    "poison", cl::cat(category),
    cl::desc(
        "Fill arena ranges with a pattern of NaNs when their values die; no result may change"));
static cl::opt<bool>
    optimize("optimize", cl::cat(category), cl::init(true),
             cl::desc("Optimize generated code of the CPU (default); --optimize=false compiles "
                      "sooner, runs slower and changes no bit"));
static cl::opt<std::string> linkThrottle(
    "link-throttle", cl::cat(category), cl::value_desc("rate"),
    cl::desc("Copies to and from the host move at most so much each way (1MB/s), in more time"));
static cl::opt<bool> profile("profile", cl::cat(category),
                             cl::desc("Print the time of each kind of kernel, by phase"));
static cl::opt<std::string> profileJson("profile-json", cl::cat(category), cl::value_desc("file"),
                                        cl::desc("Write the time of each call as JSON"));
static cl::opt<std::string> traceFile("trace", cl::cat(category), cl::value_desc("file"),
                                      cl::desc("Write the last step as a Chrome trace"));
static cl::opt<double> progressSeconds(
    "progress-seconds", cl::cat(category), cl::init(5),
    cl::desc("Seconds between progress lines where stderr is no terminal (default 5)"));
static cl::opt<int64_t>
    generateBytes("generate", cl::cat(category), cl::value_desc("bytes"), cl::init(0),
                  cl::desc("Write this much text by a planned @forward with --load, or so many "
                           "tokens of each prompt by steps with caches"));
static cl::list<std::string>
    prompts("prompt", cl::cat(category), cl::value_desc("text"),
            cl::desc("What the text begins with (default: a line's end); of a step with caches "
                     "once for each of its sequences"));
static cl::opt<double>
    temperature("temperature", cl::cat(category), cl::init(1.0),
                cl::desc("Logits are divided by this; 0 takes the most likely byte (default 1)"));
static cl::opt<int64_t> topK("top-k", cl::cat(category), cl::value_desc("K"), cl::init(0),
                             cl::desc("Choose among the K most likely tokens (default 0: all)"));
static cl::opt<double>
    topP("top-p", cl::cat(category), cl::value_desc("P"), cl::init(1.0),
         cl::desc("Choose among the most likely tokens of this probability together (default 1)"));
static cl::list<int32_t> stop("stop", cl::cat(category), cl::CommaSeparated, cl::value_desc("ids"),
                              cl::desc("Tokens that end a sequence, of a step with caches"));
static cl::opt<std::string>
    logitsFile("save-logits", cl::cat(category), cl::value_desc("safetensors"),
               cl::desc("Write what each token was chosen by, of a step with caches"));
enum class Gemm { Best, BuiltIn, OneDnn };
static cl::opt<Gemm> gemm(
    "gemm", cl::cat(category), cl::init(Gemm::Best),
    cl::desc("What computes matmuls on the CPU (default: onednn where it was found):"),
    cl::values(clEnumValN(Gemm::BuiltIn, "builtin",
                          "generated code: equal bits for any number of threads"),
               clEnumValN(Gemm::OneDnn, "onednn",
                          "oneDNN for f32, and for bf16 where the processor has units for it")));
static cl::opt<Device> device("device", cl::cat(category), cl::init(Device::Cpu),
                              cl::desc("What runs the step (default: cpu):"),
                              cl::values(clEnumValN(Device::Cpu, "cpu", "threads of the CPU"),
                                         clEnumValN(Device::Cuda, "cuda", "an NVIDIA GPU"),
                                         clEnumValN(Device::Emulate, "emulate",
                                                    "the CPU in the place of a GPU, each access "
                                                    "of its kernels checked")));
static cl::opt<bool>
    describeDevice("describe-device", cl::cat(category),
                   cl::desc("Print what --device=cuda would run on as JSON, and run nothing"));
static cl::opt<bool>
    dryRun("dry-run", cl::cat(category),
           cl::desc("Compile the step and reserve its memory without filling it, and run nothing"));
static cl::opt<std::string>
    cudaDriver("cuda-driver", cl::cat(category), cl::value_desc("library"),
               cl::init("libcuda.so.1"),
               cl::desc("The CUDA driver, as dlopen finds it (default libcuda.so.1)"));
using Products = RunOptions::Products;
static cl::opt<Products> products(
    "products", cl::cat(category), cl::init(Products::Best),
    cl::desc("What computes matmuls on a GPU (default: library where it can be opened; with "
             "--device=emulate generated):"),
    cl::values(clEnumValN(Products::Library, "library", "cuBLASLt, f32 and bf16"),
               clEnumValN(Products::Generated, "generated", "kernels of llmmem")));
static cl::opt<std::string>
    cublasLt("cublas-lt", cl::cat(category), cl::value_desc("library"),
             cl::desc("cuBLASLt, as dlopen finds it (default libcublasLt.so.13, else .12)"));
static cl::opt<std::string>
    nccl("nccl", cl::cat(category), cl::value_desc("library"),
         cl::desc("NCCL, as dlopen finds it, for collectives of GPUs (default libnccl.so.2); with "
                  "--device=emulate one that takes addresses of the host"));
static cl::opt<std::string> productAlgorithms(
    "product-algorithms", cl::cat(category), cl::value_desc("file"),
    cl::desc("Use the matmul algorithms of this JSON file; add missing ones to it"));
static const std::string help = R"(
EXAMPLES
  llmmem-opt --checkpoint-budget=2GB model.mlir -o step.mlir
  llmmem-run step.mlir --steps 20 --data book.txt
  llmmem-run step.mlir --steps 20 --data book.txt --device=cuda
  llmmem-run step.mlir --tokens ids.txt --load gpt2.safetensors --save trained.safetensors
  llmmem-run forward.mlir --load trained.safetensors --generate 500 --prompt "Once upon"
  llmmem-run prefill.mlir decode.mlir --load model.safetensors.index.json --generate 64 --tokens "1,2,3;4,5" --top-k 50
)" + exitCodeHelp("llmmem-run");
static cl::extrahelp extraHelp(help);

static int fail(const Twine &message) {
  errs() << "llmmem-run: ";
  if (RankJob::size() > 1)
    errs() << "rank " << RankJob::rank() << ": ";
  errs() << message << "\n";
  return ExitBadInput;
}

/// A failure that depends on the machine has its own exit code.
static int failWith(Error error) {
  int code = error.isA<DeviceError>() ? ExitNoDevice : ExitBadInput;
  fail(toString(std::move(error)));
  return code;
}

static Error checkOptions() {
  if (saveEvery < 0 || (saveEvery > 0 && saveFile.empty()))
    return createStringError("--save-every: expected a number of steps, 1 or more, and --save");
  if (!resumeFile.empty() && !loadFile.empty())
    return createStringError("expected --load or --resume, not both");
  if (steps < 1)
    return createStringError("--steps: expected a number of steps, 1 or more");
  if (!(learningRate >= 0) || !std::isfinite(learningRate))
    return createStringError("--lr: expected a number, 0 or more");
  if (warmupSteps < 0)
    return createStringError("--warmup-steps: expected a number of steps, 0 or more");
  if (cosineSteps != 0 && cosineSteps <= warmupSteps)
    return createStringError("--cosine-steps: expected a step after those of --warmup-steps");
  if (linearSteps != 0 && linearSteps <= std::max<int64_t>(warmupSteps, linearFrom))
    return createStringError("--linear-steps: expected a step after those of --warmup-steps and "
                             "--linear-from");
  if (linearFrom != 0 && (linearSteps == 0 || linearFrom < warmupSteps))
    return createStringError("--linear-from: expected a step after those of --warmup-steps, and "
                             "--linear-steps");
  if ((cosineSteps != 0) + (linearSteps != 0) + inverseRoot > 1)
    return createStringError("--cosine-steps, --linear-steps and --inverse-root: expected one of "
                             "them");
  if (!(progressSeconds >= 0))
    return createStringError("--progress-seconds: expected a number of seconds, 0 or more");
  if (generateBytes < 0)
    return createStringError("--generate: expected a number of bytes, 1 or more");
  if (is_contained(prompts, std::string()))
    return createStringError("--prompt: expected at least one byte");
  if (topK < 0)
    return createStringError("--top-k: expected a number of tokens, 1 or more, or 0 for all");
  if (!(topP > 0 && topP <= 1))
    return createStringError("--top-p: expected a probability above 0, up to 1");
  if (!prompts.empty() && generateBytes > 0 && tokensFile.getNumOccurrences())
    return createStringError("expected --prompt or --tokens, not both");
  if (!(temperature >= 0) || !std::isfinite(temperature))
    return createStringError("--temperature: expected a number, 0 or more");
  if (gemm == Gemm::OneDnn && !llmmem_find_gemm_library())
    return createStringError("--gemm=onednn: llmmem was built without oneDNN; there is: builtin");
  if (linkThrottle.getNumOccurrences()) {
    Result<planning::HostLink> link = planning::parseHostLink(linkThrottle.getValue());
    if (!link || link->up != link->down)
      return createStringError("--link-throttle: " +
                               (link ? "expected one rate for both ways, 1MB/s" : link.error()));
    llmmem_throttle_copies(link->up);
  }
  if (device != Device::Cpu && (poison || gemm == Gemm::OneDnn))
    return createStringError("--poison and --gemm=onednn: only with --device=cpu");
  if (device == Device::Emulate && (profile || !profileJson.empty() || !traceFile.empty()))
    return createStringError("--profile, --profile-json and --trace: not with --device=emulate, "
                             "whose time says nothing of a GPU's");
  if (describeDevice && device != Device::Cuda)
    return createStringError("--describe-device: only with --device=cuda");
  if (device == Device::Cpu && products != Products::Best)
    return createStringError("--products: only with --device=cuda or emulate; see --gemm");
  if (device == Device::Cpu && !nccl.empty())
    return createStringError("--nccl: only with --device=cuda or emulate; on CPUs ranks meet over "
                             "MPI");
  if (device != Device::Cuda && !productAlgorithms.empty())
    return createStringError("--product-algorithms: only with --device=cuda");
  if (products == Products::Generated && !productAlgorithms.empty())
    return createStringError("--product-algorithms: only for matmuls of the library");
  return Error::success();
}

template <typename T>
static std::optional<T> given(const cl::opt<T> &option) {
  return option.getNumOccurrences() ? std::optional<T>(option) : std::nullopt;
}

static RunOptions readOptions() {
  RunOptions options;
  options.steps = steps;
  options.seed = given(seed);
  options.inputFiles = inputFiles;
  if (options.inputFiles.empty())
    options.inputFiles = {"-"};
  options.inputFile = options.inputFiles.back();
  options.dataFile = given(dataFile);
  options.tokensFile = given(tokensFile);
  options.labelsFile = labelsFile;
  options.shuffle = shuffleRows;
  options.learningRate = {learningRate, warmupSteps, cosineSteps,
                          linearSteps,  linearFrom,  inverseRoot};
  options.loadFile = loadFile;
  options.resumeFile = resumeFile;
  options.saveEvery = saveEvery;
  options.saveFile = saveFile;
  options.gradientsFile = gradientsFile;
  options.asJson = asJson;
  options.digest = !noDigest;
  options.poison = poison;
  options.optimize = optimize;
  options.device = device;
  options.cudaDriver = cudaDriver;
  options.products = products;
  options.cublasLt = cublasLt;
  options.nccl = nccl;
  options.productAlgorithms = productAlgorithms;
  bool isByOneDnn = device == Device::Cpu && gemm != Gemm::BuiltIn && llmmem_find_gemm_library();
  // The emulator computes what a library is documented to compute.
  bool isEmulated = device == Device::Emulate && products == Products::Library;
  options.libraryMatmuls = isByOneDnn || isEmulated;
  options.progressSeconds = progressSeconds;
  options.profile = profile;
  options.profileJson = profileJson;
  options.trace = traceFile;
  options.generate = generateBytes;
  options.prompts = prompts;
  if (options.prompts.empty())
    options.prompts = {"\n"};
  options.sampling = {temperature, topK, topP};
  options.stop = stop;
  options.logitsFile = logitsFile;
  return options;
}

static int printDevice() {
  Expected<std::shared_ptr<CudaDevice>> opened = CudaDevice::open(cudaDriver);
  if (!opened)
    return failWith(opened.takeError());
  Expected<json::Object> facts = (*opened)->describe();
  if (!facts)
    return failWith(facts.takeError());
  outs() << json::Value(std::move(*facts)) << "\n";
  return ExitSuccess;
}

/// Whether the step can be compiled and its memory reserved. Nothing fills a buffer, so that a step
/// that no machine at hand could run is checked in megabytes.
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
  if (int64_t onHost = memory->residentOnHost(), hostArena = step.hostArenaBytes();
      onHost + hostArena > 0)
    outs() << "on the host resident " << onHost << " bytes, arena " << hostArena << "\n";
  if (std::optional<int64_t> bytes = process.peakBytes(); bytes && !step.cuda())
    outs() << "process memory for them " << *bytes << " bytes\n";
  outs() << "compiled " << step.numFunctions() << (step.cuda() ? " kernels" : " functions")
         << " in " << format("%.1f", step.compileSeconds()) << " s; nothing was run\n";
  return ExitSuccess;
}

/// The GPU, with a library for matmuls if one is asked for or found.
static Error openDevice(const RunOptions &options, CompiledStep::Options &compile) {
  Expected<std::shared_ptr<CudaDevice>> opened = CudaDevice::open(options.cudaDriver);
  if (!opened)
    return opened.takeError();
  compile.cuda = std::move(*opened);
  compile.libraryMatmuls = false;
  if (options.products == Products::Generated)
    return Error::success();
  std::vector<std::string> libraries = {"libcublasLt.so.13", "libcublasLt.so.12"};
  if (!options.cublasLt.empty())
    libraries = {options.cublasLt};
  if (Error error = compile.cuda->openProducts(libraries)) {
    if (options.products == Products::Library)
      return error;
    errs() << "llmmem-run: note: computes matmuls by generated kernels: "
           << toString(std::move(error)) << "\n";
    return Error::success();
  }
  compile.libraryMatmuls = true;
  compile.cuda->keepAlgorithms(options.productAlgorithms);
  if (options.productAlgorithms.empty() || !sys::fs::exists(options.productAlgorithms))
    return Error::success();
  return compile.cuda->loadAlgorithms(options.productAlgorithms);
}

static std::string nameOfProducts(const CompiledStep::Options &compile) {
  if (compile.libraryMatmuls && compile.emulate)
    return "kernels in the place of cuBLASLt";
  if (!compile.libraryMatmuls)
    return compile.cuda ? "generated kernels" : "generated code";
  if (compile.cuda)
    return compile.cuda->products();
  const llmmem_gemm_library *library = llmmem_find_gemm_library();
  return library->name + std::string(library->bf16 ? " for f32 and bf16" : " for f32") +
         ", else by generated code";
}

/// A step of several ranks meets the others first: it is not theirs if there are more or fewer.
/// Returns the bytes that the process holds more then.
static Expected<int64_t> joinRanks(mlir::func::FuncOp function, const RunOptions &options) {
  auto mesh = function->getAttrOfType<llm::MeshAttr>(llm::LlmDialect::kMesh);
  if (!mesh || dryRun)
    return 0;
  if (mesh.getNumRanks() > 1 && options.generate > 0)
    return createStringError("--generate is for one rank, not for the " +
                             Twine(mesh.getNumRanks()) + " of '" + options.inputFile + "'");
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

/// Where the step has collectives, they are the device's.
static Error joinDeviceWithRanks(mlir::func::FuncOp function, const RunOptions &options,
                                 CudaDevice &device) {
  auto mesh = function->getAttrOfType<llm::MeshAttr>(llm::LlmDialect::kMesh);
  if (!mesh)
    return Error::success();
  bool isAlone = mesh.getNumRanks() == 1;
  return device.joinRanks(options.nccl.empty() && !isAlone ? "libnccl.so.2" : options.nccl);
}

/// Of the steps of a pipeline that of this rank; else the step.
static mlir::func::FuncOp functionOfRank(mlir::ModuleOp module, mlir::func::FuncOp step) {
  auto mesh = step->getAttrOfType<llm::MeshAttr>(llm::LlmDialect::kMesh);
  if (!step->hasAttr(llm::LlmDialect::kStage) || !mesh)
    return step;
  mlir::Builder builder(module.getContext());
  Shard stage{mesh.getAxisBits(builder.getStrArrayAttr({"pp"}))};
  return findStepFunctions(module)[stage.position()];
}

/// What `--dry-run` compiles: every stage of a pipeline, of which a rank runs one.
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
    if (functions.size() > 1)
      outs() << "@" << options.function << ": ";
    if (int code = runNothing(**compiled); code != ExitSuccess)
      return code;
  }
  return ExitSuccess;
}

/// A plan may have been edited, or written by another tool: overlapping offsets would give wrong
/// results.
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
  compileOptions.emulate = options.device == Device::Emulate;
  return compileOptions;
}

/// The function of a module that is not split over ranks, ready to run.
static Expected<PlannedFunction> compile(mlir::ModuleOp module, mlir::func::FuncOp function,
                                         const CompiledStep::Options &compileOptions) {
  mlir::FailureOr<std::unique_ptr<CompiledStep>> compiled =
      CompiledStep::compile(module, compileOptions);
  if (failed(compiled))
    return createStringError("the step cannot be compiled");
  Expected<StepRoles> roles = StepRoles::find(function);
  if (!roles)
    return roles.takeError();
  PlannedFunction planned{std::move(*compiled),          std::move(*roles), std::nullopt, 0, 0,
                          nameOfProducts(compileOptions)};
  if (auto peak = function->getAttrOfType<mlir::IntegerAttr>(llm::LlmDialect::kPeak))
    planned.peak = peak.getInt();
  if (auto context = function->getAttrOfType<mlir::IntegerAttr>(llm::LlmDialect::kContext))
    planned.context = context.getInt();
  return std::move(planned);
}

static int runFunction(mlir::ModuleOp module, mlir::func::FuncOp function,
                       const RunOptions &options) {
  if (!verifyPlans(module))
    return ExitBadInput;
  Expected<int64_t> transportBytes = joinRanks(function, options);
  if (!transportBytes) {
    // All ranks fail alike, and one says why.
    if (RankJob::rank() == 0)
      return failWith(transportBytes.takeError());
    consumeError(transportBytes.takeError());
    return ExitBadInput;
  }
  if (!dryRun)
    function = functionOfRank(module, function);
  CompiledStep::Options compileOptions = compileOptionsOf(function, options);
  if (options.device == Device::Cuda)
    if (Error error = openDevice(options, compileOptions))
      return failWith(std::move(error));
  if (dryRun)
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

/// Steps with caches: one of decoding, behind perhaps one of prefill.
static int runCached(ArrayRef<std::unique_ptr<InputFile>> files, const RunOptions &options) {
  if (options.generate == 0)
    return fail("'" + options.inputFile +
                "' is a step with caches, which is not trained; say how "
                "many tokens it is to write: --generate 32");
  if (files.size() > 1 && options.device == Device::Cuda)
    return fail("--device=cuda has the buffers of one step; give the one of decoding alone, which "
                "reads prompts too");
  std::vector<PlannedFunction> steps;
  for (const std::unique_ptr<InputFile> &file : files) {
    if (!verifyPlans(*file->module))
      return ExitBadInput;
    CompiledStep::Options compileOptions = compileOptionsOf(file->function, options);
    if (options.device == Device::Cuda)
      if (Error error = openDevice(options, compileOptions))
        return failWith(std::move(error));
    Expected<PlannedFunction> planned = compile(*file->module, file->function, compileOptions);
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
  if (keepCaches && !dryRun)
    return runCached(files, options);
  if (files.size() > 1)
    return fail("two programs are run to generate, both of them steps with caches: import them "
                "with --mode prefill and --mode decode");
  return runFunction(*files.front()->module, files.front()->function, options);
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  // LLVM's library brings a --threads of its own, which nothing here reads.
  if (cl::Option *other = cl::getRegisteredOptions().lookup("threads"))
    other->removeArgument();
  cl::opt<unsigned> threads("threads", cl::cat(category), cl::init(0),
                            cl::desc("Threads of kernels and matmuls (default: all cores)"));
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "llmmem-run: runs a planned training step\n");
  if (Error error = checkOptions())
    return fail(toString(std::move(error)));
  if (describeDevice)
    return printDevice();
  if (threads > 0)
    llmmem_set_threads(static_cast<int>(std::min<unsigned>(threads, INT_MAX)));
  if (threads > static_cast<unsigned>(llmmem_threads()))
    errs() << "llmmem-run: note: --threads=" << threads << ": runs on " << llmmem_threads()
           << " threads, the most that there can be\n";
  mlir::DialectRegistry registry;
  registerExecution(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  return RankJob::leave(runFiles(context, readOptions()));
}
