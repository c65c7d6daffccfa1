//===- PipelineStagesTest.cpp - What stages hold, by liveness ---------------===//
//
// A stage of 1F1B holds the activations of min(m, p - i) micro-batches. Nothing in a stage's
// program says so but the order of its ops: the counts are those of values that a forward writes
// and a backward reads later.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Transforms/PipelineStages.h"
#include "Differentiation/SmallModels.h"
#include "ExecutionContext.h"
#include "llmmem/Analysis/Step.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Transforms/MicroBatches.h"
#include "llmmem/Transforms/Parallelize.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <map>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;
using llm::LlmDialect;

namespace {

OwningOpRef<ModuleOp> buildStages(const planning::PipelineShape &shape) {
  importer::ImportOptions options;
  options.batch = shape.microBatches;
  options.seq = 3;
  options.layers = shape.numChunks();
  OwningOpRef<ModuleOp> module = importSmallModel("llama", options);
  auto loss = module->lookupSymbol<func::FuncOp>("loss");
  llm::MeshAttr mesh = makeMesh({{"pp", shape.stages}}, &executionContext());
  llvm::Expected<DeviceModel> device = loadDeviceModel("cpu");
  if (!device || failed(parallelize(loss, mesh, ParallelStrategy())) ||
      failed(splitMicroBatches(loss, shape.microBatches)) ||
      failed(buildPipelineStages(loss,
                                 (*module)->getAttrOfType<llm::TrainingAttr>(LlmDialect::kTraining),
                                 shape, *device))) {
    ADD_FAILURE();
    return nullptr;
  }
  loss.erase();
  EXPECT_TRUE(succeeded(checkExchanges(*module)));
  return module;
}

/// The most micro-batches that have a value of floats at once which a forward has written and a
/// backward will read.
int64_t countInFlight(func::FuncOp stage) {
  std::map<Operation *, int64_t> place;
  for (Operation &op : stage.getBody().front())
    place.emplace(&op, place.size());
  std::map<int64_t, std::pair<int64_t, int64_t>> spans; // of micro-batches: first write, last read
  for (Operation &op : stage.getBody().front()) {
    auto microBatch = op.getAttrOfType<IntegerAttr>(LlmDialect::kMicroBatch);
    if (!microBatch || llm::readPhase(&op) != llm::Phase::Forward)
      continue;
    for (Value result : op.getResults())
      for (Operation *user : result.getUsers())
        if (isa<FloatType>(getElementTypeOrSelf(result.getType())) &&
            llm::readPhase(user) == llm::Phase::Backward) {
          auto [it, isNew] =
              spans.try_emplace(microBatch.getInt(), std::pair(place[&op], place[user]));
          it->second.first = std::min(it->second.first, place[&op]);
          it->second.second = std::max(it->second.second, place[user]);
        }
  }
  int64_t most = 0;
  for (auto &[number, span] : spans) {
    int64_t now = 0;
    for (auto &[other, others] : spans)
      now += others.first <= span.first && span.first <= others.second;
    most = std::max(most, now);
  }
  return most;
}

void expectCounts(int64_t stages, int64_t microBatches) {
  SCOPED_TRACE(std::to_string(stages) + " stages, " + std::to_string(microBatches) +
               " micro-batches");
  OwningOpRef<ModuleOp> module =
      buildStages({planning::PipelineKind::OneForwardOneBackward, stages, microBatches});
  ASSERT_TRUE(module);
  SmallVector<func::FuncOp> functions = findStepFunctions(*module);
  ASSERT_EQ(static_cast<int64_t>(functions.size()), stages);
  for (auto [stage, function] : llvm::enumerate(functions))
    EXPECT_EQ(countInFlight(function), std::min<int64_t>(microBatches, stages - stage))
        << "stage " << stage;
}

TEST(PipelineStages, HoldAsManyMicroBatchesAsTheTheorySays) {
  bool isLong = std::getenv("LLMMEM_LONG") != nullptr; // then all of 2 to 8 and 1 to 16
  for (int64_t stages = 2; stages <= 8; stages += isLong ? 1 : 3)
    for (int64_t microBatches = 1; microBatches <= 16; microBatches += isLong ? 1 : 5)
      expectCounts(stages, microBatches);
}

TEST(PipelineStages, HoldAllMicroBatchesUnderGPipe) {
  OwningOpRef<ModuleOp> module = buildStages({planning::PipelineKind::GPipe, 2, 5});
  ASSERT_TRUE(module);
  for (func::FuncOp function : findStepFunctions(*module))
    EXPECT_EQ(countInFlight(function), 5);
}

} // namespace
