//===- StepEqualityTest.cpp - One rank against several ----------------------===//
//
// The same step, on one rank and split over several: loss, parameters, states and gradients are
// equal but for the order of sums. Targets are ignored in different numbers on different ranks,
// dropout samples by the element of the whole batch, gradients are clipped, and some parameters
// have rows that no number of ranks divides. Under a tight budget every bit is what it was, and so
// it is where collectives overlap with what follows them.
//
//===----------------------------------------------------------------------===//

#include "Differentiation/SmallModels.h"
#include "ExecutionContext.h"
#include "RankStep.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Pipelines/CheckpointPipeline.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstdlib>
#include <optional>

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
  int64_t microBatches = 1;
  int64_t stages = 0; // of a pipeline; 0: no mesh with pp
  std::string schedule = "1f1b";
  importer::MaskForm masks = importer::MaskForm::Seeded;
  int64_t tensorRanks = 1; // `ranks` are those of dp
  bool sequenceParallel = false;
  bool tensorFirst = false; // in the mesh
  std::string bucketBytes = "25MB";
  bool server = false;
  bool pinned = false;      // residuals to positions over tp
  int64_t contextRanks = 1; // of each of dp
  int64_t expertRanks = 1;
  std::optional<int64_t> capacity = std::nullopt; // of an expert, in a sequence
  std::optional<double> balance = std::nullopt;   // loss

  std::string name() const {
    std::string model = family;
    llvm::erase(model, '-');
    return model + (dtype == importer::ElementKind::F64 ? "F64" : "F32") + "Dp" +
           std::to_string(ranks) + (expertRanks > 1 ? "Ep" + std::to_string(expertRanks) : "") +
           "Zero" + std::to_string(zero) +
           (contextRanks > 1 ? "Cp" + std::to_string(contextRanks) : "") +
           (tensorRanks > 1 ? "Tp" + std::to_string(tensorRanks) : "") + (server ? "Server" : "") +
           (sequenceParallel ? "Sp" : "") + (pinned ? "Pinned" : "") +
           (tensorFirst ? "First" : "") + (masks == importer::MaskForm::Stored ? "Stored" : "") +
           (gradients == llm::GradientLifetime::Transient ? "Transient" : "") +
           (dropout > 0 ? "Dropout" : "") + (clipNorm > 0 ? "Clip" : "") +
           (attention == importer::AttentionForm::Unfused ? "Unfused" : "") +
           (microBatches > 1 ? "Micro" + std::to_string(microBatches) : "") +
           (stages > 0 ? "Pp" + std::to_string(stages) + scheduleName() : "");
  }

  std::string scheduleName() const {
    std::string text = schedule;
    std::erase(text, '-');
    return text;
  }

  /// An axis of one rank stands only where ZeRO or nothing else needs one.
  std::string mesh() const {
    std::string others = stages > 0 ? "pp=" + std::to_string(stages) : "";
    if (tensorRanks > 1)
      others = "tp=" + std::to_string(tensorRanks) + (others.empty() ? "" : ",") + others;
    if (contextRanks > 1)
      others = "cp=" + std::to_string(contextRanks) + (others.empty() ? "" : ",") + others;
    std::string dp = "dp=" + std::to_string(ranks);
    if (expertRanks > 1)
      dp += ",ep=" + std::to_string(expertRanks);
    if (others.empty())
      return dp;
    if (ranks * expertRanks == 1 && (zero == 0 || contextRanks > 1))
      return others;
    return tensorFirst ? others + "," + dp : dp + "," + others;
  }
};

void PrintTo(const Case &test, std::ostream *os) { *os << test.name(); }

constexpr int64_t kBatch = 4;
// A sequence of 5 over which no number of ranks divides, unless it is split.
int64_t seqOf(const Case &test) { return test.tensorRanks > 1 || test.contextRanks > 1 ? 4 : 5; }

/// Says whether collectives overlap with what follows them.
enum class Collectives { InTurn, Started };

