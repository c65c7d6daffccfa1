//===- FitInference.h - How many sequences a model answers on a card --------===//
//
// Asks of a step of decoding what Fit.h asks of one of training: how many sequences with how long a
// context a card holds. Weights, caches and activations of every answer are those of a plan.
//
// Example: Llama-3-8B in bf16 with a context of 8,192 tokens under 23 * 10^9 bytes. Weights are
// 16.06 GB, the caches of a sequence 8,192 * 131,072 bytes, so six sequences fit.
//
//   options.mode = importer::Mode::Decode;
//   FitModel model = ...;                  // of examples/configs/llama-3-8b.json, with them
//   fitInference(model, {"24GB", 24'000'000'000, 1'000'000'000, false}, {8192})->largestBatch == 6
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_FIT_FITINFERENCE_H
#define LLMMEM_FIT_FITINFERENCE_H

#include "llmmem/Fit/Fit.h"

namespace llmmem {

struct InferenceRequest {
  int64_t context = 0;          // tokens of the longest sequence
  std::optional<int64_t> batch; // none: the largest is looked for
  /// The share of the card that an engine takes when it starts; none: no engine is asked about.
  std::optional<double> utilization;
};

/// What an engine that takes its share beforehand does with it: it reserves, whatever is asked of
/// it later, and hands rows of the caches out.
struct Reservation {
  int64_t reservedBytes = 0; // the share of the card
  int64_t cacheBytes = 0;    // of them, left to caches by weights and activations; 0: not enough
  int64_t sequences = 0;     // of the whole context that these hold
  int64_t usedBytes = 0;     // by weights, activations and the caches of the batch that is shown
  int64_t wastedBytes() const { return reservedBytes - usedBytes; }
};

/// Steps that read prompts, all sequences at once, before tokens are decoded. Each takes `chunk`
/// tokens of each prompt: a longer chunk reads the weights less often, and its activations need
/// more bytes, so what caches leave of the budget decides.
///
/// Example: caches and weights leave bytes for chunks of up to 5,904 tokens of a prompt of 8,192.
/// It takes two steps, and both take 4,096.
struct Prefill {
  int64_t chunk = 0;
  int64_t steps = 0; // for prompts of the whole context
  FitPoint point;    // of a step
};

struct InferenceAnswer {
  Card card;
  InferenceRequest request;
  /// Batch 1, or the one asked for, at the context, by the search for the fewest bytes. What else
  /// is of plans is of those under the card's budget, as the commands make them. The largest batch
  /// is the fastest, too: a step of decoding reads its weights once for all sequences.
  FitPoint asked;
  bool fits = false;              // this batch
  int64_t largestBatch = 0;       // at the context; 0: none
  int64_t longestContext = 0;     // at batch 1, or the one asked for; 0: none
  std::vector<FitPoint> contexts; // of each the largest batch
  std::optional<Reservation> reservation;
  std::optional<Prefill>
      prefill; // of the largest batch, or the one asked for; none: decoding reads
  std::vector<std::string> commands; // that plan that batch
};

/// Answers with plans of @decode and @prefill; the options of `model` have `Mode::Decode`. The
/// error is that of a shape which the model does not have.
llvm::Expected<InferenceAnswer> fitInference(FitModel &model, const Card &card,
                                             const InferenceRequest &request);

/// For people, and for programs (docs/Design/Reports.md).
void printFit(const FitModel &model, const InferenceAnswer &answer, llvm::raw_ostream &os);
llvm::json::Value toJson(const FitModel &model, const InferenceAnswer &answer);

} // namespace llmmem

#endif // LLMMEM_FIT_FITINFERENCE_H
