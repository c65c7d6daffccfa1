//===- RunFlags.cpp - The command line of a run -----------------------------===//

#include "RunFlags.h"
#include "Flag.h"
#include "llmmem/Planning/Offload/OffloadProblem.h"
#include "llmmem/Runtime/Gemm.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/ExitCode.h"
#include "llvm/Support/Process.h"
#include <cmath>

using namespace llvm;
using namespace llmmem;

template <typename T>
static std::optional<T> given(const cl::opt<T> &option) {
  return option.getNumOccurrences() ? std::optional<T>(option) : std::nullopt;
}

namespace {
/// Has a member for each flag, which is there while the command line is read: a program has several
/// tools. Many fields: the flags.
class RunFlags {
public:
  Expected<RunOptions> read(int argc, char **argv) {
    // LLVM's library brings a --threads of its own, which nothing here reads.
    if (cl::Option *other = cl::getRegisteredOptions().lookup("threads"))
      other->removeArgument();
    BoundFlag<unsigned> threads(category, options.threads, "threads", "",
                                "Threads of kernels and matmuls (default: all cores)");
    cl::HideUnrelatedOptions(category);
    cl::ParseCommandLineOptions(argc, argv, "llmmem-run: runs a planned training step\n");
    if (Error error = checkFlags())
      return std::move(error);
    deriveOptions();
    return options;
  }

private:
  cl::OptionCategory category{"Options of the run"};

  RunOptions options; // what flags set, with their defaults

