//===- PipelinePasses.cpp - @loss becomes the steps of stages ----------------===//

#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Transforms/Passes.h"
#include "llmmem/Transforms/PipelineStages.h"

namespace llmmem {
#define GEN_PASS_DEF_BUILDSTAGES
#define GEN_PASS_DEF_CHECKEXCHANGES
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

namespace {
struct BuildStagesPass : llmmem::impl::BuildStagesBase<BuildStagesPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto loss = module.lookupSymbol<func::FuncOp>("loss");
    auto training = module->getAttrOfType<llm::TrainingAttr>(llm::LlmDialect::kTraining);
    if (!loss || !training) {
      emitError(module.getLoc()) << "has no " << (loss ? "llm.training" : "function @loss")
                                 << " to build the stages of a pipeline from";
      return signalPassFailure();
    }
    std::optional<planning::PipelineKind> kind = planning::parsePipelineKind(schedule);
    if (!kind) {
      emitError(module.getLoc()) << "schedule: '" << schedule
                                 << "' is no schedule of a pipeline; expected gpipe, 1f1b, "
                                    "interleaved or zero-bubble";
      return signalPassFailure();
    }
    llvm::Expected<DeviceModel> table = loadDeviceModel(device);
    if (!table) {
      emitError(module.getLoc()) << "device: " << llvm::toString(table.takeError());
      return signalPassFailure();
    }
    auto mesh = loss->getAttrOfType<llm::MeshAttr>(llm::LlmDialect::kMesh);
    auto count = loss->getAttrOfType<IntegerAttr>(llm::LlmDialect::kMicroBatches);
    planning::PipelineShape shape;
    shape.kind = *kind;
    shape.chunks = chunks;
    shape.microBatches = count ? count.getInt() : 1;
    if (mesh && mesh.findAxis(kPipelineAxis))
      shape.stages = mesh.getSizes()[*mesh.findAxis(kPipelineAxis)];
    if (failed(buildPipelineStages(loss, training, shape, *table)))
      return signalPassFailure();
    loss.erase();
  }
};

struct CheckExchangesPass : llmmem::impl::CheckExchangesBase<CheckExchangesPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(checkExchanges(getOperation())))
      signalPassFailure();
  }
};
} // namespace
