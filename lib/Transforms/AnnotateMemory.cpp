//===- AnnotateMemory.cpp - Bytes and costs, readable in the text ----------===//

#include "llmmem/Transforms/AnnotateMemory.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Layout/StepLiveness.h"
#include "llmmem/Transforms/Passes.h"
#include "llmmem/Transforms/StepPass.h"
#include "mlir/IR/Builders.h"

namespace llmmem {
#define GEN_PASS_DEF_ANNOTATEMEMORY
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

LogicalResult llmmem::annotateMemory(func::FuncOp step, const DeviceModel &device) {
  Builder builder(step.getContext());
  for (Operation &op : step.getBody().front().without_terminator()) {
    FailureOr<OpCost> cost = getCost(&op, device);
    if (failed(cost))
      return failure();
    SmallVector<int64_t> bytes;
    for (Value result : op.getResults()) {
      FailureOr<int64_t> size = getCheckedBytes(result);
      if (failed(size))
        return failure();
      bytes.push_back(*size);
    }
    op.setAttr(LlmDialect::kBytes, builder.getDenseI64ArrayAttr(bytes));
    op.setAttr(LlmDialect::kCost, toAttribute(*cost, step.getContext()));
    if (!op.hasAttr(LlmDialect::kPhase))
      llm::writePhase(&op, llm::Phase::Forward);
  }
  return success();
}

namespace {
struct AnnotateMemoryPass : StepPass<llmmem::impl::AnnotateMemoryBase<AnnotateMemoryPass>> {
  using StepPass::StepPass;
  LogicalResult runOnStep(func::FuncOp step) override {
    const DeviceModel *table = getDevice(device);
    if (!table || failed(annotateMemory(step, *table)))
      return failure();
    markAnalysesPreserved<StepStorage, StepLiveness>();
    return success();
  }
};
} // namespace
