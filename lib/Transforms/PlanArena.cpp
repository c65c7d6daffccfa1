//===- PlanArena.cpp - A place for every value -----------------------------===//

#include "HostArena.h"
#include "HostCopies.h"
#include "StepPass.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Layout/StepLiveness.h"
#include "llmmem/Layout/Workspaces.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/Count.h"
#include "llmmem/Transforms/Arena.h"
#include "llmmem/Transforms/Passes.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/CheckedArithmetic.h"

namespace llmmem {
#define GEN_PASS_DEF_PLANARENA
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

namespace {
struct ArenaOffsets {
  llvm::DenseMap<Value, int64_t> values; // each in the arena of its memory
  llvm::DenseMap<Operation *, int64_t> workspaces;
};

struct ArenaBytes {
  int64_t device = 0, host = 0;
};
} // namespace

/// Takes over the places that the planner found with the schedule, where the ops still stand as it
/// says. Nothing where there are none.
/// The plan knows nothing of what updates hold in the host's arena, in front of what leaves.
static std::optional<ArenaOffsets> takePlacement(func::FuncOp step, const StepStorage &storage,
                                                 const ExtractedProblem &extracted,
                                                 const HostArena &host) {
  auto placement = step->getAttrOfType<DenseI64ArrayAttr>(LlmDialect::kPlacement);
  if (!placement)
    return std::nullopt;
  step->removeAttr(LlmDialect::kPlacement);
  ArrayRef<int64_t> left = placement;
  ArenaOffsets offsets;
  auto next = [&]() {
    int64_t offset = left.empty() ? -1 : left.front();
    left = left.drop_front(left.empty() ? 0 : 1);
    return offset;
  };
  for (auto [index, op] : llvm::enumerate(extracted.ops)) {
    for (OpResult result : op->getResults())
      if (storage.hasOwnBytes(result))
        offsets.values[result] = next();
    if (extracted.problem.ops[index].workspace > 0)
      offsets.workspaces[op] = next();
  }
  for (auto &[value, offset] : offsets.values)
    if (auto known = host.offsets.find(value); known != host.offsets.end())
      offset = known->second;
    else if (llm::isOnHost(value.getType()))
      offset = llvm::checkedAdd(offset, host.bytes).value_or(-1);
  // Whoever wrote the attribute may have written anything. Beside what is resident an arena must
  // still be counted.
  const int64_t resident = std::max(extracted.problem.residentBytes(), residentOnHost(step));
  auto isPlace = [&](int64_t offset, int64_t bytes) {
    Count needed = Count(resident) + bytes + offset;
    return offset >= 0 && !needed.isTooMany();
  };
  for (auto [value, offset] : offsets.values)
    if (!isPlace(offset, bytesOfType(value.getType())))
      return std::nullopt;
  for (auto [op, offset] : offsets.workspaces)
    if (!isPlace(offset, workspaceBytes(op)))
      return std::nullopt;
  return left.empty() ? std::optional(offsets) : std::nullopt;
}

static ArenaOffsets placeInOrder(const ExtractedProblem &extracted, const StepStorage &storage,
                                 HostArena &host) {
  planning::Plan plan = packInOrder(extracted.problem);
  ArenaOffsets offsets;
  for (const planning::InstanceOffset &entry : plan.offsets)
    if (Value value = extracted.values[entry.value])
      offsets.values[value] = entry.offset;
  placeLeaving(extracted, storage, host);
  for (auto [value, offset] : host.offsets)
    offsets.values[value] = offset;
  for (const planning::WorkspaceOffset &entry : plan.workspaces)
    offsets.workspaces[extracted.ops[plan.steps[entry.step]]] = entry.offset;
  return offsets;
}

/// Writes the offsets onto the ops and returns the arenas' bytes.
static ArenaBytes writeOffsets(func::FuncOp step, const StepStorage &storage,
                               const ExtractedProblem &extracted, const ArenaOffsets &placed) {
  Builder builder(step.getContext());
  ArenaBytes arenas;
  for (Operation &op : step.getBody().front().without_terminator()) {
    SmallVector<int64_t> offsets;
    for (Value result : op.getResults()) {
      bool outside = storage.getArgument(result) || storage.isConstant(result);
      offsets.push_back(outside ? -1 : placed.values.lookup(storage.getRoot(result)));
      // A view may show more than there is, as a broadcast does.
      int64_t &arena = llm::isOnHost(result.getType()) ? arenas.host : arenas.device;
      if (!outside && storage.getRoot(result) == result)
        arena = std::max(arena, offsets.back() + bytesOfType(result.getType()));
    }
    op.setAttr(LlmDialect::kOffsets, builder.getDenseI64ArrayAttr(offsets));
  }
  for (auto [index, op] : llvm::enumerate(extracted.ops))
    if (int64_t bytes = extracted.problem.ops[index].workspace) {
      int64_t offset = placed.workspaces.lookup(op);
      op->setAttr(LlmDialect::kWorkspace, builder.getDenseI64ArrayAttr({offset, bytes}));
      arenas.device = std::max(arenas.device, offset + bytes);
    }
  return arenas;
}

/// Fails where a budget is exceeded.
static LogicalResult checkBudget(func::FuncOp step, StringRef name, int64_t total,
                                 StringRef whose) {
  auto budget = step->getAttrOfType<IntegerAttr>(name);
  if (!budget || total <= budget.getInt())
    return success();
  return step.emitError() << "needs " << formatByteSize(total)
                          << " of resident buffers and arena, more than the budget" << whose
                          << " of " << formatByteSize(budget.getInt());
}

LogicalResult llmmem::planArena(func::FuncOp step, const StepStorage &storage,
                                const DeviceModel &device) {
  FailureOr<ExtractedProblem> extracted = extractProblem(step, storage, device);
  if (failed(extracted))
    return failure();
  auto budget = step->getAttrOfType<IntegerAttr>(LlmDialect::kBudget);
  if (budget)
    extracted->problem.budget = budget.getInt();
  HostArena host = placeForUpdates(*extracted, storage);
  std::optional<ArenaOffsets> offsets = takePlacement(step, storage, *extracted, host);
  ArenaBytes arenas = writeOffsets(step, storage, *extracted,
                                   offsets ? *offsets : placeInOrder(*extracted, storage, host));
  if (failed(checkBudget(step, LlmDialect::kBudget,
                         extracted->problem.residentBytes() + arenas.device, "")) ||
      failed(checkBudget(step, LlmDialect::kHostBudget, residentOnHost(step) + arenas.host,
                         " of the host")))
    return failure();
  Builder builder(step.getContext());
  step->setAttr(LlmDialect::kArena, builder.getI64IntegerAttr(arenas.device));
  if (arenas.host > 0)
    step->setAttr(LlmDialect::kHostArena, builder.getI64IntegerAttr(arenas.host));
  else
    step->removeAttr(LlmDialect::kHostArena); // of an earlier plan
  // An analysis from before the offsets would be stale.
  step->setAttr(LlmDialect::kPeak, builder.getI64IntegerAttr(StepLiveness(step, storage).peak));
  return success();
}

namespace {
struct PlanArenaPass : StepPass<llmmem::impl::PlanArenaBase<PlanArenaPass>> {
  using StepPass::StepPass;
  LogicalResult runOnStep(func::FuncOp step) override {
    const StepStorage *storage = getStorage();
    const DeviceModel *table = getDevice(device);
    if (!storage || !table || failed(planArena(step, *storage, *table)))
      return failure();
    markAnalysesPreserved<StepStorage>();
    return success();
  }
};
} // namespace
