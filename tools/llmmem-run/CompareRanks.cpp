//===- CompareRanks.cpp - What a run needs alike on all ranks ---------------===//

#include "CompareRanks.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Execution/RankAgreement.h"
#include "llmmem/Execution/RankJob.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <charconv>

using namespace llvm;
using namespace llmmem;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static std::string textOf(bool value) { return value ? "on" : "off"; }
static std::string textOf(int64_t value) { return std::to_string(value); }
static std::string textOf(const std::string &value) { return value.empty() ? "none" : value; }

/// Returns the shortest text that is read as this number.
static std::string textOf(double value) {
  char digits[32];
  std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, value);
  return std::string(digits, end.ptr);
}

static std::string textOf(ArrayRef<int32_t> numbers) {
  auto words = map_range(numbers, [](int32_t number) { return std::to_string(number); });
  return textOf(join(words, ","));
}

/// Compares, of files that each machine may have elsewhere, whether there is one.
static void addPresence(RankAgreement &ranks, StringRef flag, const std::string &file) {
  ranks.add(flag, file.empty() ? "" : "given", textOf(file));
}

static std::string textOf(Device device) {
  return device == Device::Cpu ? "cpu" : device == Device::Cuda ? "cuda" : "emulate";
}

static std::string textOf(RunOptions::Products products) {
  using Products = RunOptions::Products;
  return products == Products::Best      ? "best"
         : products == Products::Library ? "library"
                                         : "generated";
}

/// Returns the seed for the comparison. That of a checkpoint is compared with the checkpoint.
static std::string seedOf(const RunOptions &options) {
  if (options.seed)
    return std::to_string(*options.seed);
  return options.loadFile.empty() && options.resumeFile.empty() ? "0" : "of the checkpoint";
}

//===----------------------------------------------------------------------===//
// Steps and flags
//===----------------------------------------------------------------------===//

static std::string hashOf(mlir::ModuleOp module) {
  std::string text;
  raw_string_ostream os(text);
  module->print(os, mlir::OpPrintingFlags().enableDebugInfo(false));
  return hashText(text);
}

static void addSteps(RankAgreement &ranks, ArrayRef<mlir::func::FuncOp> steps,
                     const RunOptions &options) {
  using Dialect = llm::LlmDialect;
  for (auto [step, path] : zip_equal(steps, options.inputFiles)) {
    std::string hash = hashOf(step->getParentOfType<mlir::ModuleOp>());
    ranks.add("the step", hash, describeContents(path, hash));
    if (mlir::Attribute mesh = step->getAttr(Dialect::kMesh)) {
      std::string text;
      raw_string_ostream(text) << mesh;
      ranks.add("the mesh", text);
    }
    if (auto arena = step->getAttrOfType<mlir::IntegerAttr>(Dialect::kArena))
      ranks.add("an arena of", textOf(arena.getInt()) + " bytes");
  }
}

static void addTraining(RankAgreement &ranks, const RunOptions &options) {
  ranks.add("--steps", textOf(options.steps));
  ranks.add("--lr", textOf(options.learningRate.highest));
  ranks.add("--warmup-steps", textOf(options.learningRate.warmupSteps));
  ranks.add("--cosine-steps", textOf(options.learningRate.cosineSteps));
  ranks.add("--linear-steps", textOf(options.learningRate.linearSteps));
  ranks.add("--linear-from", textOf(options.learningRate.linearFrom));
  ranks.add("--inverse-root", textOf(options.learningRate.inverseRoot));
  ranks.add("--shuffle", textOf(options.shuffle));
  addPresence(ranks, "--load", options.loadFile);
  addPresence(ranks, "--resume", options.resumeFile);
}

/// Ranks write files together.
static void addOutputs(RankAgreement &ranks, const RunOptions &options) {
  ranks.add("--save", textOf(options.saveFile));
  ranks.add("--save-every", textOf(options.saveEvery));
  ranks.add("--file-bytes", textOf(options.fileBytes));
  ranks.add("--save-gradients", textOf(options.gradientsFile));
  ranks.add("--save-logits", textOf(options.logitsFile));
  // What is printed is gathered from all ranks.
  ranks.add("--json", textOf(options.asJson));
  ranks.add("--no-digest", textOf(!options.digest));
  ranks.add("--profile",
            textOf(options.profile || !options.profileJson.empty() || !options.trace.empty()));
}

static void addGeneration(RankAgreement &ranks, const RunOptions &options) {
  ranks.add("--generate", textOf(options.generate));
  ranks.add("--temperature", textOf(options.sampling.temperature));
  ranks.add("--top-k", textOf(options.sampling.topK));
  ranks.add("--top-p", textOf(options.sampling.topP));
  ranks.add("--stop", textOf(ArrayRef<int32_t>(options.stop)));
}

/// Values that all ranks compute must have the same bits on each.
static void addDevices(RankAgreement &ranks, const RunOptions &options) {
  ranks.add("--device", textOf(options.device));
  ranks.add("--gemm", options.libraryMatmuls ? "onednn" : "builtin");
  ranks.add("--products", textOf(options.products));
  ranks.add("--tensor-cores",
            options.tensorCores ? textOf(static_cast<int64_t>(*options.tensorCores)) : "best");
  addPresence(ranks, "--nccl", options.device == Device::Emulate ? options.nccl : "");
}

Error llmmem::compareSteps(ArrayRef<mlir::func::FuncOp> steps, const RunOptions &options) {
  if (RankJob::size() == 1)
    return Error::success();
  RankAgreement ranks;
  addSteps(ranks, steps, options);
  ranks.add("--seed", seedOf(options));
  addTraining(ranks, options);
  addOutputs(ranks, options);
  addGeneration(ranks, options);
  addDevices(ranks, options);
  return ranks.compare();
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

static std::string filesOf(const RunOptions &options) {
  std::vector<std::string> names;
  for (const std::optional<std::string> &file : {options.dataFile, options.tokensFile})
    if (file)
      names.push_back(*file);
  for (const std::string &file : {options.imagesFile, options.labelsFile, options.segmentsFile})
    if (!file.empty())
      names.push_back(file);
  return names.empty() ? "noise" : join(names, ", ");
}

Error llmmem::compareData(const StepFeed &feed, StringRef products, const RunOptions &options) {
  if (RankJob::size() == 1)
    return Error::success();
  std::string hash = feed.contentsHash();
  RankAgreement ranks;
  ranks.add("the data", hash, describeContents(filesOf(options), hash));
  ranks.add("matmuls by", products.str());
  return ranks.compare();
}

Error llmmem::compareCheckpoints(const SafeTensors &file, StringRef path) {
  if (RankJob::size() == 1)
    return Error::success();
  std::string hash = file.contentsHash();
  RankAgreement ranks;
  ranks.add("the checkpoint", hash, describeContents(path, hash));
  return ranks.compare();
}

Error llmmem::comparePrompts(ArrayRef<std::vector<int32_t>> prompts, int64_t choices) {
  if (RankJob::size() == 1)
    return Error::success();
  RankAgreement ranks;
  auto texts =
      map_range(prompts, [](const std::vector<int32_t> &tokens) { return textOf(tokens); });
  std::string all = join(texts, ";");
  ranks.add("the prompts' tokens", hashText(all),
            all.size() > 80 ? all.substr(0, 80) + "... (" + hashText(all).substr(0, 8) + ")" : all);
  ranks.add("a vocabulary to choose from of", textOf(choices));
  return ranks.compare();
}
