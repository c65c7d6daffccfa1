//===- PipelinePasses.cpp - @loss becomes the steps of stages ----------------===//

#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Transforms/Passes.h"
#include "llmmem/Transforms/PipelineStages.h"
#include "llmmem/Transforms/StageOptions.h"

namespace llmmem {
#define GEN_PASS_DEF_BUILDSTAGES
#define GEN_PASS_DEF_CHECKEXCHANGES
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

llvm::Expected<SmallVector<int64_t>> llmmem::parseStages(StringRef text) {
  SmallVector<int64_t> blocks;
  if (text.empty())
    return blocks;
  for (StringRef part : llvm::split(text, ',')) {
    int64_t count = 0;
    if (part.getAsInteger(10, count) || count < 1 || count > INT32_MAX)
      return llvm::createStringError("'" + part +
                                     "' is no number of blocks; expected 1 or more for each stage, "
                                     "as in 1,2,2,3");
    blocks.push_back(count);
  }
  return blocks;
}

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
    if (failed(checkSizes(loss, SizeLimit::BytesOfEach)))
      return signalPassFailure();
    std::optional<planning::PipelineKind> kind = planning::parsePipelineKind(schedule);
    if (!kind) {
      emitError(module.getLoc()) << "schedule: '" << schedule
                                 << "' is no schedule of a pipeline; expected "
                                 << planning::pipelineKindNames();
      return signalPassFailure();
    }
    if (llvm::Error error = readDevices()) {
      emitError(module.getLoc()) << llvm::toString(std::move(error));
      return signalPassFailure();
    }
    auto mesh = loss->getAttrOfType<llm::MeshAttr>(llm::LlmDialect::kMesh);
    auto count = loss->getAttrOfType<IntegerAttr>(llm::LlmDialect::kMicroBatches);
    planning::PipelineShape shape;
    shape.kind = *kind;
    shape.chunks = planning::chunksOf(*kind, chunks);
    shape.microBatches = count ? count.getInt() : 1;
    if (mesh && mesh.findAxis(kPipelineAxis))
      shape.stages = mesh.getSizes()[*mesh.findAxis(kPipelineAxis)];
    for (auto [name, option] : {std::pair<StringRef, StringRef>("device", device.getValue()),
                                std::pair<StringRef, StringRef>("budget", budget.getValue())})
      if (llvm::Error error = checkPartsOfStages(name, option, shape.stages)) {
        emitError(module.getLoc()) << llvm::toString(std::move(error));
        return signalPassFailure();
      }
    llvm::Expected<SmallVector<int64_t>> blocksOfChunks = parseStages(stages);
    if (!blocksOfChunks) {
      emitError(module.getLoc()) << "stages: " << llvm::toString(blocksOfChunks.takeError());
      return signalPassFailure();
    }
    if (failed(buildPipelineStages(loss, training, shape, devices, budgets, *blocksOfChunks)))
      return signalPassFailure();
    loss.erase();
  }

private:
  /// Reads one of each for all stages, or one for each.
  llvm::Error readDevices() {
    devices.clear();
    budgets.clear();
    for (StringRef part : partsOfStages(device.getValue())) {
      llvm::Expected<DeviceModel> table = loadDeviceModel(part);
      if (!table)
        return llvm::createStringError("device: " + llvm::toString(table.takeError()));
      devices.push_back(std::move(*table));
    }
    for (StringRef part : partsOfStages(budget.getValue())) {
      if (part.empty() || part == "min")
        continue;
      llvm::Expected<int64_t> bytes = parseByteSize(part);
      if (!bytes)
        return llvm::createStringError("budget: " + llvm::toString(bytes.takeError()));
      budgets.push_back(*bytes);
    }
    return llvm::Error::success();
  }

  SmallVector<DeviceModel, 1> devices;
  SmallVector<int64_t> budgets;
};

struct CheckExchangesPass : llmmem::impl::CheckExchangesBase<CheckExchangesPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(checkExchanges(getOperation())))
      signalPassFailure();
  }
};
} // namespace
