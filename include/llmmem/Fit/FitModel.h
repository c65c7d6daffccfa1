//===- FitModel.h - Plans of a model's step at any batch and sequence -------===//

#ifndef LLMMEM_FIT_FITMODEL_H
#define LLMMEM_FIT_FITMODEL_H

#include "llmmem/Analysis/ChunkTilings.h"
#include "llmmem/Device/DeviceModel.h"
#include "llmmem/Import/Import.h"
#include "llmmem/Planning/Offload/OffloadProblem.h"
#include "llmmem/Planning/Variants/ProblemVariants.h"
#include "mlir/IR/OwningOpRef.h"
#include <map>

namespace llmmem {

struct RankShape;

/// Says what lies in the host's memory between steps (Transforms/StateOnHost.h).
enum class HostData { None, State, StateAndParameters };

/// Says which of the options of llmmem-opt that give other plans are taken.
struct StepForm {
  HostData onHost = HostData::None;
  /// Runs feed-forwards over chunks of tokens (--mlp-chunk); none leaves them several ops.
  std::optional<ChunkRequest> mlpChunk;
  /// Counts the bytes of the host's memory (--host-budget), which holds what lies there and the
  /// values that leave within the step; without it none leaves.
  std::optional<int64_t> hostMemory;
};

/// Describes a plan of the step at one shape.
struct FitPoint {
  int64_t batch = 0, seq = 0;
  planning::Status status = planning::Status::Unknown;
  int64_t residentBytes = 0;
  int64_t cacheBytes = 0;      // The part of them for keys and values.
  int64_t hostBytes = 0;       // What lies on the host for the whole step.
  int64_t neededBytes = 0;     // Resident bytes plus arena; 0 without a plan.
  int64_t ns = 0;              // The modelled time of a step; 0 without a plan.
  int64_t withoutBudgetNs = 0; // The same time with everything kept.

  bool fits() const { return status == planning::Status::Feasible; }
};

/// This is something that a user can do to reduce the bytes: a line of the table in Measures.cpp.
struct Measure {
  llvm::StringLiteral name;
  planning::PolicyKind policy; // Decides on recomputation.
  bool hasChunks;              // Computes the loss in its smallest chunks, or unchunked.
  llm::GradientLifetime gradients;
};

llvm::ArrayRef<Measure> measures();

/// Says what a device holds, at most, in one phase of a step.
struct PhaseBytes {
  planning::Phase phase = planning::Phase::None;
  int64_t arena = 0; // Activations, their gradients, workspaces.
};

/// Describes the bytes of a step over time.
struct StepPhases {
  /// The bytes of arguments on the device, by role; what aligns them is not included.
  int64_t parameters = 0, gradients = 0, state = 0, others = 0;
  std::vector<PhaseBytes> phases; // In the order of a step; without those that have no op.
  int64_t neededBytes = 0;        // Of the plan as a whole.
};

/// Plans a step at one shape after another. Batch and sequence describe a step of training. Batch
/// and context describe one of inference, which decodes a token of each sequence or reads a chunk
/// of each prompt.
class FitModel {
public:
  /// Reads a config.json. Messages and commands name `file`. `options` say everything except the
  /// shape. `seconds` bounds each search, as in PlanOptions.
  static llvm::Expected<FitModel> read(llvm::StringRef text, llvm::StringRef file,
                                       importer::ImportOptions options, DeviceModel device,
                                       double seconds, StepForm form = {});
  /// Returns the same model, trained in another way. `options` say everything except the shape.
  FitModel trainedBy(importer::ImportOptions options, HostData onHost) const;

  /// Asks for a plan: a shape, and the budget or the measure that the plan is for.
  struct Question {
    int64_t batch = 0, seq = 0;
    std::optional<int64_t> budget = {}; // None: the fewest bytes.
    const Measure *measure = nullptr;   // The only measure taken, a line of the table; null
                                        // takes all that change no op.
    int64_t chunk = 0; // For inference: the number of prompt tokens that the step reads; 0
                       // means that it decodes.
    auto operator<=>(const Question &) const = default;
  };
  /// Returns the cheapest plan under a budget, over all variants of the step.
  llvm::Expected<FitPoint> under(int64_t batch, int64_t seq, int64_t budget);
  /// Returns the plan of the fewest bytes.
  llvm::Expected<FitPoint> least(int64_t batch, int64_t seq);
  /// Returns the question for one measure. All measures together are `least`, which is planned
  /// once.
  Question questionOf(const Measure &measure, int64_t batch, int64_t seq) const;
  /// Answers each question in this order. Plans every unknown one once, on all cores.
  llvm::Expected<std::vector<FitPoint>> ask(llvm::ArrayRef<Question> questions);
  /// Plans the step of each rank of a mesh under a budget. `batch` is that of all ranks.
  llvm::Expected<FitPoint> onRanks(const RankShape &rank, int64_t batch, int64_t seq,
                                   int64_t budget) const;
  /// Returns what the plan under a budget holds in each phase; no phases without a plan.
  llvm::Expected<StepPhases> phasesOf(int64_t batch, int64_t seq, int64_t budget) const;
  /// Builds the graph that the steps are made of.
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> buildGraph(mlir::MLIRContext &context,
                                                               int64_t batch, int64_t seq) const;

  int64_t parameters() const { return numParameters; }
  const importer::Model &source() const { return *model; }
  int64_t longestSequence() const { return model->facts.maxSeq; }
  const importer::ModelFacts &facts() const { return model->facts; }
  const importer::ImportOptions &importOptions() const { return options; }
  const DeviceModel &device() const { return table; }
  const StepForm &form() const { return stepForm; }
  double searchSeconds() const { return seconds; }

private:
  /// Identifies a step: its batch, its sequence, its chunk, and the lifetime of its gradients.
  using Shape = std::tuple<int64_t, int64_t, int64_t, llm::GradientLifetime>;
  Shape shapeOf(const Question &question) const;

  struct Step {
    planning::VariantSet variants;
    int64_t cacheBytes = 0, hostBytes = 0;
    StepPhases residents; // Without phases.
  };
  struct Answer {
    FitPoint point;
    Step step;
  };
  llvm::Expected<Step> build(importer::ImportOptions shape, const RankShape &rank) const;
  importer::ImportOptions shapeOf(int64_t batch, int64_t seq, int64_t chunk = 0) const;
  llvm::Expected<Step> stepOf(const Question &question) const;
  llvm::Expected<FitPoint> askOne(const Question &question);
  llvm::Error learn(llvm::ArrayRef<Question> questions);
  llvm::Expected<Answer> answer(const Question &question) const;
  FitPoint pointOf(const planning::VariantSet &variants, planning::PolicyKind policy) const;

  std::shared_ptr<const importer::Model> model;
  importer::ImportOptions options;
  DeviceModel table;
  double seconds = 10;
  StepForm stepForm;
  int64_t numParameters = 0;
  std::map<Shape, Step> known;
  std::map<Question, FitPoint> answers;
};

} // namespace llmmem

#endif // LLMMEM_FIT_FITMODEL_H
