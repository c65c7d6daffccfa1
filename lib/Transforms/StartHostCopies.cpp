//===- StartHostCopies.cpp - The pass start-host-copies --------------------===//

#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Transforms/Passes.h"
#include "llmmem/Transforms/StartCollectives.h"
#include "llmmem/Transforms/StepPass.h"

namespace llmmem {
#define GEN_PASS_DEF_STARTHOSTCOPIES
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

namespace {
struct StartHostCopiesPass : StepPass<llmmem::impl::StartHostCopiesBase<StartHostCopiesPass>> {
  using StepPass::StepPass;
  LogicalResult runOnStep(func::FuncOp step) override {
    const StepStorage *storage = getStorage();
    if (!storage)
      return failure();
    FailureOr<int64_t> starts = startHostCopies(step, *storage);
    numStarts = starts.value_or(0);
    return starts;
  }
};
} // namespace
