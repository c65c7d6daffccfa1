//===- FitInference.h - How many sequences a model answers on a card --------===//
//
// Answers for a step of decoding what Fit.h answers for training: how many sequences with how long
// a context a card holds. The weights, caches and activations of every answer are those of a plan.
//
// Example: Llama-3-8B in bf16 with a context of 8,192 tokens under 23 * 10^9 bytes. Weights take
// 16.06 GB, and the caches of a sequence take 8,192 * 131,072 bytes, so six sequences fit.
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
  int64_t context = 0;          // The number of tokens of the longest sequence.
  std::optional<int64_t> batch; // None: the largest one is searched for.
  /// Gives the share of the card that an engine reserves when it starts; none means that no engine
  /// is asked about.
  std::optional<double> utilization;
};

/// Says what an engine does with the share that it reserves at its start: whatever it is asked
/// later, it assigns rows of its caches.
struct Reservation {
  int64_t reservedBytes = 0; // The engine's share of the card.
  int64_t cacheBytes = 0;    // What weights and activations leave to caches; 0 means not enough.
  int64_t sequences = 0;     // The number of sequences of the whole context that these bytes
                             // hold.
  int64_t usedBytes = 0;     // What weights, activations and the caches of the shown batch use.
  int64_t wastedBytes() const { return reservedBytes - usedBytes; }
};

/// Describes the steps that read the prompts of all sequences at once, before decoding. Each reads
/// `chunk` tokens of each prompt. A longer chunk reads the weights less often, but its activations
/// need more bytes, so the bytes that caches leave of the budget decide.
///
/// Example: caches and weights leave bytes for chunks of up to 5,904 tokens of a prompt of 8,192.
/// The prompt takes two steps, and each reads 4,096 tokens.
struct Prefill {
  int64_t chunk = 0;
  int64_t steps = 0; // For prompts of the whole context.
  FitPoint point;    // Describes one step.
};

struct InferenceAnswer {
  Card card;
  InferenceRequest request;
  /// Has batch 1, or the requested one, at the context, and comes from the search for the fewest
  /// bytes. All other plans are under the card's budget, as the commands make them. The largest
  /// batch is also the fastest, because a step of decoding reads its weights once for all
  /// sequences.
  FitPoint asked;
  bool fits = false;              // This batch fits.
  int64_t largestBatch = 0;       // At the context; 0 means none.
  int64_t longestContext = 0;     // At batch 1, or the requested one; 0 means none.
  std::vector<FitPoint> contexts; // Holds the largest batch of each context.
  std::optional<Reservation> reservation;
  std::optional<Prefill> prefill;    // For the largest batch, or the requested one; none means that
                                     // decoding reads the prompts.
  std::vector<std::string> commands; // Plan that batch.
};

/// Answers with plans of @decode and @prefill. The options of `model` have `Mode::Decode`. Fails
/// for a shape that the model does not have.
llvm::Expected<InferenceAnswer> fitInference(FitModel &model, const Card &card,
                                             const InferenceRequest &request);

/// Print for people and for programs (docs/Design/Reports.md).
void printFit(const FitModel &model, const InferenceAnswer &answer, llvm::raw_ostream &os);
llvm::json::Value toJson(const FitModel &model, const InferenceAnswer &answer);

} // namespace llmmem

#endif // LLMMEM_FIT_FITINFERENCE_H