/// What a user may write: the sums of residuals, which every rank of tp has whole, are to be split.
void pinResiduals(ModuleOp module, bool hasDataAxis) {
  Builder builder(module.getContext());
  ArrayAttr whole = builder.getArrayAttr({}), split = builder.getStrArrayAttr({"tp"}),
            batch = hasDataAxis ? builder.getStrArrayAttr({"dp"}) : whole;
  auto positions = llm::ShardingAttr::get(module.getContext(),
                                          builder.getArrayAttr({batch, split, whole}), ArrayAttr());
  module.walk([&](llm::AddOp add) { add->setAttr(llm::LlmDialect::kSharding, positions); });
}

/// The planned step of a rank; of one rank without a mesh where `ranks` is 0.
OwningOpRef<ModuleOp> plan(const Case &test, int64_t ranks, const std::string &budget,
                           Collectives collectives = Collectives::InTurn) {
  importer::ImportOptions options;
  options.batch = kBatch;
  const bool hasTwoChunks = test.schedule == "interleaved" || test.schedule == "zero-bubble-v";
  if (test.stages > 0)
    options.layers = hasTwoChunks ? 2 * test.stages : test.stages;
  options.seq = seqOf(test);
  options.dtype = test.dtype;
  options.dropout = test.dropout;
  options.attention = test.attention;
  options.masks = test.masks;
  options.expertCapacity = test.capacity;
  options.balanceLoss = test.balance;
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
  if (ranks > 0 && test.pinned)
    pinResiduals(*module, StringRef(test.mesh()).contains("dp"));
  if (ranks > 0) {
    pipeline.mesh = test.mesh();
    pipeline.zero = test.zero;
    pipeline.microBatches = test.microBatches;
    pipeline.pipeline = test.schedule;
    pipeline.sequenceParallel = test.sequenceParallel;
    pipeline.bucketBytes = test.bucketBytes;
    pipeline.dataParallel = test.server ? "server" : "all-reduce";
  }
  buildCheckpointPipeline(passes, pipeline, nullptr);
  if (collectives == Collectives::Started) {
    passes.addNestedPass<func::FuncOp>(createStartCollectives());
    passes.addNestedPass<func::FuncOp>(createVerifyPlan());
  }
  EXPECT_TRUE(succeeded(passes.run(*module))) << test.name();
  return module;
}

/// What the whole batch and the whole model are, by name, for the arguments of the step of one
/// rank; gradients, too, which micro-batches keep whatever the whole batch's step does.
Values wholeArguments(Case test) {
  test.gradients = llm::GradientLifetime::Resident;
  OwningOpRef<ModuleOp> module = plan(test, 0, "");
  std::unique_ptr<Program> program = Program::compile(*module, "step", /*isPlanned=*/true);
  std::vector<Numbers> numbers = argumentsOf(*program, 0.125);
  Values whole;
  for (auto [number, info] : llvm::enumerate(program->step().arguments())) {
    Numbers &own = whole[info.name] = numbers[number];
    if (info.role == llm::Role::Gradient)
      std::fill(own.begin(), own.end(), 0.0);
    if (info.name == "targets")
      for (int64_t token = 1; token < seqOf(test); ++token) // the first sequence has one target
        own[token] = -100;
  }
  whole["micro_batch"] = {0.0};
  return whole;
}

/// Runs the step. Where collectives are started, it fills dead bytes, since bytes in flight must
/// not count as dead.
Values run(const Case &test, int64_t ranks, const std::string &budget, const Values &whole,
           Collectives collectives = Collectives::InTurn) {
  OwningOpRef<ModuleOp> module = plan(test, ranks, budget, collectives);
  std::unique_ptr<RankStep> step =
      RankStep::compile(*module, "", /*isPlanned=*/true,
                        /*poison=*/collectives == Collectives::Started);
  if (!step)
    return {};
  // Under ZeRO-1 a resident gradient is what this rank has added; with a server it is 0.
  bool hasOwn = test.ranks * test.expertRanks * test.contextRanks > 1 && ranks > 0 &&
                (test.zero == 1 || test.server);
  Values all = step->join(step->run(step->split(whole)), hasOwn ? ".gradient" : "");
  // Micro-batches keep gradients that the whole batch's step does not.
  if (test.gradients == llm::GradientLifetime::Transient)
    std::erase_if(all, [](auto &entry) { return StringRef(entry.first).ends_with(".gradient"); });
  return all;
}

