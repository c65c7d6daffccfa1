//===- StepVariants.cpp - The step with each choice of epilogues -----------===//

#include "StepVariants.h"
#include "llmmem/Dialect/LibraryEpilogue.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Transforms/AnnotateMemory.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

planning::Variant StepVariant::toPlan(std::optional<int64_t> budget) const {
  planning::Variant variant{extracted.problem, forms.forms, extracted.coreAttention};
  variant.problem.budget = budget;
  return variant;
}

/// Whether ops have bytes and costs written on: then new kernels have them too.
static bool isAnnotated(func::FuncOp step) {
  return llvm::any_of(step.getBody().front(),
                      [](Operation &op) { return op.hasAttr(LlmDialect::kCost); });
}

static LogicalResult extractVariant(StepVariant &variant, const CheckpointRequest &request,
                                    const DeviceModel &device) {
  FailureOr<ExtractedProblem> extracted = extractProblem(variant.step, variant.storage, device);
  if (failed(extracted))
    return failure();
  variant.extracted = std::move(*extracted);
  FailureOr<ChunkForms> forms = findChunkForms(variant.extracted, request.chunk, device);
  if (failed(forms))
    return failure();
  variant.forms = std::move(*forms);
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

FailureOr<std::vector<StepVariant>> llmmem::makeStepVariants(func::FuncOp step,
                                                             const StepStorage &storage,
                                                             const CheckpointRequest &request,
                                                             const DeviceModel &device) {
  std::vector<StepVariant> variants;
  // Each choice fuses what the one before fuses, and perhaps more.
  std::optional<int64_t> fusedBefore;
  for (Epilogues epilogues : choicesOf(request, device)) {
    StepVariant variant;
    variant.epilogues = epilogues;
    variant.step = step;
    int64_t fused = 0;
    if (epilogues != Epilogues::Separate) {
      variant.copy = step.clone();
      variant.step = *variant.copy;
      fused = fuseEpilogues(variant.step, epilogues);
      if (isAnnotated(step) && failed(annotateMemory(variant.step, device)))
        return failure();
    }
    if (fusedBefore && *fusedBefore == fused)
      continue;
    fusedBefore = fused;
    variant.storage = variant.copy ? StepStorage(variant.step) : storage;
    if (!variant.storage.isValid() || failed(extractVariant(variant, request, device)))
      return failure();
    variants.push_back(std::move(variant));
  }
  return variants;
}

planning::VariantChoice llmmem::choiceAmongVariants(func::FuncOp step) {
  bool isPlannedForLibrary =
      llvm::any_of(step.getBody().front(), [](Operation &op) { return isForLibrary(&op); });
  return isPlannedForLibrary ? planning::VariantChoice::ByOpsOnce : planning::VariantChoice::ByPlan;
}

void llmmem::noteOutcomes(ArrayRef<StepVariant> variants, StepVariant &chosen,
                          ArrayRef<planning::VariantOutcome> outcomes) {
  if (variants.size() < 2)
    return;
  Builder builder(chosen.step.getContext());
  SmallVector<Attribute> entries;
  for (auto [variant, outcome] : llvm::zip_equal(variants, outcomes)) {
    bool hasPlan = outcome.planned && outcome.status == planning::Status::Feasible;
    NamedAttrList entry;
    entry.append("choice", builder.getStringAttr(nameOf(variant.epilogues)));
    entry.append(hasPlan ? "cost_ns" : "cost_lower_bound_ns",
                 builder.getI64IntegerAttr(outcome.cost));
    if (hasPlan)
      entry.append("peak",
                   builder.getI64IntegerAttr(outcome.peak - variant.extracted.residentPadding));
    else
      entry.append("why", builder.getStringAttr(!outcome.planned ? "costs more as it is"
                                                : outcome.status == planning::Status::Infeasible
                                                    ? "no plan exists"
                                                    : "no plan was found"));
    if (&variant == &chosen)
      entry.append("taken", builder.getUnitAttr());
    entries.push_back(entry.getDictionary(builder.getContext()));
  }
  chosen.step->setAttr(LlmDialect::kEpilogues, builder.getArrayAttr(entries));
}

void llmmem::takeVariant(func::FuncOp step, StepVariant &chosen) {
  if (!chosen.copy)
    return;
  step.getBody().takeBody(chosen.step.getBody());
  step->setAttrs(chosen.step->getAttrDictionary());
}
