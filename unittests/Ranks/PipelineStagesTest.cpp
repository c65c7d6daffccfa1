//===- PipelineStagesTest.cpp - What stages hold, by liveness ---------------===//
//
// A stage of 1F1B holds the activations of min(m, p - i) micro-batches. Nothing in a stage's
// program says so but the order of its ops: the counts are those of values that a forward writes
// and a backward reads later.
//
// The planner searches one micro-batch for all, so all of a stage are to run the same ops in the
// same order, whatever ranks do together besides the stages.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Transforms/PipelineStages.h"
#include "Differentiation/SmallModels.h"
#include "ExecutionContext.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Analysis/Step.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
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

OwningOpRef<ModuleOp> buildStages(const planning::PipelineShape &shape,
                                  std::vector<MeshAxis> others = {},
                                  const ParallelStrategy &strategy = {}) {
  importer::ImportOptions options;
  options.batch = shape.microBatches * (others.empty() ? 1 : others.front().size);
  options.seq = 4;
  options.layers = shape.numChunks();
  OwningOpRef<ModuleOp> module = importSmallModel(others.empty() ? "llama" : "llama-wide", options);
  auto loss = module->lookupSymbol<func::FuncOp>("loss");
  others.insert(others.begin(), {"pp", shape.stages});
  llm::MeshAttr mesh = makeMesh(others, &executionContext());
  llvm::Expected<DeviceModel> device = loadDeviceModel("cpu");
  if (!device || failed(parallelize(loss, mesh, strategy)) ||
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

/// Stages of two data parallel and two sequence parallel ranks.
OwningOpRef<ModuleOp> buildSequenceParallel(int64_t microBatches, int64_t zeroStage) {
  ParallelStrategy strategy;
  strategy.zeroStage = zeroStage;
  strategy.sequenceParallel = true;
  return buildStages({planning::PipelineKind::OneForwardOneBackward, 2, microBatches},
                     {{"dp", 2}, {"tp", 2}}, strategy);
}

TEST(PipelineStages, RunTheSameOpsForEachMicroBatch) {
  constexpr int64_t microBatches = 3;
  for (int64_t zeroStage = 0; zeroStage <= 3; ++zeroStage) {
    SCOPED_TRACE("ZeRO stage " + std::to_string(zeroStage));
    OwningOpRef<ModuleOp> module = buildSequenceParallel(microBatches, zeroStage);
    ASSERT_TRUE(module);
    for (func::FuncOp stage : findStepFunctions(*module)) {
      std::vector<std::vector<std::string>> ops(microBatches);
      for (Operation &op : stage.getBody().front())
        if (auto number = op.getAttrOfType<IntegerAttr>(LlmDialect::kMicroBatch))
          ops[number.getInt()].push_back(op.getName().getStringRef().str());
      for (int64_t number = 1; number < microBatches; ++number)
        EXPECT_EQ(ops[number], ops[0]) << stage.getName().str() << ", micro-batch " << number;
    }
  }
}

int64_t countSumsOfGradients(ModuleOp module) {
  int64_t count = 0;
  module.walk([&](llm::AllReduceOp op) { count += llm::readPhase(op) == llm::Phase::Backward; });
  return count;
}

// ZeRO-2 sums what each micro-batch adds, and so does the gather of ZeRO-3.
TEST(PipelineStages, SumGradientsOfWholeParametersOnce) {
  for (int64_t zeroStage = 0; zeroStage <= 1; ++zeroStage) {
    OwningOpRef<ModuleOp> few = buildSequenceParallel(2, zeroStage),
                          many = buildSequenceParallel(5, zeroStage);
    ASSERT_TRUE(few && many);
    EXPECT_GT(countSumsOfGradients(*few), 0);
    EXPECT_EQ(countSumsOfGradients(*many), countSumsOfGradients(*few))
        << "ZeRO stage " << zeroStage;
  }
}

TEST(PipelineStages, ReadNoInputsOfOthers) {
  OwningOpRef<ModuleOp> module = buildStages({planning::PipelineKind::OneForwardOneBackward, 3, 2});
  ASSERT_TRUE(module);
  std::vector<std::vector<std::string>> inputs;
  for (func::FuncOp stage : findStepFunctions(*module)) {
    inputs.emplace_back();
    for (BlockArgument argument : stage.getArguments())
      if (getRole(argument) == llm::Role::Input)
        inputs.back().push_back(getName(argument));
  }
  using Names = std::vector<std::string>;
  EXPECT_EQ(inputs, (std::vector<Names>{{"ids", "learning_rate", "step"},
                                        {"learning_rate", "step"},
                                        {"targets", "learning_rate", "step"}}));
}

TEST(PipelineStages, HoldAllMicroBatchesUnderGPipe) {
  OwningOpRef<ModuleOp> module = buildStages({planning::PipelineKind::GPipe, 2, 5});
  ASSERT_TRUE(module);
  for (func::FuncOp function : findStepFunctions(*module))
    EXPECT_EQ(countInFlight(function), 5);
}

} // namespace
