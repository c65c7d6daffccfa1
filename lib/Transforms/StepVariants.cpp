//===- StepVariants.cpp - The step with each choice of other ops ---------------===//

#include "llmmem/Transforms/StepVariants.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Transforms/AnnotateMemory.h"
#include "llmmem/Transforms/FillConstants.h"
#include "llmmem/Transforms/PackSaved.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

/// Returns whether ops have bytes and costs written on them: then new kernels have them too.
static bool isAnnotated(func::FuncOp step) {
  return llvm::any_of(step.getBody().front(),
                      [](Operation &op) { return op.hasAttr(LlmDialect::kCost); });
}

static LogicalResult extractVariant(StepVariant &alternative, const CheckpointRequest &request,
                                    const DeviceModel &device) {
  FailureOr<ExtractedProblem> extracted =
      extractProblem(alternative.step, alternative.storage, device, {request.overlap});
  if (failed(extracted))
    return failure();
  alternative.extracted = std::move(*extracted);
  FailureOr<ChunkTilings> tilings = findChunkTilings(alternative.extracted, request.chunk, device);
  if (failed(tilings))
    return failure();
  alternative.tilings = std::move(*tilings);
  return success();
}

static SmallVector<Epilogues> choicesOf(const CheckpointRequest &request,
                                        const DeviceModel &device) {
  if (request.epilogues != Epilogues::Auto)
    return {request.epilogues};
  if (!device.fusesEpilogues)
    return {Epilogues::Separate};
  return {Epilogues::Separate, Epilogues::Unshared, Epilogues::Fused};
}

static bool isPlannedForLibrary(func::FuncOp step) {
  return llvm::any_of(step.getBody().front(), [](Operation &op) { return isForLibrary(&op); });
}

namespace {
struct Choice {
  Epilogues epilogues;
  int64_t packedQuarters = 0; // of the saved values
  bool fillsConstants = false;
};
} // namespace

/// Visits all choices of epilogues. Values are packed, and constants filled, only with the most
/// epilogues that are allowed, since that step is the cheapest.
static SmallVector<Choice> allChoices(func::FuncOp step, const CheckpointRequest &request,
                                      const DeviceModel &device) {
  SmallVector<Choice> choices;
  for (Epilogues epilogues : choicesOf(request, device))
    choices.push_back({epilogues});
  const Epilogues most = choices.back().epilogues;
  for (int64_t quarters = 1; request.packsSaved && quarters <= kPackedQuarters; ++quarters)
    choices.push_back({most, quarters});
  // The library's products decide the bits of a step, so that one form serves every budget.
  if (!isPlannedForLibrary(step) && hasConstantsToFill(step))
    choices.push_back({most, 0, /*fillsConstants=*/true});
  return choices;
}

FailureOr<std::vector<StepVariant>> llmmem::makeStepVariants(func::FuncOp step,
                                                             const StepStorage &storage,
                                                             const CheckpointRequest &request,
                                                             const DeviceModel &device) {
  std::vector<StepVariant> alternatives;
  // Each choice fuses what the one before fuses, and perhaps more; so for packing.
  std::optional<std::tuple<int64_t, int64_t, int64_t>> changedBefore;
  for (auto [epilogues, quarters, fills] : allChoices(step, request, device)) {
    StepVariant alternative;
    alternative.epilogues = epilogues;
    alternative.packedQuarters = quarters;
    alternative.fillsConstants = fills;
    alternative.step = step;
    int64_t packed = 0, fused = 0, filled = 0;
    if (epilogues != Epilogues::Separate || quarters > 0 || fills) {
      alternative.copy = step.clone();
      alternative.step = *alternative.copy;
      // Values are packed first, so that no epilogue hides one.
      packed = packSavedValues(alternative.step, quarters);
      if (epilogues != Epilogues::Separate)
        fused = fuseEpilogues(alternative.step, epilogues);
      if (fills)
        filled = fillConstants(alternative.step);
      if (isAnnotated(step) && failed(annotateMemory(alternative.step, device)))
        return failure();
    }
    const std::tuple changed(fused, packed, filled);
    if (changedBefore == changed)
      continue;
    changedBefore = changed;
    alternative.storage = alternative.copy ? StepStorage(alternative.step) : storage;
    if (!alternative.storage.isValid() || failed(extractVariant(alternative, request, device)))
      return failure();
    alternatives.push_back(std::move(alternative));
  }
  return alternatives;
}

static bool havePacked(ArrayRef<StepVariant> alternatives) {
  return llvm::any_of(alternatives, [](const StepVariant &it) { return it.packedQuarters > 0; });
}

planning::VariantSet llmmem::variantSetOf(func::FuncOp step, ArrayRef<StepVariant> alternatives,
                                          std::optional<int64_t> budget) {
  planning::VariantSet variants;
  for (const StepVariant &it : alternatives)
    variants.alternatives.push_back(
        {it.extracted.problem, it.tilings.tilings, it.extracted.coreAttention});
  variants.setBudget(budget);
  // Where each op runs once, packing never costs less. What is packed depends on the budget anyway,
  // and with it the step's bits.
  if (isPlannedForLibrary(step) && !havePacked(alternatives))
    variants.choice = planning::VariantSelection::ByOpsOnce;
  variants.guessedPhases = step->hasAttr(LlmDialect::kLoss);
  return variants;
}

void llmmem::recordOutcomes(ArrayRef<StepVariant> alternatives, StepVariant &chosen,
                            ArrayRef<planning::ProblemVariantOutcome> outcomes) {
  // Packed values are in the report by themselves, and so are constants.
  if (alternatives.size() < 2 || havePacked(alternatives) || alternatives.back().fillsConstants)
    return;
  Builder builder(chosen.step.getContext());
  SmallVector<Attribute> entries;
  for (auto [alternative, outcome] : llvm::zip_equal(alternatives, outcomes)) {
    bool hasPlan = outcome.planned && outcome.status == planning::Status::Feasible;
    NamedAttrList entry;
    entry.append("choice", builder.getStringAttr(nameOf(alternative.epilogues)));
    entry.append(hasPlan ? "cost_ns" : "cost_lower_bound_ns",
                 builder.getI64IntegerAttr(outcome.cost));
    if (outcome.time)
      entry.append("time_ns", builder.getI64IntegerAttr(*outcome.time));
    if (hasPlan)
      entry.append("peak",
                   builder.getI64IntegerAttr(outcome.peak - alternative.extracted.residentPadding));
    else
      entry.append("why", builder.getStringAttr(!outcome.planned ? "costs more as it is"
                                                : outcome.status == planning::Status::Infeasible
                                                    ? "no plan exists"
                                                    : "no plan was found"));
    if (&alternative == &chosen)
      entry.append("taken", builder.getUnitAttr());
    entries.push_back(entry.getDictionary(builder.getContext()));
  }
  chosen.step->setAttr(LlmDialect::kEpilogues, builder.getArrayAttr(entries));
}

void llmmem::applyVariant(func::FuncOp step, StepVariant &chosen) {
  if (!chosen.copy)
    return;
  step.getBody().takeBody(chosen.step.getBody());
  step->setAttrs(chosen.step->getAttrDictionary());
}
