//===- RankStep.cpp - A step on all ranks of a mesh, as threads -------------===//

#include "RankStep.h"
#include "ThreadTransport.h"
#include "llmmem/Analysis/Step.h"
#include "llmmem/Execution/SequentialPlan.h"
#include "gtest/gtest.h"
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
  if (mesh)
    for (StringAttr name : mesh.getNames())
      result->names.push_back(name.str());
  for (func::FuncOp function : result->functions) {
    if (!isPlanned)
      planSequentially(function);
    CompiledStep::Options options;
    options.function = function.getName().str();
    options.fillDeadBytes = poison;
    FailureOr<std::unique_ptr<CompiledStep>> step = CompiledStep::compile(module, options);
    if (failed(step)) {
      ADD_FAILURE() << "@" << options.function << " does not compile";
      return nullptr;
    }
    result->compiled.push_back(std::move(*step));
  }
  return result;
}

int64_t RankStep::positionOn(StringRef axis, int64_t rank) const {
  for (size_t number = names.size(); number-- > 0; rank /= sizes[number])
    if (names[number] == axis)
      return rank % sizes[number];
  return 0;
}

int64_t RankStep::ranks() const {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
}

static std::vector<Numbers> runOne(const CompiledStep &step, StepMemory &memory,
                                   const std::vector<Numbers> &arguments) {
  for (auto [number, info] : llvm::enumerate(step.arguments()))
    for (auto [index, value] : llvm::enumerate(arguments[number]))
      writeElement(info.type.getElementType(), memory.argument(number), index, value);
  double loss = 0.0; // the sum of what micro-batches add to it
  for (int64_t number = 0; number < step.microBatches(); ++number) {
    for (auto [argument, info] : llvm::enumerate(step.arguments()))
      if (info.name == "micro_batch")
        *static_cast<int32_t *>(memory.argument(argument)) = static_cast<int32_t>(number);
    EXPECT_TRUE(mlir::succeeded(step.run(memory)));
    loss += readElement(step.results()[0].type.getElementType(), memory.result(0), 0);
  }
  EXPECT_TRUE(mlir::succeeded(step.runUpdate(memory)));
  std::vector<Numbers> results;
  for (auto [number, info] : llvm::enumerate(step.results())) {
    results.emplace_back();
    for (int64_t index = 0; index < info.type.getNumElements(); ++index)
      results.back().push_back(
          readElement(info.type.getElementType(), memory.result(number), index));
  }
  if (step.microBatches() > 1)
    results[0] = {loss};
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

std::vector<std::vector<Numbers>> RankStep::split(const std::map<std::string, Numbers> &whole) {
  std::vector<std::vector<Numbers>> arguments(ranks());
  for (auto [rank, own] : llvm::enumerate(arguments))
    for (auto [number, info] : llvm::enumerate(stepOf(rank).arguments())) {
      const Numbers &all = whole.at(info.name);
      size_t count = info.type.getNumElements();
      size_t begin = isSplit(rank, number) ? positionOn("dp", rank) * count : 0;
      EXPECT_EQ(all.size(), isSplit(rank, number) ? info.whole.getNumElements() : count)
          << info.name;
      own.emplace_back(all.begin() + begin, all.begin() + begin + count);
    }
  return arguments;
}

std::map<std::string, Numbers> RankStep::join(const std::vector<std::vector<Numbers>> &results,
                                              StringRef local) {
  std::map<std::string, Numbers> whole;
  std::map<std::string, std::map<int64_t, Numbers>> parts; // by their position
  for (auto [rank, own] : llvm::enumerate(results))
    for (auto [number, info] : llvm::enumerate(stepOf(rank).results())) {
      std::optional<unsigned> argument = info.donatedArgument;
      std::string name = argument ? stepOf(rank).arguments()[*argument].name : "loss";
      if (!local.empty() && StringRef(name).ends_with(local))
        continue;
      int64_t position = argument && isSplit(rank, *argument) ? positionOn("dp", rank) : 0;
      auto [it, isNew] = parts[name].try_emplace(position, own[number]);
      if (!isNew)
        EXPECT_EQ(it->second, own[number]) << name << " differs between ranks";
    }
  for (auto &[name, ofName] : parts)
    for (auto &[position, part] : ofName)
      whole[name].insert(whole[name].end(), part.begin(), part.end());
  return whole;
}
