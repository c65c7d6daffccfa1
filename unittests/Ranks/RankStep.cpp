//===- RankStep.cpp - A step on all ranks of a mesh, as threads -------------===//

#include "RankStep.h"
#include "SequentialPlan.h"
#include "ThreadTransport.h"
#include "llmmem/Analysis/Step.h"
#include "gtest/gtest.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

std::unique_ptr<RankStep> RankStep::compile(ModuleOp module, StringRef name, bool isPlanned,
                                            bool poison) {
  std::unique_ptr<RankStep> result(new RankStep());
  if (!name.empty())
    result->functions.push_back(module.lookupSymbol<func::FuncOp>(name));
  else
    for (func::FuncOp function : findStepFunctions(module))
      if (function.getName() != "update")
        result->functions.push_back(function);
  auto mesh = result->functions.front()->getAttrOfType<llm::MeshAttr>(llm::LlmDialect::kMesh);
  result->sizes = mesh ? std::vector<int64_t>(mesh.getSizes()) : std::vector<int64_t>{1};
  if (mesh && result->functions.size() > 1)
    result->stages = mesh.findAxis("pp");
  for (func::FuncOp function : result->functions) {
    if (!isPlanned)
      planSequentially(function);
    CompiledStep::Options options;
    options.function = function.getName().str();
    options.fillDeadBytes = poison;
    options.optimize = false; // tests of ranks compile much and run little; no bit changes
    FailureOr<std::unique_ptr<CompiledStep>> step = CompiledStep::compile(module, options);
    if (failed(step)) {
      ADD_FAILURE() << "@" << options.function << " does not compile";
      return nullptr;
    }
    result->compiled.push_back(std::move(*step));
  }
  return result;
}

int64_t RankStep::stageOf(int64_t rank) const {
  return stages ? positionOf(rank, int64_t{1} << *stages) : 0;
}

int64_t RankStep::ranks() const {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
}

static std::vector<Numbers> runOne(const CompiledStep &step, StepMemory &memory,
                                   const std::vector<Numbers> &arguments) {
  for (auto [number, info] : llvm::enumerate(step.arguments()))
    for (auto [index, value] : llvm::enumerate(arguments[number]))
      writeElement(info.type.getElementType(), memory.argument(number), index, value);
  // What micro-batches add up: the loss, and the count of dropped choices.
  std::vector<double> sums(step.results().size(), 0.0);
  for (int64_t number = 0; number < step.microBatches(); ++number) {
    for (auto [argument, info] : llvm::enumerate(step.arguments()))
      if (info.name == "micro_batch")
        *static_cast<int32_t *>(memory.argument(argument)) = static_cast<int32_t>(number);
    EXPECT_TRUE(mlir::succeeded(step.run(memory)));
    for (auto [result, info] : llvm::enumerate(step.results()))
      if (!info.donatedArgument)
        sums[result] += readElement(info.type.getElementType(), memory.result(result), 0);
  }
  EXPECT_TRUE(mlir::succeeded(step.runUpdate(memory)));
  std::vector<Numbers> results;
  for (auto [number, info] : llvm::enumerate(step.results())) {
    results.emplace_back();
    for (int64_t index = 0; index < info.type.getNumElements(); ++index)
      results.back().push_back(
          readElement(info.type.getElementType(), memory.result(number), index));
  }
  for (auto [number, info] : llvm::enumerate(step.results()))
    if (!info.donatedArgument && step.microBatches() > 1)
      results[number] = {sums[number]};
  return results;
}

std::vector<std::vector<Numbers>>
RankStep::run(const std::vector<std::vector<Numbers>> &arguments) {
  std::vector<std::vector<Numbers>> results(ranks());
  std::vector<StepMemory> memories;
  for (int64_t rank = 0; rank < ranks(); ++rank) {
    llvm::Expected<StepMemory> memory = StepMemory::allocate(stepOf(rank));
    if (!memory) {
      ADD_FAILURE() << llvm::toString(memory.takeError());
      return results;
    }
    memories.push_back(std::move(*memory));
  }
  runAsRanks(sizes, [&](int rank) {
    results[rank] = runOne(stepOf(rank), memories[rank], arguments[rank]);
  });
  return results;
}

int64_t RankStep::positionOf(int64_t rank, int64_t axes) const {
  int64_t position = 0, stride = 1;
  for (size_t axis = sizes.size(); axis-- > 0; rank /= sizes[axis])
    if (axes & (int64_t{1} << axis)) {
      position += rank % sizes[axis] * stride;
      stride *= sizes[axis];
    }
  return position;
}

std::vector<std::vector<Numbers>> RankStep::split(const std::map<std::string, Numbers> &whole) {
  std::vector<std::vector<Numbers>> arguments(ranks());
  for (auto [rank, own] : llvm::enumerate(arguments))
    for (const StepArgument &info : stepOf(rank).arguments()) {
      const Numbers &all = whole.at(info.name);
      EXPECT_EQ(static_cast<int64_t>(all.size()), info.shard.wholeElements()) << info.name;
      Numbers &part = own.emplace_back(info.type.getNumElements(), 0.0);
      EXPECT_EQ(info.shard.partElements(), info.type.getNumElements()) << info.name;
      if (info.shard.server && positionOf(rank, info.shard.server) != 0)
        continue;
      info.shard.forEachRun(positionOf(rank, info.shard.axes), [&](Shard::Run run) {
        std::copy_n(all.begin() + run.whole, run.count, part.begin() + run.part);
      });
    }
  return arguments;
}

/// Puts a rank's numbers where they belong; what is there already must be the same.
static void place(const StepArgument &info, int64_t position, const Numbers &part, Numbers &whole) {
  std::vector<bool> isPadding(part.size(), true);
  info.shard.forEachRun(position, [&](Shard::Run run) {
    for (int64_t i = 0; i < run.count; ++i) {
      double &known = whole[run.whole + i], number = part[run.part + i];
      EXPECT_TRUE(std::isnan(known) || known == number) << info.name << " differs between ranks";
      known = number;
      isPadding[run.part + i] = false;
    }
  });
  for (size_t i = 0; i < part.size(); ++i)
    EXPECT_TRUE(!isPadding[i] || part[i] == 0.0) << info.name << " has numbers as padding";
}

std::map<std::string, Numbers> RankStep::join(const std::vector<std::vector<Numbers>> &results,
                                              StringRef local) {
  std::map<std::string, Numbers> whole;
  for (auto [rank, own] : llvm::enumerate(results))
    for (auto [number, result] : llvm::enumerate(stepOf(rank).results())) {
      StepArgument info;
      info.name = number == 0 ? "loss" : "dropped_choices";
      info.shard.shape.assign(result.type.getShape().begin(), result.type.getShape().end());
      if (result.donatedArgument)
        info = stepOf(rank).arguments()[*result.donatedArgument];
      if (!local.empty() && StringRef(info.name).ends_with(local))
        continue;
      // What a server alone has, nobody else touches.
      if (info.shard.server && positionOf(rank, info.shard.server) != 0) {
        EXPECT_EQ(own[number], Numbers(own[number].size(), 0.0)) << info.name;
        continue;
      }
      Numbers &all = whole[info.name];
      all.resize(info.shard.wholeElements(), std::nan(""));
      place(info, positionOf(rank, info.shard.axes), own[number], all);
    }
  return whole;
}
