//===- RankStep.cpp - A step on all ranks of a mesh, as threads -------------===//

#include "RankStep.h"
#include "ThreadTransport.h"
#include "llmmem/Execution/SequentialPlan.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

std::unique_ptr<RankStep> RankStep::compile(ModuleOp module, StringRef function, bool isPlanned) {
  std::unique_ptr<RankStep> result(new RankStep());
  result->function = module.lookupSymbol<func::FuncOp>(function);
  if (!isPlanned)
    planSequentially(result->function);
  auto mesh = result->function->getAttrOfType<llm::MeshAttr>(llm::LlmDialect::kMesh);
  result->sizes = mesh ? std::vector<int64_t>(mesh.getSizes()) : std::vector<int64_t>{1};
  CompiledStep::Options options;
  options.function = function.str();
  FailureOr<std::unique_ptr<CompiledStep>> step = CompiledStep::compile(module, options);
  if (failed(step)) {
    ADD_FAILURE() << "@" << function.str() << " does not compile";
    return nullptr;
  }
  result->compiled = std::move(*step);
  return result;
}

int64_t RankStep::ranks() const {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
}

static std::vector<Numbers> runOne(const CompiledStep &step, StepMemory &memory,
                                   const std::vector<Numbers> &arguments) {
  for (auto [number, info] : llvm::enumerate(step.arguments()))
    for (auto [index, value] : llvm::enumerate(arguments[number]))
      writeElement(info.type.getElementType(), memory.argument(number), index, value);
  EXPECT_TRUE(mlir::succeeded(step.run(memory)));
  std::vector<Numbers> results;
  for (auto [number, info] : llvm::enumerate(step.results())) {
    results.emplace_back();
    for (int64_t index = 0; index < info.type.getNumElements(); ++index)
      results.back().push_back(
          readElement(info.type.getElementType(), memory.result(number), index));
  }
  return results;
}

std::vector<std::vector<Numbers>>
RankStep::run(const std::vector<std::vector<Numbers>> &arguments) {
  std::vector<std::vector<Numbers>> results(ranks());
  std::vector<StepMemory> memories;
  for (int64_t rank = 0; rank < ranks(); ++rank) {
    llvm::Expected<StepMemory> memory = StepMemory::allocate(*compiled);
    if (!memory) {
      ADD_FAILURE() << llvm::toString(memory.takeError());
      return results;
    }
    memories.push_back(std::move(*memory));
  }
  runAsRanks(sizes,
             [&](int rank) { results[rank] = runOne(*compiled, memories[rank], arguments[rank]); });
  return results;
}

std::vector<std::vector<Numbers>> RankStep::split(const std::map<std::string, Numbers> &whole) {
  std::vector<std::vector<Numbers>> arguments(ranks());
  for (auto [rank, own] : llvm::enumerate(arguments))
    for (auto [number, info] : llvm::enumerate(compiled->arguments())) {
      const Numbers &all = whole.at(info.name);
      size_t count = info.type.getNumElements(), begin = isSplit(number) ? rank * count : 0;
      EXPECT_EQ(all.size(), isSplit(number) ? ranks() * count : count) << info.name;
      own.emplace_back(all.begin() + begin, all.begin() + begin + count);
    }
  return arguments;
}

std::map<std::string, Numbers> RankStep::join(const std::vector<std::vector<Numbers>> &results,
                                              StringRef local) {
  std::map<std::string, Numbers> whole;
  for (auto [number, info] : llvm::enumerate(compiled->results())) {
    std::string name =
        info.donatedArgument ? compiled->arguments()[*info.donatedArgument].name : "loss";
    if (!local.empty() && StringRef(name).ends_with(local))
      continue;
    Numbers &all = whole[name];
    for (const std::vector<Numbers> &own : results) {
      if (info.donatedArgument && isSplit(*info.donatedArgument))
        all.insert(all.end(), own[number].begin(), own[number].end());
      else if (all.empty())
        all = own[number];
      else
        EXPECT_EQ(all, own[number]) << name << " differs between ranks";
    }
  }
  return whole;
}
