//===- StepEqualityTest.cpp - One rank against several ----------------------===//
//
// The same step, on one rank and split over several: loss, parameters, states and gradients are
// equal but for the order of sums. Targets are ignored in different numbers on different ranks,
// dropout samples by the element of the whole batch, gradients are clipped, and some parameters
// have rows that no number of ranks divides. Under a tight budget every bit is what it was.
//
//===----------------------------------------------------------------------===//

#include "Differentiation/SmallModels.h"
#include "ExecutionContext.h"
#include "RankStep.h"
#include "llmmem/Pipelines/CheckpointPipeline.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstdlib>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

namespace {

using Values = std::map<std::string, Numbers>;

struct Case {
  std::string family;
  importer::ElementKind dtype;
  int64_t ranks, zero;
  llm::GradientLifetime gradients = llm::GradientLifetime::Resident;
  double dropout = 0.0, clipNorm = 0.0;
  importer::AttentionForm attention = importer::AttentionForm::Flash;

  std::string name() const {
    return family + (dtype == importer::ElementKind::F64 ? "F64" : "F32") + "Dp" +
           std::to_string(ranks) + "Zero" + std::to_string(zero) +
           (gradients == llm::GradientLifetime::Transient ? "Transient" : "") +
           (dropout > 0 ? "Dropout" : "") + (clipNorm > 0 ? "Clip" : "") +
           (attention == importer::AttentionForm::Unfused ? "Unfused" : "");
  }
};

void PrintTo(const Case &test, std::ostream *os) { *os << test.name(); }

constexpr int64_t kBatch = 4, kSeq = 5;

/// The planned step of a rank; of one rank without a mesh where `ranks` is 0.
OwningOpRef<ModuleOp> plan(const Case &test, int64_t ranks, const std::string &budget) {
  importer::ImportOptions options;
  options.batch = kBatch;
  options.seq = kSeq;
  options.dtype = test.dtype;
  options.dropout = test.dropout;
  options.attention = test.attention;
  options.training.gradients = test.gradients;
  options.training.clipNorm = test.clipNorm;
  options.training.eps = 1e-2; // a division by almost nothing would magnify rounding
  OwningOpRef<ModuleOp> module = importSmallModel(test.family, options);
  if (!module)
    return nullptr;
  PassManager passes(&executionContext());
  CheckpointPipelineOptions pipeline;
  if (!budget.empty())
    pipeline.budget = budget;
  pipeline.device = "cpu";
  pipeline.seconds = 0.2;
  if (ranks > 0) {
    pipeline.mesh = "dp=" + std::to_string(ranks);
    pipeline.zero = test.zero;
  }
  buildCheckpointPipeline(passes, pipeline, nullptr);
  EXPECT_TRUE(succeeded(passes.run(*module))) << test.name();
  return module;
}

/// What the whole batch and the whole model are, by name, for the arguments of the step of one
/// rank.
Values wholeArguments(const Case &test) {
  OwningOpRef<ModuleOp> module = plan(test, 0, "");
  std::unique_ptr<Program> program = Program::compile(*module, "step", /*isPlanned=*/true);
  std::vector<Numbers> numbers = argumentsOf(*program, 0.125);
  Values whole;
  for (auto [number, info] : llvm::enumerate(program->step().arguments())) {
    Numbers &own = whole[info.name] = numbers[number];
    if (info.role == llm::Role::Gradient)
      std::fill(own.begin(), own.end(), 0.0);
    if (info.name == "targets")
      for (int64_t token = 1; token < kSeq; ++token) // the first sequence has one target
        own[token] = -100;
  }
  return whole;
}

Values run(const Case &test, int64_t ranks, const std::string &budget, const Values &whole) {
  OwningOpRef<ModuleOp> module = plan(test, ranks, budget);
  std::unique_ptr<RankStep> step = RankStep::compile(*module, "step", /*isPlanned=*/true);
  if (!step)
    return {};
  // Under ZeRO-1 a resident gradient is what this rank has added.
  return step->join(step->run(step->split(whole)), ranks > 1 && test.zero == 1 ? ".gradient" : "");
}

void expectEqualSteps(const Case &test) {
  SCOPED_TRACE(test.name());
  double tolerance = test.dtype == importer::ElementKind::F64 ? 1e-12 : 1e-5;
  Values whole = wholeArguments(test);
  Values one = run(test, 0, "", whole), several = run(test, test.ranks, "", whole);
  ASSERT_FALSE(several.empty());
  for (const auto &[name, numbers] : several) {
    const Numbers &expected = one.at(name);
    ASSERT_EQ(numbers.size(), expected.size()) << name;
    double largest = 0;
    for (double value : expected)
      largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < numbers.size(); ++i)
      EXPECT_NEAR(numbers[i], expected[i], tolerance * largest) << name << ", element " << i;
  }
  EXPECT_EQ(run(test, test.ranks, "min", whole), several) << "a tight budget changes bits";
}

class StepEquality : public ::testing::TestWithParam<Case> {};

TEST_P(StepEquality, OneRankAgainstSeveral) { expectEqualSteps(GetParam()); }

// A mesh of one rank is the step without a mesh, bit for bit.
TEST(StepEqualityOfOne, IsBitwise) {
  Case test{"gpt2", importer::ElementKind::F32, 1, 0};
  test.dropout = 0.2;
  test.clipNorm = 0.5;
  Values whole = wholeArguments(test), one = run(test, 0, "", whole);
  for (test.zero = 0; test.zero <= 3; ++test.zero)
    EXPECT_EQ(run(test, 1, "", whole), one) << "ZeRO stage " << test.zero;
}

using importer::ElementKind;

/// Each stage with all that could tell ranks apart, and the other family, ranks and gradients.
std::vector<Case> shortCases() {
  std::vector<Case> cases;
  for (int64_t zero = 0; zero <= 3; ++zero)
    cases.push_back({"gpt2", ElementKind::F64, 2, zero, llm::GradientLifetime::Resident, 0.2, 0.5});
  cases.push_back({"llama", ElementKind::F64, 4, 2, llm::GradientLifetime::Transient});
  cases.push_back({"llama", ElementKind::F64, 4, 3});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Ranks, StepEquality, ::testing::ValuesIn(shortCases()),
                         [](const auto &info) { return info.param.name(); });

// The same of f32, of more pairs of families and ranks, and of unfused attention.
TEST(StepEqualitySweep, OneRankAgainstSeveral) {
  if (!std::getenv("LLMMEM_LONG"))
    GTEST_SKIP() << "utils/check --long sweeps";
  for (std::string family : {"gpt2", "llama"})
    for (int64_t zero = 0; zero <= 3; ++zero)
      expectEqualSteps({family, ElementKind::F64, zero % 2 ? 2 : 4, zero});
  for (int64_t zero = 0; zero <= 3; ++zero)
    expectEqualSteps({"gpt2", ElementKind::F32, 2, zero});
  expectEqualSteps({"llama", ElementKind::F64, 4, 0, llm::GradientLifetime::Transient});
  expectEqualSteps({"gpt2", ElementKind::F64, 2, 3, llm::GradientLifetime::Resident, 0.2, 0.0,
                    importer::AttentionForm::Unfused});
}

} // namespace
