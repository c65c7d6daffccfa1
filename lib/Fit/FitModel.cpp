//===- FitModel.cpp - Plans of a model's step at any batch and sequence -----===//

#include "llmmem/Fit/FitModel.h"
#include "InThreads.h"
#include "Trainings.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Layout/ResidentBytes.h"
#include "llmmem/Planning/Formats/PlanTimeline.h"
#include "llmmem/Strategies/RankProgram.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Targets/Targets.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace llmmem;

llvm::Expected<FitModel> FitModel::read(llvm::StringRef text, llvm::StringRef file,
                                        importer::ImportOptions options, DeviceModel device,
                                        double seconds, StepForm form) {
  llvm::Expected<std::unique_ptr<importer::Model>> model = importer::readModel(text, file, options);
  if (!model)
    return model.takeError();
  llvm::Expected<int64_t> count = importer::countParameters(**model);
  if (!count)
    return count.takeError();
  FitModel result;
  result.model = std::move(*model);
  importer::holdAsInFile(options, result.model->facts);
  if (options.lora && options.lora->targets.empty())
    options.lora->targets = blockProjections(*result.model);
  result.options = std::move(options);
  result.table = std::move(device);
  result.seconds = seconds;
  result.stepForm = form;
  result.numParameters = *count;
  return std::move(result);
}

FitModel FitModel::trainedBy(importer::ImportOptions other, HostData data) const {
  FitModel result;
  result.model = model;
  result.options = std::move(other);
  result.table = table;
  result.seconds = seconds;
  result.stepForm = stepForm;
  result.stepForm.onHost = data;
  result.numParameters = numParameters;
  return result;
}

/// Returns the link of the card's table. For a card that is only a number of bytes any link will
/// do, because it moves no byte of the device.
static planning::HostLink linkOfCard(const DeviceModel &table) {
  constexpr int64_t kBytesPerSecond = 25'000'000'000;
  return llmmem::linkToHost({}, {}, table)
      .value_or(planning::HostLink{kBytesPerSecond, kBytesPerSecond, 0});
}

llvm::Expected<OwningOpRef<ModuleOp>> FitModel::buildGraph(MLIRContext &context, int64_t batch,
                                                           int64_t seq) const {
  return importer::buildModule(context, *model, shapeOf(batch, seq));
}

/// Adds the bytes of an argument to those of its role. Those of caches and on the host have counts
/// of their own.
static void addResident(BlockArgument argument, StepPhases &residents) {
  const int64_t bytes = bytesOfType(argument.getType());
  switch (getRole(argument)) {
  case llm::Role::Param:
    residents.parameters += bytes;
    return;
  case llm::Role::Gradient:
    residents.gradients += bytes;
    return;
  case llm::Role::OptimizerState:
    residents.state += bytes;
    return;
  default:
    residents.others += bytes;
  }
}

/// Adds to every variant the copies to what is left of the host's memory, as `plan-checkpoints`
/// does.
static llvm::Error letValuesLeave(planning::VariantSet &variants, int64_t hostMemory,
                                  int64_t residentOnHost, const planning::HostLink &link) {
  const int64_t left = hostMemory - residentOnHost;
  if (left < 0)
    return llvm::createStringError("--host-budget: what lies on the host throughout, " +
                                   formatByteSize(residentOnHost) + ", exceeds the budget of " +
                                   formatByteSize(hostMemory) + "; give more");
  for (planning::ProblemVariant &variant : variants.alternatives) {
    Result<planning::Problem> copied = planning::withHostCopies(variant.problem, left, link);
    if (!copied)
      return llvm::createStringError("--host-budget: " + copied.error());
    variant.problem = std::move(*copied);
  }
  return llvm::Error::success();
}

