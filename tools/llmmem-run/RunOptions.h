//===- RunOptions.h - What a run was asked for -----------------------------===//

#ifndef LLMMEM_TOOLS_LLMMEM_RUN_RUNOPTIONS_H
#define LLMMEM_TOOLS_LLMMEM_RUN_RUNOPTIONS_H

#include "llmmem/Execution/ChooseToken.h"
#include "llmmem/Execution/CompiledStep.h"
#include "llmmem/Execution/LearningRate.h"
#include "llmmem/Execution/SafeTensors.h"
#include "llmmem/Execution/StepRoles.h"

namespace llmmem {

enum class Device { Cpu, Cuda, Emulate };

/// Many fields: each is a flag of llmmem-run.
struct RunOptions {
  bool dryRun = false, describeDevice = false;
  unsigned threads = 0;                      // 0: all cores
  std::optional<int64_t> copyBytesPerSecond; // to and from the host; none: as fast as they can be
  Device device = Device::Cpu;
  std::string cudaDriver = "libcuda.so.1";
  /// What multiplies on a GPU; `Best` is the library where it can be opened.
  enum class Products { Best, Library, Generated };
  Products products = Products::Best;
  std::string cublasLt; // empty: what NVIDIA calls it
  std::string nccl;     // empty: what NVIDIA calls it, where several ranks need it
  std::string productAlgorithms;
  int64_t steps = 1;
  std::optional<uint64_t> seed;
  std::string inputFile;               // the last of them
  std::vector<std::string> inputFiles; // one, or a prefill and a decode
  std::optional<std::string> dataFile, tokensFile;
  std::string tokenizerFile; // empty: the bytes of a text are its tokens
  std::string labelsFile;    // empty: what is predicted are the ids themselves
  std::string segmentsFile;  // empty: each row is one sequence
  std::string imagesFile;    // empty: sampled images
  bool shuffle = false;
  LearningRate learningRate;
  std::string loadFile, resumeFile, saveFile, gradientsFile;
  int64_t saveEvery = 0;            // steps; 0: after the last alone
  int64_t fileBytes = kBytesOfFile; // of a checkpoint in several
  /// Nothing chooses what suits the device.
  std::optional<TensorCores> tensorCores;
  bool asJson = false, digest = true, poison = false, optimize = true, libraryMatmuls = false;
  bool lacksLibrary = false; // matmuls are generated on a CPU because no library was found
  double progressSeconds = 5;
  bool profile = false;
  std::string profileJson, trace; // files

  int64_t generate = 0;             // tokens, or bytes of a text; 0: train
  std::vector<std::string> prompts; // at least one
  Sampling sampling;
  std::vector<int32_t> stop; // tokens that end a sequence
  std::string logitsFile;
};

/// A planned function, ready to run, and what its plan claims.
struct PlannedFunction {
  std::unique_ptr<CompiledStep> compiled;
  StepRoles roles;
  std::optional<int64_t> peak;
  /// The `llm.context` of a step with caches, else 0.
  int64_t context = 0;
  /// What the process held more once it had joined its job: MPI's own, which no plan has.
  int64_t transportBytes = 0;
  /// What computes matmuls, for messages: "cuBLASLt 13.1.0", "generated code".
  std::string products;
};

/// Runs the steps that `options` asks for, and prints their results. Returns the exit code.
llvm::Expected<int> train(PlannedFunction &step, const RunOptions &options);

/// Writes a text that begins with the prompt to stdout.
llvm::Error generate(PlannedFunction &forward, const RunOptions &options);

/// Writes what follows the prompts to stdout, by a step of decoding, optionally after one of
/// prefill.
llvm::Error generateCached(llvm::MutableArrayRef<PlannedFunction> steps, const RunOptions &options);

} // namespace llmmem

#endif // LLMMEM_TOOLS_LLMMEM_RUN_RUNOPTIONS_H
