//===- TextGeneration.cpp - Text from a trained model ----------------------===//

#include "llmmem/Execution/TextGeneration.h"
#include "llmmem/Execution/CounterSamples.h"
#include "llmmem/Execution/TensorBytes.h"
#include <cmath>

using namespace llmmem;

llvm::Expected<TextGeneration> TextGeneration::create(const CompiledStep &forward,
                                                      StepRoles roles) {
  if (roles.targets || roles.labels || forward.results().size() != 1)
    return llvm::createStringError("to generate, give a planned @forward: llmmem-import "
                                   "config.json --batch 1 --seq 256 --mode forward");
  if (llvm::Error error = roles.checkWritesText())
    return llvm::createStringError("to generate, give a @forward of inference: " +
                                   llvm::toString(std::move(error)));
  mlir::RankedTensorType ids = forward.arguments()[*roles.ids].type,
                         logits = forward.results()[0].type;
  if (ids.getRank() != 2 || ids.getDimSize(0) != 1 || ids.getDimSize(1) < 2 ||
      logits.getRank() != 3 || logits.getDimSize(1) != ids.getDimSize(1) ||
      !floatKindOf(logits.getElementType()))
    return llvm::createStringError(
        "to generate, give a @forward of one sequence (--batch 1, --seq 2 or more) that "
        "returns logits of [1, seq, vocabulary]");
  if (roles.vocabulary < 256)
    return llvm::createStringError("a vocabulary of " + llvm::Twine(roles.vocabulary) +
                                   " cannot represent the 256 bytes of a text");
  llvm::Expected<ModelBuffers> buffers = ModelBuffers::allocate(forward, std::move(roles));
  if (!buffers)
    return buffers.takeError();
  return TextGeneration(std::move(*buffers));
}

/// A causal model reads only positions to the left, so the padding on the right has no effect.
llvm::Expected<std::vector<double>> TextGeneration::logitsAfter(llvm::StringRef window) {
  llvm::MutableArrayRef<int32_t> ids = buffers.integers(*buffers.argumentRoles().ids);
  llvm::fill(ids, 0);
  for (auto [id, byte] : llvm::zip(ids, window))
    id = static_cast<unsigned char>(byte);
  if (llvm::Error error = buffers.run())
    return std::move(error);
  mlir::RankedTensorType type = buffers.compiled().results()[0].type;
  FloatKind kind = *floatKindOf(type.getElementType());
  int64_t width = type.getDimSize(2);
  std::vector<double> logits(256);
  for (size_t id = 0; id < logits.size(); ++id)
    logits[id] = readFloat(kind, buffers.stepMemory().result(0), (window.size() - 1) * width + id);
  return logits;
}

/// Returns the first index at which the running sum of exp(logit / temperature) exceeds the
/// fraction `uniform` of the total.
static size_t sampleFrom(llvm::ArrayRef<double> logits, double temperature, double uniform) {
  double highest = *llvm::max_element(logits);
  std::vector<double> sums;
  double sum = 0.0;
  for (double logit : logits)
    sums.push_back(sum += std::exp((logit - highest) / temperature));
  return std::min<size_t>(llvm::upper_bound(sums, uniform * sum) - sums.begin(), logits.size() - 1);
}

llvm::Expected<char> TextGeneration::next(llvm::StringRef text, const Options &options) {
  // Training gives the last position of a window no target, so its logits mean nothing.
  size_t seq = feedShapeOf(buffers.compiled(), buffers.argumentRoles()).seq;
  llvm::Expected<std::vector<double>> logits = logitsAfter(text.take_back(seq - 1));
  if (!logits)
    return logits.takeError();
  if (options.temperature == 0.0)
    return static_cast<char>(llvm::max_element(*logits) - logits->begin());
  double uniform = llmmem_sample_uniform(streamOf(options.seed, "generate"), text.size());
  return static_cast<char>(sampleFrom(*logits, options.temperature, uniform));
}