  cl::list<std::string> inputFiles{
      cl::Positional, cl::cat(category),
      cl::desc("<planned step> (to generate, two: prefill and decode)")};
  BoundFlag<int64_t> steps{category, options.steps, "steps", "", "Steps to run (default 1)"};
  Flag<uint64_t> seed{category, "seed", "",
                      "Seed of parameters and dropout (default: a checkpoint's, or 0)",
                      cl::init(0)};
  Flag<std::string> dataFile{category, "data", "text",
                             "Train on the bytes of this file (- is stdin)"};
  Flag<std::string> tokensFile{category, "tokens", "ids",
                               "Train on token ids separated by white space (- is stdin); "
                               "with --generate the ids of prompts: 1,2,3;4,5"};
  BoundFlag<std::string> tokenizerFile{category, options.tokenizerFile, "tokenizer",
                                       "tokenizer.json",
                                       "Read --data and --prompt, and write text, by the tokenizer "
                                       "of a published model (default: a byte is a token)"};
  BoundFlag<std::string> labelsFile{
      category, options.labelsFile, "labels", "ids",
      "What to predict at the place of each id of --tokens or --data, -100 where there is "
      "no loss (default: the ids; masked models need it)"};
  BoundFlag<std::string> segmentsFile{
      category, options.segmentsFile, "segments", "numbers",
      "For each id the number of the sequence that it belongs to, below 0 for padding, "
      "of a model that was imported with --packed (default: each row is one)"};
  BoundFlag<std::string> imagesFile{
      category, options.imagesFile, "images", "file.safetensors",
      "Train on the images of this file, 'pixels' [images, channels, height, width] in "
      "floats with 'labels' [images] (default, of a step of images: noise)"};
  BoundFlag<bool> shuffleRows{
      category, options.shuffle, "shuffle", "",
      "Rows begin at positions sampled from the seed and the step (default: one after another)"};
  BoundFlag<double> learningRate{category, options.learningRate.highest, "lr", "",
                                 "Learning rate (default 1e-3)"};
  BoundFlag<int64_t> warmupSteps{category, options.learningRate.warmupSteps, "warmup-steps", "",
                                 "The learning rate rises in a line until this step (default 0)"};
  BoundFlag<int64_t> cosineSteps{category, options.learningRate.cosineSteps, "cosine-steps", "",
                                 "... and falls to a tenth at this step (default 0: it stays)"};
  BoundFlag<int64_t> linearSteps{
      category, options.learningRate.linearSteps, "linear-steps", "",
      "... or falls in a line to 0 at this step (default 0: it does not)"};
  BoundFlag<int64_t> linearFrom{category, options.learningRate.linearFrom, "linear-from", "",
                                "The step that this line begins at (default: where it has risen)"};
  BoundFlag<bool> inverseRoot{category, options.learningRate.inverseRoot, "inverse-root", "",
                              "... or falls as 1 / sqrt(step) after --warmup-steps"};
  BoundFlag<std::string> loadFile{category, options.loadFile, "load", "safetensors",
                                  "Begin with these parameters; continue where a run saved them"};
  BoundFlag<std::string> resumeFile{
      category, options.resumeFile, "resume", "safetensors",
      "Continue a run where it saved; refuses a file of parameters alone"};
  BoundFlag<std::string> saveFile{
      category, options.saveFile, "save", "safetensors",
      "Write parameters and optimizer state after the last step; a name that ends in "
      ".index.json writes several files and their index"};
  Flag<std::string> fileBytes{category, "file-bytes", "bytes",
                              "With --save of an index: the most bytes of each file (default "
                              "5GB); a larger tensor has a file to itself",
                              cl::init("5GB")};
  BoundFlag<int64_t> saveEvery{category, options.saveEvery, "save-every", "steps",
                               "With --save: write the file after every so many steps as well"};
  BoundFlag<std::string> gradientsFile{category, options.gradientsFile, "save-gradients",
                                       "safetensors", "Write the gradients of the first step"};
  BoundFlag<bool> asJson{category, options.asJson, "json", "",
                         "Print one line of JSON for each step"};
  Flag<bool> noDigest{
      category, "no-digest", "",
      "Leave the digest out of --json: it fetches all parameters from a GPU each step"};
  BoundFlag<bool> poison{
      category, options.poison, "poison", "",
      "Fill arena ranges with a pattern of NaNs when their values die; no result may change"};
  BoundFlag<bool> optimize{category, options.optimize, "optimize", "",
                           "Optimize generated code of the CPU (default); --optimize=false "
                           "compiles sooner, runs slower and changes no bit"};
  Flag<std::string> linkThrottle{category, "link-throttle", "rate",
                                 "Copies to and from the host move at most so much, each way, "
                                 "as over a slow link (1MB/s): it changes times alone"};
  BoundFlag<bool> profile{category, options.profile, "profile", "",
                          "Print the time of each kind of kernel, by phase"};
  BoundFlag<std::string> profileJson{category, options.profileJson, "profile-json", "file",
                                     "Write the time of each call as JSON"};
  BoundFlag<std::string> traceFile{category, options.trace, "trace", "file",
                                   "Write the last step as a Chrome trace"};
  BoundFlag<double> progressSeconds{
      category, options.progressSeconds, "progress-seconds", "",
      "Seconds between progress lines where stderr is no terminal (default 5)"};
  BoundFlag<int64_t> generateBytes{category, options.generate, "generate", "bytes",
                                   "Write this much text by a planned @forward with --load, or so "
                                   "many tokens of each prompt by steps with caches"};
  cl::list<std::string> prompts{
      "prompt", cl::cat(category), cl::value_desc("text"),
      cl::desc("What the text begins with (default: a line's end); of a step with caches "
               "once for each of its sequences")};
  BoundFlag<double> temperature{
      category, options.sampling.temperature, "temperature", "",
      "Logits are divided by this; 0 takes the most likely byte (default 1)"};
  BoundFlag<int64_t> topK{category, options.sampling.topK, "top-k", "K",
                          "Choose among the K most likely tokens (default 0: all)"};
  BoundFlag<double> topP{
      category, options.sampling.topP, "top-p", "P",
      "Choose among the most likely tokens of this probability together (default 1)"};
  cl::list<int32_t> stop{"stop", cl::cat(category), cl::CommaSeparated, cl::value_desc("ids"),
                         cl::desc("Tokens that end a sequence, of a step with caches")};
  BoundFlag<std::string> logitsFile{category, options.logitsFile, "save-logits", "safetensors",
                                    "Write what each token was chosen by, of a step with caches"};
  enum class Gemm { Best, BuiltIn, OneDnn };
  Choice<Gemm> gemm{
      "gemm", cl::cat(category), cl::init(Gemm::Best),
      cl::desc("What computes matmuls on the CPU (default: onednn where this machine has it):"),
      cl::values(clEnumValN(Gemm::BuiltIn, "builtin",
                            "generated code: equal bits for any number of threads"),
                 clEnumValN(Gemm::OneDnn, "onednn",
                            "oneDNN for f32, and for bf16 where the processor has units for it"))};
  Choice<Device> device{"device", cl::cat(category), cl::init(Device::Cpu),
                        cl::desc("What runs the step (default: cpu):"),
                        cl::values(clEnumValN(Device::Cpu, "cpu", "threads of the CPU"),
                                   clEnumValN(Device::Cuda, "cuda", "an NVIDIA GPU"),
                                   clEnumValN(Device::Emulate, "emulate",
                                              "the CPU instead of a GPU, each access "
                                              "of its kernels checked"))};
  BoundFlag<bool> describeDevice{category, options.describeDevice, "describe-device", "",
                                 "Print what --device=cuda would run on as JSON, and run nothing"};
  BoundFlag<bool> dryRun{
      category, options.dryRun, "dry-run", "",
      "Compile the step and reserve its memory without filling it, and run nothing"};
  BoundFlag<std::string> cudaDriver{category, options.cudaDriver, "cuda-driver", "library",
                                    "The CUDA driver, as dlopen finds it (default libcuda.so.1)"};
  using Products = RunOptions::Products;
  Choice<Products> products{
      "products", cl::cat(category), cl::init(Products::Best),
      cl::desc("What computes matmuls on a GPU (default: library where it can be opened; with "
               "--device=emulate generated):"),
      cl::values(clEnumValN(Products::Library, "library", "cuBLASLt, f32 and bf16"),
                 clEnumValN(Products::Generated, "generated", "kernels of llmmem"))};
  Choice<TensorCores> tensorCores{
      "tensor-cores", cl::cat(category), cl::init(TensorCores::Warp),
      cl::desc(
          "How kernels of llmmem multiply bf16 and f16 on a GPU (default: warpgroup-tma on sm_90a; "
          "with --device=emulate warp):"),
      cl::values(clEnumValN(TensorCores::Warp, "warp", "mma.sync, of sm_80 and later"),
                 clEnumValN(TensorCores::Warpgroup, "warpgroup", "wgmma, of sm_90a alone"),
                 clEnumValN(TensorCores::WarpgroupTma, "warpgroup-tma",
                            "wgmma, with tiles that the tensor memory accelerator copies"))};
  BoundFlag<std::string> cublasLt{
      category, options.cublasLt, "cublas-lt", "library",
      "cuBLASLt, as dlopen finds it (default libcublasLt.so.13, else .12: in the folders of "
      "LLMMEM_CUDA_PATH, where dlopen looks, or next to python3)"};
  BoundFlag<std::string> nccl{
      category, options.nccl, "nccl", "library",
      "NCCL, as dlopen finds it, for collectives of GPUs (default libnccl.so.2); with "
      "--device=emulate one that takes addresses of the host"};
  BoundFlag<std::string> productAlgorithms{
      category, options.productAlgorithms, "product-algorithms", "folder",
      "Time the library's algorithms for each form of matmul once, and keep the fastest in this "
      "folder, for all runs on this device and version of the library"};
  const std::string help = R"(
EXAMPLES
  llmmem-opt --checkpoint-budget=2GB model.mlir -o step.mlir
  llmmem-run step.mlir --steps 20 --data book.txt
  llmmem-run step.mlir --steps 20 --data book.txt --device=cuda
  llmmem-run step.mlir --tokens ids.txt --load gpt2.safetensors --save trained.safetensors
  llmmem-run forward.mlir --load trained.safetensors --generate 500 --prompt "Once upon"
  llmmem-run prefill.mlir decode.mlir --load model.safetensors.index.json --generate 64 --tokens "1,2,3;4,5" --top-k 50
  llmmem-run decode.mlir --load model.safetensors --tokenizer tokenizer.json --generate 64 --prompt "The sea"
)" + exitCodeHelp("llmmem-run");
  cl::extrahelp extraHelp{help};

