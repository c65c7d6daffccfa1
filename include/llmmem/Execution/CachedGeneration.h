//===- CachedGeneration.h - Tokens from a step with caches ------------------===//
//
// Runs the planned @decode of an import, and optionally its @prefill, on a batch of sequences. Each
// token passes through the model once, and its keys and values stay in the caches.
//
//   Expected<CachedGeneration> run = CachedGeneration::create(decode, roles, context);
//   run->addPrefill(prefill, rolesOfPrefill);              // optional: prompts in chunks
//   run->model().loadParameters(file);
//   run->feed({{3, 1, 4}, {2, 7}});                        // two prompts
//   while (...)
//     run->feed({{choice from run->logits(0)}, {choice from run->logits(1)}});
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_CACHEDGENERATION_H
#define LLMMEM_EXECUTION_CACHEDGENERATION_H

#include "llmmem/Execution/CachePages.h"
#include "llmmem/Execution/ModelBuffers.h"

namespace llmmem {

class CachedGeneration {
public:
  using Tokens = std::vector<int32_t>;

  /// Fails where the function is no step that reads one token a sequence and has caches. `context`
  /// is its `llm.context`.
  static llvm::Expected<CachedGeneration> create(const CompiledStep &decode, StepRoles roles,
                                                 int64_t context);
  /// Adds a step that reads several tokens at a time, on the same parameters and caches. Fails
  /// where these differ; two imports with the same --batch, --context and --page agree.
  llvm::Error addPrefill(const CompiledStep &prefill, StepRoles roles);

  ModelBuffers &model() { return decode; }
  int64_t batch() const { return static_cast<int64_t>(lengths.size()); }
  int64_t context() const { return longest; }
  int64_t vocabulary() const { return decode.argumentRoles().vocabulary; }
  int64_t lengthOf(int64_t sequence) const { return lengths[sequence]; }

  /// Appends `tokens[b]`, which may be empty, to sequence b. Fails where there are more lists than
  /// sequences, a token is not in the vocabulary, a sequence would exceed the context, or no page
  /// is left.
  llvm::Error feed(llvm::ArrayRef<Tokens> tokens);
  /// Returns the logits that follow the last token of a sequence.
  llvm::ArrayRef<double> logits(int64_t sequence) const { return logitsOf[sequence]; }
  /// Returns the use of the layers whose caches hold every token.
  CacheUse use() const;

private:
  CachedGeneration(ModelBuffers decode, int64_t batch, int64_t context);
  llvm::Error check(llvm::ArrayRef<Tokens> tokens) const;
  llvm::Error runStep(ModelBuffers &step, llvm::ArrayRef<llvm::ArrayRef<int32_t>> tokens);
  void readLogits(ModelBuffers &step, int64_t sequence);

  ModelBuffers decode;
  std::optional<ModelBuffers> prefill;
  int64_t longest;
  std::optional<CachePages> pages;
  std::vector<int64_t> lengths;
  std::vector<std::vector<double>> logitsOf;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_CACHEDGENERATION_H
