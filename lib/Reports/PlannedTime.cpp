//===- PlannedTime.cpp - What the program of a plan takes -------------------===//

#include "PlannedTime.h"
#include "llmmem/Reports/MemoryReport.h"
#include "llmmem/Transforms/StartCollectives.h"

using namespace mlir;
using namespace llmmem;

FailureOr<int64_t> llmmem::timeOfPlanned(func::FuncOp planned, const CheckpointRequest &request,
                                         const DeviceModel &device) {
  if (failed(applyCheckpoints(planned, StepStorage(planned))) ||
      failed(request.overlap ? startCollectives(planned, StepStorage(planned))
                             : startHostCopies(planned, StepStorage(planned))))
    return failure();
  StepStorage storage(planned);
  FailureOr<MemoryReport> report =
      MemoryReport::compute(planned, storage, StepLiveness(planned, storage), device);
  if (failed(report))
    return failure();
  return report->time.plannedNs();
}

/// Plans the step without a budget, but with all other options of `request`, and returns the time
/// of the result.
static FailureOr<int64_t> timeOfFreeStep(func::FuncOp step, const CheckpointRequest &request,
                                         const DeviceModel &device) {
  CheckpointRequest free;
  free.policy.kind = planning::PolicyKind::None;
  free.seconds = request.seconds;
  free.chunk = request.chunk;
  free.epilogues = request.epilogues;
  free.overlap = request.overlap;
  OwningOpRef<func::FuncOp> copy = step.clone();
  FailureOr<std::vector<StepVariant>> alternatives =
      makeStepVariants(*copy, StepStorage(*copy), free, device);
  if (failed(alternatives))
    return failure();
  FailureOr<CheckpointDecision> decision =
      decideCheckpoints(*copy, std::move(*alternatives), free, device,
                        [&](func::FuncOp planned) { return timeOfPlanned(planned, free, device); });
  if (failed(decision))
    return failure();
  if (decision->plan().status != planning::Status::Feasible)
    return step.emitError("has no plan even without a budget; please report this");
  writeCheckpoints(*copy, free, *decision, decision->plan().duration());
  return timeOfPlanned(*copy, free, device);
}

FailureOr<int64_t> llmmem::timeWithoutBudget(func::FuncOp step, const CheckpointRequest &request,
                                             const CheckpointDecision &decision,
                                             const DeviceModel &device) {
  if (decision.costWithoutBudget)
    return *decision.costWithoutBudget;
  if (request.policy.kind == planning::PolicyKind::None)
    return decision.plan().duration();
  return timeOfFreeStep(step, request, device);
}