  /// Returns the bytes per second each way, or none where copies are as fast as they can be.
  Expected<std::optional<int64_t>> readThrottle() {
    if (!linkThrottle.getNumOccurrences())
      return std::nullopt;
    Result<planning::HostLink> link = planning::parseHostLink(linkThrottle.getValue());
    if (!link)
      return createStringError("--link-throttle: " + link.error());
    if (link->up != link->down)
      return createStringError("--link-throttle: expected one rate for both ways, as in 1MB/s");
    return link->up;
  }

  /// Refuses to print other things on stdout, which has a line for each step, or the text.
  Error checkStdout() {
    for (auto [flag, file] : {std::pair<StringRef, StringRef>("--save", options.saveFile),
                              {"--save-gradients", options.gradientsFile},
                              {"--save-logits", options.logitsFile},
                              {"--profile-json", options.profileJson},
                              {"--trace", options.trace}})
      if (file == "-")
        return createStringError(flag + ": stdout has what the run prints; give it a file");
    return Error::success();
  }

  /// Refuses flags of a training where text is written, and the other way round.
  Error checkPurpose() {
    if (describeDevice || dryRun)
      return Error::success();
    if (generateBytes == 0 && (logitsFile.getNumOccurrences() || stop.getNumOccurrences()))
      return createStringError("--save-logits and --stop: only with --generate");
    const cl::Option *ofTraining =
        firstGiven(dataFile, labelsFile, imagesFile, segmentsFile, steps, learningRate, resumeFile,
                   saveFile, gradientsFile, shuffleRows);
    if (generateBytes > 0 && ofTraining)
      return createStringError("--" + ofTraining->ArgStr + ": is of a training, and not with " +
                               "--generate, which begins with the parameters of --load");
    return Error::success();
  }