void expectEqualSteps(const Case &test) {
  SCOPED_TRACE(test.name());
  double tolerance = test.dtype == importer::ElementKind::F64 ? 1e-12 : 1e-5;
  Values whole = wholeArguments(test);
  Values one = run(test, 0, "", whole), several = run(test, test.ranks, "", whole);
  ASSERT_FALSE(several.empty());
  for (const auto &[name, numbers] : several) {
    auto found = one.find(name);
    ASSERT_NE(found, one.end()) << name;
    const Numbers &expected = found->second;
    ASSERT_EQ(numbers.size(), expected.size()) << name;
    double largest = 0;
    for (double value : expected)
      largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < numbers.size(); ++i)
      EXPECT_NEAR(numbers[i], expected[i], tolerance * largest) << name << ", element " << i;
  }
  EXPECT_EQ(run(test, test.ranks, "min", whole), several) << "a tight budget changes bits";
  bool isLong = std::getenv("LLMMEM_LONG");
  for (const char *bytes : {"300B", "0"}) {
    Case other = test;
    other.bucketBytes = bytes;
    bool isShort = bytes[0] == '3' && test.ranks == 2 && test.tensorRanks == 1;
    if (isLong || isShort)
      EXPECT_EQ(run(other, test.ranks, "", whole), several)
          << "buckets of " << bytes << " change bits";
  }
  if (isLong || test.ranks * test.expertRanks == 4 || test.zero == 1)
    EXPECT_EQ(run(test, test.ranks, "min", whole, Collectives::Started), several)
        << "starts change bits under a tight budget";
  if (isLong)
    EXPECT_EQ(run(test, test.ranks, "", whole, Collectives::Started), several)
        << "starts change bits";
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

// A group of one rank has all of each sum, which its micro-batches take up once.
TEST(StepEqualityOfOne, AddsUpMicroBatches) {
  Case test{"gpt2", importer::ElementKind::F64, 1, 2};
  test.microBatches = 2;
  expectEqualSteps(test);
}

using importer::ElementKind;

/// A case of tensor parallel ranks.
Case tensor(std::string family, ElementKind dtype, int64_t ranks, int64_t zero, int64_t tensorRanks,
            bool sequenceParallel, double dropout = 0.0) {
  Case test{std::move(family), dtype, ranks, zero};
  test.tensorRanks = tensorRanks;
  test.sequenceParallel = sequenceParallel;
  test.dropout = dropout;
  test.clipNorm = 0.5;
  return test;
}

/// Heads, widths, sequences and the vocabulary of 11 over ranks, alone and with dp.
std::vector<Case> tensorCases() {
  std::vector<Case> cases = {tensor("gpt2-wide", ElementKind::F64, 1, 0, 2, false, 0.2),
                             tensor("gpt2-wide", ElementKind::F64, 1, 0, 4, true, 0.2),
                             tensor("gpt2-wide", ElementKind::F64, 2, 3, 2, true, 0.2),
                             tensor("llama-wide", ElementKind::F64, 2, 1, 2, true),
                             tensor("llama-wide", ElementKind::F32, 1, 0, 2, true)};
  cases[1].attention = importer::AttentionForm::Unfused;
  cases[1].masks = importer::MaskForm::Stored;
  cases[3].tensorFirst = true;
  // These are the micro-batches of each rank's part of the batch.
  cases.push_back(tensor("gpt2-wide", ElementKind::F64, 2, 2, 2, true, 0.2));
  cases.back().microBatches = 2;
  // Sequence parallelism as a user may pin it, value by value.
  cases.push_back(tensor("llama-wide", ElementKind::F64, 1, 0, 4, false));
  cases.back().pinned = true;
  cases.push_back(tensor("gpt2-wide", ElementKind::F64, 2, 1, 2, false, 0.2));
  cases.back().pinned = true;
  // Gradients of norms, which the ranks of tp sum once for all of them.
  cases.push_back(tensor("llama-wide", ElementKind::F64, 1, 0, 2, true));
  cases.back().microBatches = 2;
  return cases;
}

INSTANTIATE_TEST_SUITE_P(TensorRanks, StepEquality, ::testing::ValuesIn(tensorCases()),
                         [](const auto &info) { return info.param.name(); });

