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

/// Describes the bytes of a card, or of each of several.
struct Card {
  std::string name;     // As commands take it: rtx4090, 24GB, 8xh100.
  int64_t memory = 0;   // The card's memory.
  int64_t reserve = 0;  // The part of it for the context and libraries of a program.
  bool hasRates = true; // False: only the bytes are known, so no time is reported.
  int64_t count = 1;    // The number of equal cards of a node.
  int64_t budget() const { return memory - reserve; }
};

struct FitRequest {
  int64_t seq = 0;
  std::optional<int64_t> batch; // None: the largest one is searched for.
  bool phases = false;          // Whether the phases of the step are reported.
};

/// Says how one measure changes the bytes of the requested step.
struct MeasureOutcome {
  llvm::StringRef name;
  FitPoint point;
};

/// This is another way to train the same model where no plan fits. Each is planned before it is
/// reported.
struct Relief {
  std::string name;    // Such as LoRA of rank 16.
  std::string changes; // What the user gives up or gets used to.
  importer::ImportOptions options;
  HostData onHost = HostData::None;
  int64_t ranks = 1; // The number of ranks that share parameters, state and gradients
                     // (ZeRO 3). Each has the batch.
};

/// Says what another way to train needs of the card, where the requested step has no plan.
struct ReliefOutcome {
  Relief relief;
  FitPoint point;
  std::vector<std::string> commands;
};

/// The rank of the adapters that are proposed.
inline constexpr int64_t kAdapterRank = 16;

/// Says what the recommended batch needs where the experts of a mixture have the places that
/// routing fills on average, and a quarter more, in place of one for each token.
struct CapacityOutcome {
  int64_t places = 0; // Of each expert in a sequence.
  FitPoint point;     // Under the card's budget.
};

/// Many fields: each is a part of the report.
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
                                            // plan; those that train first, the fastest first.
  std::optional<StepPhases> phases;         // Of the recommended batch, where it is asked for.
  std::optional<CapacityOutcome> capacity;  // Of a mixture without a capacity.
  std::vector<std::string> commands;        // Plan the recommended batch.
  std::vector<std::string> largestCommands; // Plan the largest batch, where it is another.
};

/// The search for sequence lengths uses multiples of this number of tokens.
inline constexpr int64_t kSequenceStep = 128;

/// Answers by planning alone. Fails for a shape that the model does not have.
llvm::Expected<FitAnswer> fit(FitModel &model, const Card &card, const FitRequest &request);

/// Plans the step with a smaller state, with gradients that end at their update, with adapters,
/// with permanent data on the host, and on as many ranks as it takes. Fills `answer.reliefs`.
llvm::Error findReliefs(const FitModel &model, FitAnswer &answer);

/// Returns the modelled ns of a card for a token, by which ways to train are ordered.
double cardTimeOfToken(const ReliefOutcome &outcome, const Card &card);

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

/// Returns the commands that import the model as it is trained, and plan the step. `meshFlags`
/// begin with a space, where there are any.
std::vector<std::string> stepCommands(const FitModel &model, const Card &card, int64_t batch,
                                      int64_t seq, const std::string &meshFlags = "");

/// Prints the lines that begin every answer for people.
void printModelAndCard(const FitModel &model, const Card &card, llvm::raw_ostream &os);

/// Print for people and for programs (docs/Design/Reports.md).
void printFit(const FitModel &model, const FitAnswer &answer, llvm::raw_ostream &os);
llvm::json::Value toJson(const FitModel &model, const FitAnswer &answer);

} // namespace llmmem

#endif // LLMMEM_FIT_FIT_H
