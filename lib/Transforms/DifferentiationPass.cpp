//===- DifferentiationPass.cpp - @loss becomes @step -----------------------===//

#include "llmmem/Analysis/Step.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Transforms/Differentiation.h"
#include "llmmem/Transforms/Passes.h"

namespace llmmem {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

namespace {
struct DifferentiatePass : llmmem::impl::DifferentiateBase<DifferentiatePass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto loss = module.lookupSymbol<func::FuncOp>("loss");
    if (!loss) {
      if (failed(leaveAsItIs(module)))
        signalPassFailure();
      return;
    }
    auto training = module->getAttrOfType<llm::TrainingAttr>(llm::LlmDialect::kTraining);
    if (!training) {
      emitError(
          module.getLoc(),
          "does not say how to train @loss; give it llm.training, as in module attributes "
          "{llm.training "
          "= #llm.training<optimizer = sgd, gradients = resident, beta1 = 0.9 : f64, beta2 = 0.999 "
          ": "
          "f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64, clip_norm = 0.0 : f64>}");
      return signalPassFailure();
    }
    if (failed(checkSizes(loss, SizeLimit::BytesOfEach)) ||
        failed(buildTrainingStep(loss, training)))
      return signalPassFailure();
    loss.erase();
  }

  /// The passes on functions that come next see no module without one.
  LogicalResult leaveAsItIs(ModuleOp module) {
    markAllAnalysesPreserved();
    if (!ifPresent)
      return emitError(
          module.getLoc(),
          "has no function @loss to differentiate; llmmem-import writes one, or name yours so");
    return findStep(module) ? success() : LogicalResult(emitNoStep(module));
  }
};
} // namespace