/// A case of ranks that have parts of each sequence.
Case context(std::string family, ElementKind dtype, int64_t ranks, int64_t zero,
             int64_t contextRanks, double dropout = 0.0) {
  Case test{std::move(family), dtype, ranks, zero};
  test.contextRanks = contextRanks;
  test.dropout = dropout;
  test.clipNorm = 0.5;
  return test;
}

/// Parts of sequences over 2 and 4 ranks, alone and with the batch, with every stage of ZeRO,
/// heads, and stages of a pipeline. Causal, windowed, learned and rotated positions.
std::vector<Case> contextCases() {
  std::vector<Case> cases = {context("gpt2-wide", ElementKind::F64, 1, 0, 2, 0.2),
                             context("gpt2-wide", ElementKind::F64, 1, 3, 4, 0.2),
                             context("llama-wide", ElementKind::F64, 2, 1, 2),
                             context("llama-wide", ElementKind::F32, 1, 2, 4),
                             context("mistral-wide", ElementKind::F64, 1, 0, 4),
                             context("mistral-wide", ElementKind::F64, 2, 3, 2)};
  // What is written out is masked, and dropped, by the same rules.
  cases.push_back(context("gpt2-wide", ElementKind::F64, 1, 2, 2, 0.2));
  cases.back().attention = importer::AttentionForm::Unfused;
  cases.back().microBatches = 2;
  // Heads over tp, and their parts over cp; positions over both.
  for (bool sequenceParallel : {false, true}) {
    cases.push_back(context("llama-wide", ElementKind::F64, 1, 1, 2));
    cases.back().tensorRanks = 2;
    cases.back().sequenceParallel = sequenceParallel;
  }
  cases.push_back(context("llama-wide", ElementKind::F64, 1, 0, 2));
  cases.back().stages = 2;
  cases.back().microBatches = 4;
  return cases;
}

INSTANTIATE_TEST_SUITE_P(ContextRanks, StepEquality, ::testing::ValuesIn(contextCases()),
                         [](const auto &info) { return info.param.name(); });

/// Two pipeline stages of two tensor parallel ranks each. What crosses is whole
/// without sequence parallelism and a part with it; GPT-2's split table is on the first and the
/// last stage.
Case tensorStages(std::string family, std::string schedule, int64_t ranks, int64_t zero,
                  bool sequenceParallel, double dropout = 0.0) {
  Case test =
      tensor(std::move(family), ElementKind::F64, ranks, zero, 2, sequenceParallel, dropout);
  test.stages = 2;
  test.microBatches = 4 / ranks;
  test.schedule = std::move(schedule);
  return test;
}

/// Eight ranks with parts of everything, and four without; the sweep has the others.
std::vector<Case> tensorStageCases() {
  return {tensorStages("gpt2-wide", "1f1b", 2, 2, true, 0.2),
          tensorStages("llama-wide", "1f1b", 2, 1, true),
          tensorStages("llama-wide", "zero-bubble", 1, 0, false)};
}

INSTANTIATE_TEST_SUITE_P(TensorStages, StepEquality, ::testing::ValuesIn(tensorStageCases()),
                         [](const auto &info) { return info.param.name(); });

/// A case of ranks that share experts, of which some choices are dropped.
Case experts(std::string family, ElementKind dtype, int64_t ranks, int64_t expertRanks,
             int64_t zero) {
  Case test{std::move(family), dtype, ranks, zero};
  test.expertRanks = expertRanks;
  test.clipNorm = 0.5;
  test.capacity = 3;
  return test;
}

/// Mixtures of each kind: with a loss of balance over the whole batch, with shared experts after a
/// dense layer, and with norms of heads.
std::vector<Case> expertCases() {
  std::vector<Case> cases = {experts("mixtral", ElementKind::F64, 1, 2, 0),
                             experts("mixtral", ElementKind::F64, 2, 2, 3),
                             experts("mixtral", ElementKind::F32, 1, 4, 2),
                             experts("deepseek", ElementKind::F64, 2, 2, 1),
                             experts("qwen3-moe", ElementKind::F64, 1, 4, 1),
                             experts("qwen3-moe", ElementKind::F32, 2, 2, 2)};
  // Micro-batches, whose losses of balance would be others.
  cases.push_back(experts("mixtral", ElementKind::F64, 1, 2, 2));
  cases.back().microBatches = 2;
  cases.back().balance = 0;
  cases.push_back(experts("deepseek", ElementKind::F64, 1, 2, 0));
  cases.back().microBatches = 2;
  // Widths of a rank's experts over tp.
  cases.push_back(experts("mixtral", ElementKind::F64, 1, 2, 0));
  cases.back().family = "mixtral-wide";
  cases.back().tensorRanks = 2;
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Experts, StepEquality, ::testing::ValuesIn(expertCases()),
                         [](const auto &info) { return info.param.name(); });

