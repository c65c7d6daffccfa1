//===- VerifyPlan.cpp - Refuses a false claim ------------------------------===//

#include "llmmem/Analysis/PlanVerifier.h"
#include "llmmem/Transforms/Passes.h"
#include "llmmem/Transforms/StepPass.h"

namespace llmmem {
#define GEN_PASS_DEF_VERIFYPLAN
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

namespace {
struct VerifyPlanPass : StepPass<llmmem::impl::VerifyPlanBase<VerifyPlanPass>> {
  using StepPass::StepPass;
  LogicalResult runOnStep(func::FuncOp step) override {
    markAllAnalysesPreserved();
    return verifyPlan(step);
  }

  /// The verifier counts them itself, and reports them in messages of its own.
  LogicalResult checkTypes(func::FuncOp) override { return success(); }
};
} // namespace