/// Builds the step as the pipeline of llmmem-opt plans it by default: on one device, or that of
/// each rank of a mesh.
llvm::Expected<FitModel::Step> FitModel::build(importer::ImportOptions shape,
                                               const RankShape &rank) const {
  DialectRegistry registry;
  registerTargets(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  llvm::Expected<OwningOpRef<ModuleOp>> module = importer::buildModule(context, *model, shape);
  if (!module)
    return module.takeError();
  DiagnosticText diagnostics(&context);
  StepSettings settings;
  settings.usesLibrary = table.libraryWorkspace > 0;
  if (stepForm.onHost != HostData::None)
    settings.host = linkOfCard(table);
  settings.onHost.parameters = stepForm.onHost == HostData::StateAndParameters;
  settings.mlpChunk = stepForm.mlpChunk;
  FailureOr<RankProgram> program = buildRankProgram(**module, rank, settings, table);
  if (failed(program))
    return diagnostics.toError();
  FailureOr<std::vector<StepVariant>> alternatives =
      makeStepVariants(program->step, StepStorage(program->step), settings.request, table);
  if (failed(alternatives))
    return diagnostics.toError();
  Step step;
  step.variants = llmmem::variantSetOf(program->step, *alternatives, std::nullopt);
  for (BlockArgument argument : program->step.getArguments()) {
    if (getRole(argument) == llm::Role::KvCache)
      step.cacheBytes += bytesOfType(argument.getType());
    if (llm::isOnHost(argument.getType()))
      step.hostBytes += bytesOfType(argument.getType());
    else
      addResident(argument, step.residents);
  }
  if (stepForm.hostMemory)
    if (llvm::Error error =
            letValuesLeave(step.variants, *stepForm.hostMemory,
                           StepResidents(program->step).host.allocated, linkOfCard(table)))
      return std::move(error);
  return step;
}

importer::ImportOptions FitModel::shapeOf(int64_t batch, int64_t seq, int64_t chunk) const {
  importer::ImportOptions shape = options;
  shape.batch = batch;
  if (shape.mode == importer::Mode::Decode) {
    shape.mode = chunk ? importer::Mode::Prefill : importer::Mode::Decode;
    shape.seq = std::max<int64_t>(chunk, 1);
    shape.context = seq;
  } else {
    shape.seq = seq;
  }
  return shape;
}

/// Returns the lifetime of gradients with a measure: transient where that is the measure, else as
/// the model is trained.
static llm::GradientLifetime gradientsWith(const Measure *measure,
                                           const importer::ImportOptions &options) {
  return measure && measure->gradients == llm::GradientLifetime::Transient
             ? measure->gradients
             : options.training.gradients;
}

FitModel::Shape FitModel::shapeOf(const Question &question) const {
  return {question.batch, question.seq, question.chunk, gradientsWith(question.measure, options)};
}

llvm::Expected<FitModel::Step> FitModel::stepOf(const Question &question) const {
  const Shape shape = shapeOf(question);
  if (auto it = known.find(shape); it != known.end())
    return it->second;
  importer::ImportOptions options = shapeOf(question.batch, question.seq, question.chunk);
  options.training.gradients = std::get<llm::GradientLifetime>(shape);
  return build(options, RankShape());
}

static planning::PlanOptions planOptions(planning::PolicyKind policy, double seconds,
                                         const StepForm &form) {
  planning::PlanOptions options;
  options.policy.kind = policy;
  options.workSeconds = seconds;
  options.provesCost = false; // No bound is shown.
  options.movesState = form.hostMemory && form.onHost != HostData::None;
  return options;
}

FitPoint FitModel::pointOf(const planning::VariantSet &variants,
                           planning::PolicyKind policy) const {
  FitPoint point;
  point.residentBytes = variants.alternatives.front().problem.residentBytes();
  // What is held throughout needs no search.
  const std::optional<int64_t> budget = variants.alternatives.front().problem.budget;
  if (budget && point.residentBytes > *budget) {
    point.status = planning::Status::Infeasible;
    return point;
  }
  const planning::ProblemVariantPlan best =
      planVariants(variants, planOptions(policy, seconds, stepForm));
  const planning::Plan &plan = best.chosen.plan;
  point.status = plan.status;
  point.withoutBudgetNs = costWithoutBudget(variants).value_or(0);
  if (point.fits()) {
    point.neededBytes = point.residentBytes + plan.arena;
    point.ns = plan.cost;
  }
  return point;
}

llvm::Expected<FitPoint> FitModel::under(int64_t batch, int64_t seq, int64_t budget) {
  return askOne({batch, seq, budget});
}

llvm::Expected<FitPoint> FitModel::least(int64_t batch, int64_t seq) {
  return askOne({batch, seq});
}

llvm::Expected<FitPoint> FitModel::askOne(const Question &question) {
  if (llvm::Error error = learn(question))
    return std::move(error);
  return answers.at(question);
}

llvm::Expected<std::vector<FitPoint>> FitModel::ask(llvm::ArrayRef<Question> questions) {
  if (llvm::Error error = learn(questions))
    return std::move(error);
  std::vector<FitPoint> points;
  for (const Question &question : questions)
    points.push_back(answers.at(question));
  return points;
}

FitModel::Question FitModel::questionOf(const Measure &measure, int64_t batch, int64_t seq) const {
  const llm::GradientLifetime gradients = gradientsWith(&measure, options);
  auto it = known.find({batch, seq, 0, gradients});
  const bool isWhole = it != known.end() &&
                       llvm::all_of(it->second.variants.alternatives, [](const auto &alternative) {
                         return alternative.tilings.size() == 1;
                       });
  const bool isAll = measure.policy == planning::PolicyKind::LeastPeak &&
                     (measure.hasChunks || isWhole) && gradients == options.training.gradients;
  return {batch, seq, std::nullopt, isAll ? nullptr : &measure};
}

/// Answers from what is known alone, so that several threads can.
llvm::Expected<FitModel::Answer> FitModel::answer(const Question &question) const {
  llvm::Expected<Step> step = stepOf(question);
  if (!step)
    return step.takeError();
  planning::VariantSet asked = step->variants;
  asked.setBudget(question.budget);
  auto policy = question.budget ? planning::PolicyKind::Budget : planning::PolicyKind::LeastPeak;
  if (const Measure *measure = question.measure) {
    policy = measure->policy;
    for (planning::ProblemVariant &it : asked.alternatives)
      it.tilings = {measure->hasChunks ? it.tilings.back() : it.tilings.front()};
  }
  FitPoint point = pointOf(asked, policy);
  point.batch = question.batch;
  point.seq = question.seq;
  point.cacheBytes = step->cacheBytes;
  point.hostBytes = step->hostBytes;
  return Answer{point, std::move(*step)};
}

llvm::Error FitModel::learn(llvm::ArrayRef<Question> questions) {
  std::vector<Question> open;
  for (const Question &question : questions)
    if (!answers.count(question) && !llvm::is_contained(open, question))
      open.push_back(question);
  std::vector<std::optional<llvm::Expected<Answer>>> found(open.size());
  inThreads(open.size(), [&](size_t number) { found[number].emplace(answer(open[number])); });
  llvm::Error error = llvm::Error::success();
  for (auto [question, outcome] : llvm::zip_equal(open, found)) {
    if (!*outcome) {
      error = llvm::joinErrors(std::move(error), outcome->takeError());
      continue;
    }
    known.insert({shapeOf(question), std::move((*outcome)->step)});
    answers[question] = (*outcome)->point;
  }
  return error;
}

llvm::Expected<FitPoint> FitModel::onRanks(const RankShape &rank, int64_t batch, int64_t seq,
                                           int64_t budget) const {
  llvm::Expected<Step> step = build(shapeOf(batch, seq), rank);
  if (!step)
    return step.takeError();
  step->variants.setBudget(budget);
  FitPoint point = pointOf(step->variants, planning::PolicyKind::Budget);
  point.batch = batch;
  point.seq = seq;
  point.hostBytes = step->hostBytes;
  return point;
}

llvm::Expected<StepPhases> FitModel::phasesOf(int64_t batch, int64_t seq, int64_t budget) const {
  llvm::Expected<Step> step = build(shapeOf(batch, seq), RankShape());
  if (!step)
    return step.takeError();
  step->variants.setBudget(budget);
  StepPhases result = step->residents;
  const planning::ProblemVariantPlan best =
      planVariants(step->variants, planOptions(planning::PolicyKind::Budget, seconds, stepForm));
  if (best.chosen.plan.status != planning::Status::Feasible)
    return result;
  const planning::ProblemVariant &variant = step->variants.alternatives[best.alternative];
  const planning::Problem problem =
      withTiling(variant.problem, variant.tilings[best.chosen.tiling]);
  const planning::PlanTimeline timeline = timelineOf(problem, best.chosen.plan);
  result.neededBytes = timeline.resident + timeline.arena;
  for (planning::Phase phase :
       {planning::Phase::Forward, planning::Phase::Backward, planning::Phase::Update}) {
    std::optional<int64_t> most;
    for (const planning::TimelineStep &it : timeline.steps)
      if (problem.ops[it.op].phase == phase)
        most = std::max(most.value_or(0), it.live - timeline.resident);
    if (most)
      result.phases.push_back({phase, *most});
  }
  return result;
}