/// Stages of ranks that share experts. What these drop is counted on all stages.
std::vector<Case> expertStageCases() {
  std::vector<Case> cases = {experts("mixtral", ElementKind::F64, 1, 2, 2),
                             experts("qwen3-moe", ElementKind::F64, 1, 2, 0)};
  cases.front().balance = 0;
  for (Case &test : cases) {
    test.stages = 2;
    test.microBatches = 2;
  }
  cases[1].schedule = "zero-bubble";
  return cases;
}

INSTANTIATE_TEST_SUITE_P(ExpertStages, StepEquality, ::testing::ValuesIn(expertStageCases()),
                         [](const auto &info) { return info.param.name(); });

/// Each stage with all that could tell ranks apart, and the other family, ranks and gradients.
std::vector<Case> shortCases() {
  std::vector<Case> cases;
  for (int64_t zero = 0; zero <= 3; ++zero)
    cases.push_back({"gpt2", ElementKind::F64, 2, zero, llm::GradientLifetime::Resident, 0.2, 0.5});
  cases.push_back({"llama", ElementKind::F64, 4, 2, llm::GradientLifetime::Transient});
  cases.push_back({"llama", ElementKind::F64, 4, 3});
  // A server, alone and with tp, with micro-batches.
  cases.push_back({"gpt2", ElementKind::F64, 4, 0, llm::GradientLifetime::Resident, 0.2, 0.5});
  cases.back().server = true;
  cases.push_back(tensor("llama-wide", ElementKind::F64, 2, 0, 2, false));
  cases.back().server = true;
  cases.back().microBatches = 2;
  // Micro-batches on two ranks that split gradients.
  cases.push_back({"gpt2", ElementKind::F64, 2, 2, llm::GradientLifetime::Resident, 0.2, 0.5,
                   importer::AttentionForm::Flash, /*microBatches=*/2});
  // Stages of a pipeline: with tied embeddings (gpt2), dropout, clipping and data parallel ranks
  // that split gradients; and with gradients of weights apart.
  auto stages = [&](const char *family, const char *schedule, int64_t ranks, int64_t zero,
                    double dropout) {
    Case test{family, ElementKind::F64, ranks, zero, llm::GradientLifetime::Resident, dropout, 0.5};
    test.stages = 2;
    test.microBatches = 4 / ranks;
    test.schedule = schedule;
    cases.push_back(test);
  };
  stages("gpt2", "1f1b", 2, 2, 0.2);
  stages("llama", "zero-bubble", 1, 0, 0.0);
  stages("llama", "zero-bubble-v", 1, 0, 0.0);
  stages("gpt2", "dualpipe", 1, 0, 0.2);
  return cases;
}

