//===- Fit.h - Does a model train on a card, and how ------------------------===//
//
// This library answers questions that come before any pipeline exists: does this model train on
// this card, with which batch and sequence, how fast, and what would help. Every answer is a plan
// of the whole step under the card's bytes, the plan that `llmmem-opt --checkpoint-budget` makes. A
// shape does not fit where no plan is found. The recommended batch has the most tokens per second;
// the largest batch is often slower, because it recomputes most of its activations.
//
// Example: GPT-2 124M in f32 at 1,024 tokens under 23 * 10^9 bytes.
//
//   FitModel model = ...;                  // of examples/configs/gpt2.json
//   fit(model, {"24GB", 24'000'000'000, 1'000'000'000, false}, {1024})->recommended.batch
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_FIT_FIT_H
#define LLMMEM_FIT_FIT_H

#include "llmmem/Fit/FitModel.h"

namespace llmmem {

/// Describes the bytes of a card.
struct Card {
  std::string name;     // The name that the user gave: rtx4090, 24GB.
  int64_t memory = 0;   // The card's memory.
  int64_t reserve = 0;  // The part of it for the context and libraries of a program.
  bool hasRates = true; // False: only the bytes are known, so no time is reported.
  int64_t budget() const { return memory - reserve; }
};

struct FitRequest {
  int64_t seq = 0;
  std::optional<int64_t> batch; // None: the largest one is searched for.
};

/// Says how one measure changes the bytes of the requested step.
struct MeasureOutcome {
  llvm::StringRef name;
  FitPoint point;
};

/// Says what another way to train needs of the card, where the requested step has no plan.
struct ReliefOutcome {
  Relief relief;
  FitPoint point;
};

struct FitAnswer {
  Card card;
  FitRequest request;
  /// Has batch 1, or the requested one, and comes from the search for the fewest bytes
  /// (--checkpoint-budget=min).
  FitPoint least;
  // All other points are plans under the card's budget, as the commands make them.
  bool fits = false;           // This batch fits.
  FitPoint recommended;        // The fastest batch, or the requested one, where it fits.
  FitPoint largest;            // The largest batch at `request.seq`; batch 0 means none.
  int64_t longestSequence = 0; // At batch 1, or the requested one; 0 means none.
  std::vector<FitPoint> batches;
  std::vector<MeasureOutcome> measures;     // Apply to the recommended batch, without a budget.
  std::vector<ReliefOutcome> reliefs;       // Filled only where no batch and no sequence has a
                                            // plan.
  std::vector<std::string> commands;        // Plan the recommended batch.
  std::vector<std::string> largestCommands; // Plan the largest batch, where it is another.
};

/// The search for sequence lengths uses multiples of this number of tokens.
inline constexpr int64_t kSequenceStep = 128;

/// Answers by planning alone. Fails for a shape that the model does not have.
llvm::Expected<FitAnswer> fit(FitModel &model, const Card &card, const FitRequest &request);

/// Plans the step with a smaller state, with gradients that end at their update, on as many ranks
/// as it takes, and with permanent data on the host. Appends to `answer.reliefs`.
llvm::Error findReliefs(const FitModel &model, FitAnswer &answer);

/// Returns the name that flags use, such as `bf16`.
llvm::StringRef dtypeName(importer::ElementKind kind);

/// Return the flag of llmmem-opt that selects the plans of a number: fewest bytes, or the card's
/// budget.
std::string fewestBytesFlag();
std::string budgetFlag(const Card &card);

/// Returns the beginning of the command that imports the model, with its file; that of a config
/// from stdin reads it from there again.
std::string importCommand(const FitModel &model);

/// Returns the command that plans `file`.mlir under the card's budget with the search that the
/// model's plans use.
std::string planCommand(const FitModel &model, const Card &card, const std::string &file,
                        const std::string &planned);

/// Prints the lines that begin every answer for people.
void printModelAndCard(const FitModel &model, const Card &card, llvm::raw_ostream &os);

/// Print for people and for programs (docs/Design/Reports.md).
void printFit(const FitModel &model, const FitAnswer &answer, llvm::raw_ostream &os);
llvm::json::Value toJson(const FitModel &model, const FitAnswer &answer);

} // namespace llmmem

#endif // LLMMEM_FIT_FIT_H
