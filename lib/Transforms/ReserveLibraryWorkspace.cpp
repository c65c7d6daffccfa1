//===- ReserveLibraryWorkspace.cpp - Workspace for a library of matmuls ---===//

#include "llmmem/Transforms/ReserveLibraryWorkspace.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Targets/LossHeadGranule.h"
#include "llmmem/Transforms/Passes.h"
#include "llmmem/Transforms/StepPass.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

namespace llmmem {
#define GEN_PASS_DEF_RESERVELIBRARYWORKSPACE
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

/// Bounds the workspace by this share of what the op holds anyway: more would drown a small model
/// in scratch bytes.
static constexpr int64_t kShare = 4;

/// A library multiplies a granule at a time, whatever the chunk, so its size decides how many tiles
/// there are.
static void chooseGranule(llm::LossHeadOp head) {
  head.setGranule(llm::lossHeadGranule(head.getNumRows(), head.getWidth(), head.getColumns()));
}

unsigned llmmem::reserveLibraryWorkspace(func::FuncOp step, const DeviceModel &device) {
  unsigned count = 0;
  Builder builder(step.getContext());
  for (Operation &op : step.getBody().front().without_terminator()) {
    auto cost = dyn_cast<CostOpInterface>(op);
    if (!cost || !cost.multipliesMatrices())
      continue;
    int64_t most = sumOfOperandAndResultBytes(&op) / kShare;
    int64_t bytes = llvm::alignDown(std::min(device.libraryWorkspace, most), kArenaAlignment);
    if (bytes == 0)
      continue;
    op.setAttr(llm::LlmDialect::kLibraryWorkspace, builder.getI64IntegerAttr(bytes));
    if (auto head = dyn_cast<llm::LossHeadOp>(op))
      chooseGranule(head);
    ++count;
  }
  return count;
}

unsigned llmmem::leaveSumsToLibrary(func::FuncOp step) {
  unsigned count = 0;
  Builder builder(step.getContext());
  for (Operation &op : step.getBody().front().without_terminator())
    if (isa<llm::AllReduceBucketOp, llm::AllReduceOp, llm::ReduceOp, llm::ReduceScatterBucketOp,
            llm::ReduceScatterOp>(op)) {
      op.setAttr(llm::LlmDialect::kLibraryWorkspace, builder.getI64IntegerAttr(0));
      ++count;
    }
  return count;
}

namespace {
struct ReserveLibraryWorkspacePass
    : StepPass<llmmem::impl::ReserveLibraryWorkspaceBase<ReserveLibraryWorkspacePass>> {
  using StepPass::StepPass;
  LogicalResult runOnStep(func::FuncOp step) override {
    const DeviceModel *table = getDevice(device);
    if (!table)
      return failure();
    unsigned count = matmuls ? reserveLibraryWorkspace(step, *table) : 0;
    if (sums)
      count += leaveSumsToLibrary(step);
    numOps += count;
    if (count == 0)
      markAllAnalysesPreserved();
    markAnalysesPreserved<StepStorage>();
    return success();
  }
};
} // namespace