/// Every schedule and way of splitting that the short run leaves out.
std::vector<Case> longCases() {
  std::vector<Case> cases;
  for (std::string family : {"gpt2", "llama"}) {
    for (int64_t zero = 0; zero <= 3; ++zero)
      cases.push_back({family, ElementKind::F64, zero == 0 ? 1 : 2, zero,
                       llm::GradientLifetime::Resident, 0.2, 0.5, importer::AttentionForm::Flash,
                       /*microBatches=*/zero == 0 ? 4 : 2});
    cases.push_back({family, ElementKind::F32, 2, 2, llm::GradientLifetime::Transient, 0.0, 0.0,
                     importer::AttentionForm::Unfused, /*microBatches=*/2});
    for (const char *schedule : {"gpipe", "1f1b", "interleaved", "zero-bubble"})
      for (int64_t stages : {2, 4})
        for (ElementKind kind : {ElementKind::F64, ElementKind::F32})
          for (int64_t ranks : {1, 2}) {
            Case test{family, kind, ranks, /*zero=*/ranks == 2 && stages == 2 ? 3 : 0};
            test.stages = stages;
            test.microBatches = 4 / ranks;
            test.schedule = schedule;
            test.dropout = stages == 2 ? 0.2 : 0.0;
            test.clipNorm = 0.5;
            // Interleaved stages take micro-batches in groups of as many as there are stages.
            if (test.schedule != "interleaved" || test.microBatches % stages == 0)
              cases.push_back(test);
          }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Ranks, StepEquality, ::testing::ValuesIn(shortCases()),
                         [](const auto &info) { return info.param.name(); });

TEST(StepEqualitySweep, TensorParallel) {
  if (!std::getenv("LLMMEM_LONG"))
    GTEST_SKIP() << "utils/check --long sweeps";
  for (std::string family : {"gpt2-wide", "llama-wide"})
    for (ElementKind dtype : {ElementKind::F64, ElementKind::F32})
      for (bool sequenceParallel : {false, true}) {
        for (int64_t ranks : {2, 4})
          expectEqualSteps(tensor(family, dtype, 1, 0, ranks, sequenceParallel));
        for (int64_t zero = 0; zero <= 3; ++zero)
          expectEqualSteps(tensor(family, dtype, 2, zero, 2, sequenceParallel));
      }
}

TEST(StepEqualitySweep, ContextParallel) {
  if (!std::getenv("LLMMEM_LONG"))
    GTEST_SKIP() << "utils/check --long sweeps";
  for (std::string family : {"gpt2-wide", "llama-wide", "mistral-wide"})
    for (ElementKind dtype : {ElementKind::F64, ElementKind::F32})
      for (int64_t zero = 0; zero <= 3; ++zero)
        for (int64_t ranks : {2, 4})
          expectEqualSteps(context(family, dtype, 4 / ranks, zero, ranks));
}

TEST(StepEqualitySweep, TensorStages) {
  if (!std::getenv("LLMMEM_LONG"))
    GTEST_SKIP() << "utils/check --long sweeps";
  for (std::string family : {"gpt2-wide", "llama-wide"})
    for (const char *schedule : {"gpipe", "1f1b", "interleaved", "zero-bubble"})
      for (bool sequenceParallel : {false, true}) {
        double dropout = family == "gpt2-wide" ? 0.2 : 0.0;
        expectEqualSteps(tensorStages(family, schedule, 1, 0, sequenceParallel, dropout));
        for (int64_t zero = 0; zero <= 3; ++zero)
          expectEqualSteps(tensorStages(family, schedule, 2, zero, sequenceParallel, dropout));
      }
  // The axes of the mesh the other way round, as many as 16 ranks, and f32.
  Case test = tensorStages("gpt2-wide", "1f1b", 2, 3, true, 0.2);
  test.tensorFirst = true;
  expectEqualSteps(test);
  test.stages = 4;
  expectEqualSteps(test);
  test.dtype = ElementKind::F32;
  expectEqualSteps(test);
}

// The same of f32, of more pairs of families and ranks, and of unfused attention.
TEST(StepEqualitySweep, OneRankAgainstSeveral) {
  if (!std::getenv("LLMMEM_LONG"))
    GTEST_SKIP() << "utils/check --long sweeps";
  for (const Case &test : longCases())
    expectEqualSteps(test);
  for (std::string family : {"gpt2", "llama"})
    for (int64_t zero = 0; zero <= 3; ++zero)
      expectEqualSteps({family, ElementKind::F64, zero % 2 ? 2 : 4, zero});
  for (int64_t zero = 0; zero <= 3; ++zero)
    expectEqualSteps({"gpt2", ElementKind::F32, 2, zero});
  for (ElementKind dtype : {ElementKind::F64, ElementKind::F32})
    for (const char *family : {"gpt2", "llama"}) {
      Case test{family, dtype, 2, 0, llm::GradientLifetime::Transient};
      test.server = true;
      expectEqualSteps(test);
    }
  expectEqualSteps({"llama", ElementKind::F64, 4, 0, llm::GradientLifetime::Transient});
  expectEqualSteps({"gpt2", ElementKind::F64, 2, 3, llm::GradientLifetime::Resident, 0.2, 0.0,
                    importer::AttentionForm::Unfused});
}

} // namespace