  Error checkTraining() {
    if (saveEvery < 0 || (saveEvery > 0 && options.saveFile.empty()))
      return createStringError("--save-every: expected a number of steps, 1 or more, and --save");
    if (Error error = parseByteSize(fileBytes).takeError())
      return createStringError("--file-bytes: " + toString(std::move(error)));
    return refuse(
        {{!options.resumeFile.empty() && !options.loadFile.empty(),
          "expected --load or --resume, not both"},
         {steps < 1, "--steps: expected a number of steps, 1 or more"},
         {!(learningRate >= 0) || !std::isfinite(learningRate),
          "--lr: expected a number, 0 or more"},
         {warmupSteps < 0, "--warmup-steps: expected a number of steps, 0 or more"},
         {cosineSteps != 0 && cosineSteps <= warmupSteps,
          "--cosine-steps: expected a step after those of --warmup-steps"},
         {linearSteps != 0 && linearSteps <= std::max<int64_t>(warmupSteps, linearFrom),
          "--linear-steps: expected a step after those of --warmup-steps and --linear-from"},
         {linearFrom != 0 && (linearSteps == 0 || linearFrom < warmupSteps),
          "--linear-from: expected a step after those of --warmup-steps, and --linear-steps"},
         {(cosineSteps != 0) + (linearSteps != 0) + inverseRoot > 1,
          "--cosine-steps, --linear-steps and --inverse-root: expected one of them"},
         {!(progressSeconds >= 0), "--progress-seconds: expected a number of seconds, 0 or more"}});
  }

  Error checkGeneration() {
    return refuse({{generateBytes < 0, "--generate: expected a number of bytes, 1 or more"},
                   {is_contained(prompts, std::string()), "--prompt: expected at least one byte"},
                   {topK < 0, "--top-k: expected a number of tokens, 1 or more, or 0 for all"},
                   {!(topP > 0 && topP <= 1), "--top-p: expected a probability above 0, up to 1"},
                   {!options.tokenizerFile.empty() && tokensFile.getNumOccurrences(),
                    "expected --tokenizer or --tokens, not both: ids need no tokenizer"},
                   {!prompts.empty() && generateBytes > 0 && tokensFile.getNumOccurrences(),
                    "expected --prompt or --tokens, not both"},
                   {!(temperature >= 0) || !std::isfinite(temperature),
                    "--temperature: expected a number, 0 or more"}});
  }

