//===- FitModel.cpp - Plans of a model's step at any batch and sequence -----===//

#include "llmmem/Fit/FitModel.h"
#include "llmmem/Strategies/RankProgram.h"
#include "llmmem/Targets/Targets.h"

using namespace mlir;
using namespace llmmem;

llvm::Expected<FitModel> FitModel::read(llvm::StringRef text, llvm::StringRef file,
                                        importer::ImportOptions options, DeviceModel device,
                                        double seconds) {
  llvm::Expected<std::unique_ptr<importer::Model>> model = importer::readModel(text, file, options);
  if (!model)
    return model.takeError();
  llvm::Expected<int64_t> count = importer::countParameters(**model);
  if (!count)
    return count.takeError();
  FitModel result;
  result.model = std::move(*model);
  result.options = std::move(options);
  result.table = std::move(device);
  result.seconds = seconds;
  result.numParameters = *count;
  return std::move(result);
}

/// The step as the pipeline of llmmem-opt plans it: on one device, with its defaults.
llvm::Expected<planning::StepForms> FitModel::build(importer::ImportOptions shape) const {
  DialectRegistry registry;
  registerTargets(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  llvm::Expected<OwningOpRef<ModuleOp>> module = importer::buildModule(context, *model, shape);
  if (!module)
    return module.takeError();
  DiagnosticText diagnostics(&context);
  StepSettings settings;
  FailureOr<RankProgram> program = buildRankProgram(**module, RankShape(), settings, table);
  if (failed(program))
    return diagnostics.toError();
  FailureOr<std::vector<StepAlternative>> alternatives =
      makeStepAlternatives(program->step, StepStorage(program->step), settings.request, table);
  if (failed(alternatives))
    return diagnostics.toError();
  return llmmem::formsOf(program->step, *alternatives, std::nullopt);
}

llvm::Expected<const planning::StepForms *> FitModel::formsOf(int64_t batch, int64_t seq) {
  if (auto it = known.find({batch, seq}); it != known.end())
    return &it->second;
  importer::ImportOptions shape = options;
  shape.batch = batch;
  shape.seq = seq;
  llvm::Expected<planning::StepForms> forms = build(shape);
  if (!forms)
    return forms.takeError();
  return &(known[{batch, seq}] = std::move(*forms));
}

FitPoint FitModel::pointOf(const planning::StepForms &forms, planning::PolicyKind policy) const {
  planning::PlanOptions planOptions;
  planOptions.policy.kind = policy;
  planOptions.seconds = seconds;
  const planning::AlternativePlan best = planForms(forms, planOptions);
  const planning::Plan &plan = best.chosen.plan;
  FitPoint point;
  point.status = plan.status;
  point.residentBytes = forms.alternatives.front().problem.residentBytes();
  point.withoutBudgetNs = costWithoutBudget(forms).value_or(0);
  if (point.fits()) {
    point.neededBytes = point.residentBytes + plan.arena;
    point.ns = plan.cost;
  }
  return point;
}

llvm::Expected<FitPoint> FitModel::under(int64_t batch, int64_t seq, int64_t budget) {
  return planOnce(batch, seq, budget);
}

llvm::Expected<FitPoint> FitModel::least(int64_t batch, int64_t seq) {
  return planOnce(batch, seq, std::nullopt);
}

llvm::Expected<FitPoint> FitModel::planOnce(int64_t batch, int64_t seq,
                                            std::optional<int64_t> budget) {
  if (auto it = planned.find({batch, seq, budget}); it != planned.end())
    return it->second;
  llvm::Expected<const planning::StepForms *> forms = formsOf(batch, seq);
  if (!forms)
    return forms.takeError();
  planning::StepForms asked = **forms;
  asked.setBudget(budget);
  FitPoint point;
  point.residentBytes = asked.alternatives.front().problem.residentBytes();
  // No search is needed for what is held throughout.
  if (budget && point.residentBytes > *budget)
    point.status = planning::Status::Infeasible;
  else
    point = pointOf(asked, budget ? planning::PolicyKind::Budget : planning::PolicyKind::LeastPeak);
  point.batch = batch;
  point.seq = seq;
  return planned[{batch, seq, budget}] = point;
}

llvm::Expected<FitPoint> FitModel::with(const Measure &measure, int64_t batch, int64_t seq) {
  importer::ImportOptions shape = options;
  shape.batch = batch;
  shape.seq = seq;
  shape.training.gradients = measure.gradients;
  llvm::Expected<planning::StepForms> forms = build(shape);
  if (!forms)
    return forms.takeError();
  for (planning::AlternativeProblem &it : forms->alternatives)
    it.tilings = {measure.hasChunks ? it.tilings.back() : it.tilings.front()};
  FitPoint point = pointOf(*forms, measure.policy);
  point.batch = batch;
  point.seq = seq;
  return point;
}
