//===- Fit.h - Does a model train on a card, and how ------------------------===//
//
// Asks the planner the questions that a person has before any pipeline: does this model train on
// this card, with which batch and sequence, how fast, and what would help. Every answer is a plan
// of the whole step under the card's bytes, the one that `llmmem-opt --checkpoint-budget` makes;
// what does not fit is what no plan was found for. What is recommended is the batch of the most
// tokens a second, not the largest one: that computes most of its activations again.
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

/// Bytes of a card.
struct Card {
  std::string name;     // as it is asked for: rtx4090, 24GB
  int64_t memory = 0;   // that it has
  int64_t reserve = 0;  // of them, for the context and libraries of a program
  bool hasRates = true; // false: the bytes alone are known, and no time is said
  int64_t budget() const { return memory - reserve; }
};

struct FitRequest {
  int64_t seq = 0;
  std::optional<int64_t> batch; // none: the largest is looked for
};

/// What one measure against the bytes does, of the step that is asked for.
struct MeasureOutcome {
  llvm::StringRef name;
  FitPoint point;
};

/// What another way to train needs of the card, where the step that is asked for has no plan.
struct ReliefOutcome {
  Relief relief;
  FitPoint point;
};

struct FitAnswer {
  Card card;
  FitRequest request;
  /// Batch 1, or the one asked for, by the search for the fewest bytes (--checkpoint-budget=min).
  FitPoint least;
  // All others are plans under the card's budget, as the commands make them.
  bool fits = false;           // this batch
  FitPoint recommended;        // the fastest batch, or the one asked for; where it fits
  FitPoint largest;            // of the largest batch at `request.seq`; its batch is 0: none
  int64_t longestSequence = 0; // at batch 1, or the one asked for; 0: none
  std::vector<FitPoint> batches;
  std::vector<MeasureOutcome> measures;     // of the recommended batch, not under the budget
  std::vector<ReliefOutcome> reliefs;       // only where no batch and no sequence has a plan
  std::vector<std::string> commands;        // that plan the recommended batch
  std::vector<std::string> largestCommands; // and the largest, where that is another
};

/// Lengths of sequences are looked for in steps of so many tokens.
inline constexpr int64_t kSequenceStep = 128;

/// Answers with plans alone. The error is that of a shape which the model does not have.
llvm::Expected<FitAnswer> fit(FitModel &model, const Card &card, const FitRequest &request);

/// Plans the step with less state, with gradients that end at their update, on as many ranks as it
/// takes, and with what lies on the device throughout on the host, into `answer.reliefs`.
llvm::Error findReliefs(const FitModel &model, FitAnswer &answer);

/// `bf16`, as flags have it.
llvm::StringRef dtypeName(importer::ElementKind kind);

/// Which plans a number of an answer is of, as the flag of llmmem-opt: those of the fewest bytes,
/// or under the card's budget.
std::string fewestBytesFlag();
std::string budgetFlag(const Card &card);

/// Plans `file`.mlir under the card's budget with the search that the model's plans had.
std::string planCommand(const FitModel &model, const Card &card, const std::string &file,
                        const std::string &planned);

/// What every answer for people begins with.
void printModelAndCard(const FitModel &model, const Card &card, llvm::raw_ostream &os);

/// For people, and for programs (docs/Design/Reports.md).
void printFit(const FitModel &model, const FitAnswer &answer, llvm::raw_ostream &os);
llvm::json::Value toJson(const FitModel &model, const FitAnswer &answer);

} // namespace llmmem

#endif // LLMMEM_FIT_FIT_H