  /// A library that is asked for by name must be there.
  Error checkGemm() {
    bool isNamed =
        gemm == Gemm::OneDnn || llvm::sys::Process::GetEnv("LLMMEM_ONEDNN").value_or("") != "";
    if (device != Device::Cpu || gemm == Gemm::BuiltIn || !isNamed || llmmem_find_gemm_library())
      return Error::success();
    return createStringError(Twine(llmmem_why_no_gemm_library()) + "; --gemm=builtin needs none");
  }

  Error checkMachine() {
    if (Error error = checkGemm())
      return error;
    if (Error error = readThrottle().takeError())
      return error;
    if (device != Device::Cpu && (poison || gemm == Gemm::OneDnn))
      return createStringError("--poison and --gemm=onednn: only with --device=cpu");
    if (device == Device::Emulate &&
        (profile || !options.profileJson.empty() || !options.trace.empty()))
      return createStringError("--profile, --profile-json and --trace: not with --device=emulate, "
                               "whose time says nothing of a GPU's");
    return Error::success();
  }

  /// Flags that only one device has a use for.
  Error checkDevice() {
    return refuse(
        {{describeDevice && device != Device::Cuda, "--describe-device: only with --device=cuda"},
         {device == Device::Cpu && products != Products::Best,
          "--products: only with --device=cuda or emulate; see --gemm"},
         {device == Device::Cpu && tensorCores.getNumOccurrences(),
          "--tensor-cores: only with --device=cuda or emulate"},
         {device == Device::Cpu && !options.nccl.empty(),
          "--nccl: only with --device=cuda or emulate; on CPUs ranks meet over MPI"},
         {device != Device::Cuda && !options.productAlgorithms.empty(),
          "--product-algorithms: only with --device=cuda"},
         {products == Products::Generated && !options.productAlgorithms.empty(),
          "--product-algorithms: only for matmuls of the library"}});
  }

  /// Each is asked in turn; the first error is the one that is said.
  Error checkFlags() {
    for (auto check :
         {&RunFlags::checkTraining, &RunFlags::checkGeneration, &RunFlags::checkMachine,
          &RunFlags::checkPurpose, &RunFlags::checkStdout, &RunFlags::checkDevice})
      if (Error error = (this->*check)())
        return error;
    return Error::success();
  }

  /// Sets what is not a flag's value as it stands.
  void deriveOptions() {
    options.copyBytesPerSecond = cantFail(readThrottle()); // checked by checkFlags
    options.seed = given(seed);
    options.inputFiles = inputFiles;
    if (options.inputFiles.empty())
      options.inputFiles = {"-"};
    options.inputFile = options.inputFiles.back();
    options.dataFile = given(dataFile);
    options.tokensFile = given(tokensFile);
    options.fileBytes = cantFail(parseByteSize(fileBytes)); // checked by checkFlags
    options.digest = !noDigest;
    options.device = device;
    options.products = products;
    if (tensorCores.getNumOccurrences())
      options.tensorCores = tensorCores;
    bool wantsOneDnn = device == Device::Cpu && gemm != Gemm::BuiltIn;
    bool isByOneDnn = wantsOneDnn && llmmem_find_gemm_library();
    options.lacksLibrary = wantsOneDnn && !isByOneDnn;
    // The emulator computes what a library is documented to compute.
    bool isEmulated = device == Device::Emulate && products == Products::Library;
    options.libraryMatmuls = isByOneDnn || isEmulated;
    options.prompts = prompts;
    if (options.prompts.empty())
      options.prompts = {"\n"};
    options.stop = stop;
  }
};
} // namespace

Expected<RunOptions> llmmem::readFlags(int argc, char **argv) {
  return RunFlags().read(argc, argv);
}
