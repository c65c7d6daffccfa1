//===- OffloadChainTest.cpp - Chains of layers with a link ------------------------===//
//
// Against the best keep, recompute or offload for each layer (OffloadChain.h).
//
//===----------------------------------------------------------------------===//

#include "OffloadChain.h"
#include "FromEnvironment.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Offload/OffloadProblem.h"
#include "llmmem/Planning/Planner.h"
#include "gtest/gtest.h"

using namespace llmmem::planning;
using llmmem::Result;
using test::Layer;
using test::OffloadChain;
using test::RotorChain;

namespace {

// Two layers. The second backward holds both bodies, boundary 1 and two gradients: 23.
TEST(OffloadChainTest, TheReferenceByHand) {
  const RotorChain chain{
      {1, 1, 1}, std::vector(2, test::RotorStage{.body = 10, .bodyCost = 5, .backwardCost = 10})};
  auto timeOf = [&](int64_t capacity, int64_t copy, std::vector<Layer> decisions) {
    return OffloadChain(chain, capacity, {copy, copy}).timeOf(decisions);
  };
  // The first forward ends at 5, the second at 10, the backwards at 20 and 30.
  EXPECT_EQ(timeOf(23, 5, {Layer::Keep, Layer::Keep}), 30);
  EXPECT_EQ(timeOf(22, 5, {Layer::Keep, Layer::Keep}), std::nullopt);
  EXPECT_EQ(timeOf(13, 5, {Layer::Recompute, Layer::Keep}), 35);
  // Up from 5 to 10, where the second has room; back when that one's backward has ended at 25.
  EXPECT_EQ(timeOf(13, 5, {Layer::Offload, Layer::Keep}), 40);
  // With room for both it is fetched while the second's backward runs.
  EXPECT_EQ(timeOf(23, 5, {Layer::Offload, Layer::Keep}), 30);
  // To the host until 18, back from there until 31, with a backward that ends at 20.
  EXPECT_EQ(timeOf(23, 13, {Layer::Offload, Layer::Keep}), 41);
}

struct Compared {
  int64_t reference, inFewerBytes, planned, bound; // the first two of the reference
};

/// A chain under `percent` of what keeping all takes, where a copy of the first body takes
/// `perForward` of its forwards. The reference, which knows nothing of packing, has `fewer` bytes
/// less as well.
Compared compare(const RotorChain &chain, int64_t percent, double perForward, int64_t fewer = 0) {
  int64_t all = 0;
  for (size_t i = 0; i < chain.stages.size(); ++i)
    all += chain.boundary[i + 1] + chain.stages[i].body;
  const int64_t capacity = all * percent / 100;
  Problem problem = test::makeRotorProblem(chain);
  problem.budget = problem.residentBytes() + capacity;
  const int64_t rate =
      static_cast<int64_t>(static_cast<double>(chain.stages[0].body) * 1e9 /
                           (perForward * static_cast<double>(chain.stages[0].forwardCost())));
  const Result<Problem> copied = withHostCopies(problem, 2 * all, {rate, rate});
  EXPECT_TRUE(copied) << copied.error();
  std::vector<int64_t> copies;
  for (const test::RotorStage &stage : chain.stages)
    copies.push_back(timeOfCopy(stage.body, rate, 0));
  auto best = [&](int64_t bytes) { return OffloadChain(chain, bytes, copies).best().value_or(-1); };
  PlanOptions options;
  options.policy.kind = PolicyKind::Budget;
  options.workSeconds = 0.1;
  const Plan planned = plan(*copied, options);
  for (const Violation &violation : verify(*copied, planned))
    ADD_FAILURE() << violation.rule << ": " << violation.message;
  EXPECT_EQ(planned.status, Status::Feasible);
  return {best(capacity), best(capacity - fewer), planned.time ? planned.time->time : -1,
          planned.time ? planned.time->lowerBound : -1};
}

RotorChain equalLayers(int32_t layers) {
  RotorChain chain = test::gpt3Chain(/*canDropAttention=*/false);
  chain.boundary.resize(layers + 1);
  chain.stages.resize(layers);
  return chain;
}

/// LLMMEM_OFFLOAD_CHAINS=24 takes more than those of every run.
int32_t numChains() { return test::fromEnvironment("LLMMEM_OFFLOAD_CHAINS", 2); }

// The lines are the table of docs/Design/SeveralMemories.md.
TEST(OffloadChainTest, EqualLayers) {
  for (int32_t layers : numChains() > 2 ? std::vector{6, 8, 12} : std::vector{12})
    for (int64_t percent : {25, 31, 45})
      for (double perForward : {4.0, 2.0, 1.0}) {
        const Compared it = compare(equalLayers(layers), percent, perForward);
        const std::string where = std::to_string(layers) + " | " + std::to_string(percent) +
                                  " % | 1/" + std::to_string(int(perForward));
        std::printf("| %s | %s | %s | %s |\n", where.c_str(), std::to_string(it.reference).c_str(),
                    std::to_string(it.planned).c_str(), std::to_string(it.bound).c_str());
        EXPECT_LE(it.planned, it.reference) << where;
        EXPECT_LE(it.bound, it.reference) << where;
      }
}

/// 5 to 9 layers of unequal sizes and costs.
RotorChain unequalLayers(uint32_t seed) {
  RotorChain chain = test::randomChain(2 * seed); // even ones have no pieces
  const size_t layers = std::min<size_t>(chain.stages.size(), 5 + seed % 5);
  chain.boundary.resize(layers + 1);
  chain.stages.resize(layers);
  return chain;
}

TEST(OffloadChainTest, UnequalLayers) {
  const int32_t count = numChains();
  int32_t shorter = 0, equal = 0, longer = 0;
  for (int32_t seed = 1; seed <= count; ++seed)
    for (double perForward : {2.0, 0.5}) {
      const Compared it = compare(unequalLayers(seed), 55 + seed % 3 * 15, perForward, /*fewer=*/2);
      EXPECT_LE(it.planned, it.inFewerBytes) << "seed " << seed << ", " << perForward;
      ++(it.planned < it.reference ? shorter : it.planned == it.reference ? equal : longer);
    }
  std::printf("%d shorter than the best decisions, %d equal, %d longer\n", shorter, equal, longer);
}

} // namespace
