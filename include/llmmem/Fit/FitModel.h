//===- FitModel.h - Plans of a model's step at any batch and sequence -------===//

#ifndef LLMMEM_FIT_FITMODEL_H
#define LLMMEM_FIT_FITMODEL_H

#include "llmmem/Analysis/DeviceModel.h"
#include "llmmem/Import/Import.h"
#include "llmmem/Planning/Alternatives/AlternativeProblems.h"
#include "llmmem/Planning/Offload/HostCopies.h"
#include <map>

namespace llmmem {

/// A plan of the step at one shape.
struct FitPoint {
  int64_t batch = 0, seq = 0;
  planning::Status status = planning::Status::Unknown;
  int64_t residentBytes = 0;
  int64_t cacheBytes = 0;      // of them, of keys and values
  int64_t hostBytes = 0;       // of what lies on the host throughout
  int64_t neededBytes = 0;     // resident bytes and arena; 0 without a plan
  int64_t ns = 0;              // modelled, of a step; 0 without a plan
  int64_t withoutBudgetNs = 0; // the same with all kept

  bool fits() const { return status == planning::Status::Feasible; }
};

/// What a user can do against the bytes. A measure is a line of the table in Measures.cpp.
struct Measure {
  llvm::StringLiteral name;
  planning::PolicyKind policy; // what decides on recomputation
  bool hasChunks;              // the loss in its smallest chunks, or whole
  llm::GradientLifetime gradients;
};

llvm::ArrayRef<Measure> measures();

/// Another way to train the same model, for where no plan fits. Each is planned before it is named.
struct Relief {
  std::string flags; // of the tools, as they are written
  llm::GradientLifetime gradients;
  llm::OptimizerKind optimizer;
  importer::StateType state = importer::StateType::Wide;
  int64_t ranks = 1;   // that share parameters, state and gradients (ZeRO-3); each has the batch
  bool onHost = false; // state and parameters
};

/// A step at one shape. A step of training is asked for by batch and sequence; one of inference, by
/// batch and context: it decodes a token of each sequence, or reads a chunk of each prompt.
class FitModel {
public:
  /// Reads a config.json; `file` is for messages and commands. `options` say all but the shape.
  /// `seconds` bounds each search, as in PlanOptions.
  static llvm::Expected<FitModel> read(llvm::StringRef text, llvm::StringRef file,
                                       importer::ImportOptions options, DeviceModel device,
                                       double seconds);

  /// What a plan is asked of: a shape, and the budget or the measure that it is made for.
  struct Question {
    int64_t batch = 0, seq = 0;
    std::optional<int64_t> budget = {}; // none: the fewest bytes
    const Measure *measure = nullptr;   // of the table, alone; none: all that changes no op
    int64_t chunk = 0; // of inference: tokens of each prompt that the step reads; 0: it decodes
    auto operator<=>(const Question &) const = default;
  };
  /// The cheapest plan under a budget, in any form of the step.
  llvm::Expected<FitPoint> under(int64_t batch, int64_t seq, int64_t budget);
  /// The plan of the fewest bytes.
  llvm::Expected<FitPoint> least(int64_t batch, int64_t seq);
  /// The step with one measure. All of them together are `least`, which is planned once.
  Question questionOf(const Measure &measure, int64_t batch, int64_t seq) const;
  /// Answers each; all that are not known yet are planned on all cores, each once, in this order.
  llvm::Expected<std::vector<FitPoint>> ask(llvm::ArrayRef<Question> questions);
  /// The step of each rank, trained so, under a budget. The point has the batch of all ranks.
  llvm::Expected<FitPoint> with(const Relief &relief, int64_t batch, int64_t seq,
                                int64_t budget) const;

  int64_t parameters() const { return numParameters; }
  int64_t longestSequence() const { return model->facts.maxSeq; }
  const importer::ModelFacts &facts() const { return model->facts; }
  const importer::ImportOptions &importOptions() const { return options; }
  const DeviceModel &device() const { return table; }
  double searchSeconds() const { return seconds; }

private:
  /// A step: its batch, its sequence, its chunk, and what becomes of its gradients.
  using Shape = std::tuple<int64_t, int64_t, int64_t, llm::GradientLifetime>;
  Shape shapeOf(const Question &question) const;

  struct Step {
    planning::StepForms forms;
    int64_t cacheBytes = 0, hostBytes = 0;
  };
  struct Answer {
    FitPoint point;
    Step step;
  };
  llvm::Expected<Step> build(importer::ImportOptions shape, int64_t ranks = 1,
                             bool onHost = false) const;
  planning::HostLink linkToHost() const;
  importer::ImportOptions shapeOf(int64_t batch, int64_t seq, int64_t chunk = 0) const;
  llvm::Expected<Step> stepOf(const Question &question) const;
  llvm::Expected<FitPoint> askOne(const Question &question);
  llvm::Error learn(llvm::ArrayRef<Question> questions);
  llvm::Expected<Answer> answer(const Question &question) const;
  static void inThreads(size_t count, llvm::function_ref<void(size_t)> work);
  FitPoint pointOf(const planning::StepForms &forms, planning::PolicyKind policy) const;

  std::unique_ptr<importer::Model> model;
  importer::ImportOptions options;
  DeviceModel table;
  double seconds = 10;
  int64_t numParameters = 0;
  std::map<Shape, Step> known;
  std::map<Question, FitPoint> answers;
};

} // namespace llmmem

#endif // LLMMEM_FIT_FITMODEL_H
