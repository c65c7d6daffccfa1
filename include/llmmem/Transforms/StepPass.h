//===- StepPass.h - A pass on functions that works on the step -------------===//

#ifndef LLMMEM_TRANSFORMS_STEPPASS_H
#define LLMMEM_TRANSFORMS_STEPPASS_H

#include "llmmem/Analysis/DeviceTables.h"
#include "llmmem/Analysis/Step.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Layout/StepStorage.h"
#include "llmmem/Targets/Targets.h"
#include "llmmem/Transforms/StageOptions.h"
#include "llmmem/Upstream/Models.h"
#include "mlir/Pass/Pass.h"

namespace llmmem {

/// Leaves every function alone but the step (Analysis/Step.h), and preserves the analyses of the
/// others. `BaseT` is what TableGen makes of a pass on `func.func`.
template <typename BaseT>
class StepPass : public BaseT {
public:
  using BaseT::BaseT;

  /// A host may have loaded the pass alone, as plugins are: ops of `llm` then still find the
  /// targets, and those of MLIR's own dialects have models.
  void getDependentDialects(mlir::DialectRegistry &registry) const override {
    BaseT::getDependentDialects(registry);
    registerTargets(registry);
    registerUpstreamModels(registry);
  }

  void runOnOperation() final {
    mlir::func::FuncOp function = this->getOperation();
    llvm::FailureOr<bool> works = isStep(function);
    if (mlir::failed(works))
      return this->signalPassFailure();
    if (!*works)
      return this->markAllAnalysesPreserved();
    if (mlir::failed(checkTypes(function)) || mlir::failed(runOnStep(function)))
      this->signalPassFailure();
  }

protected:
  virtual llvm::LogicalResult runOnStep(mlir::func::FuncOp step) = 0;

  /// Checks, before `runOnStep`, that its sizes can be counted.
  virtual llvm::LogicalResult checkTypes(mlir::func::FuncOp step) {
    return checkSizes(step, SizeLimit::BytesOfEach);
  }

  /// Returns the device table of a pass option, of several that of this stage; null after a
  /// diagnostic.
  const DeviceModel *getDevice(llvm::StringRef nameOrFile) {
    return this->template getAnalysis<DeviceTables>().get(
        partOfStage(nameOrFile, this->getOperation()), this->getOperation());
  }

  /// Returns null after a diagnostic.
  const StepStorage *getStorage() {
    const StepStorage &storage = this->template getAnalysis<StepStorage>();
    return storage.isValid() ? &storage : nullptr;
  }
};

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_STEPPASS_H
