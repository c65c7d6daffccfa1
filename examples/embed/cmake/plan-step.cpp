//===- plan-step.cpp - A training step of eight layers, planned in C++ ------===//
//
// Fills a Problem, plans it under 60 % of the bytes that it takes without a budget, lets the
// verifier check the plan and the checker what it claims, and shows that the text of a problem
// reads back.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Planning/Bounds/Prove.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Planner.h"
#include "llmmem/Planning/Proofs/Check.h"
#include <cstdio>

using namespace llmmem;
using namespace llmmem::planning;

/// Layers x -> f -> a -> g -> y forward; backward ops that read what the forward left, in reverse.
static Problem makeStep(int layers) {
  constexpr int64_t kilobyte = 1000;
  Problem problem;
  auto value = [&](int64_t bytes) {
    problem.values.push_back({static_cast<int64_t>(problem.values.size()), bytes, false, ""});
    return static_cast<ValueIndex>(problem.values.size() - 1);
  };
  auto op = [&](int64_t cost, Phase phase, int layer, std::vector<ValueIndex> reads,
                ValueIndex write) {
    Op made;
    made.id = static_cast<int64_t>(problem.ops.size());
    made.cost = cost;
    made.phase = phase;
    made.block = layer;
    made.reads = std::move(reads);
    made.writes = {write};
    problem.ops.push_back(std::move(made));
    return write;
  };

  std::vector<ValueIndex> inputs{value(kilobyte)}, wide;
  for (int layer = 0; layer < layers; ++layer) {
    wide.push_back(op(10, Phase::Forward, layer, {inputs.back()}, value(4 * kilobyte)));
    inputs.push_back(op(30, Phase::Forward, layer, {wide.back()}, value(kilobyte)));
  }
  ValueIndex gradient = op(1, Phase::Backward, layers - 1, {inputs.back()}, value(kilobyte));
  for (int layer = layers - 1; layer >= 0; --layer)
    gradient =
        op(80, Phase::Backward, layer, {gradient, wide[layer], inputs[layer]}, value(kilobyte));
  problem.keep = {gradient};
  return problem;
}

static int fail(const std::string &what) {
  std::fprintf(stderr, "plan-step: %s\n", what.c_str());
  return 1;
}

int main() {
  Problem problem = makeStep(8);
  if (std::optional<std::string> wrong = validateProblem(problem))
    return fail(*wrong);
  const Plan free = plan(problem, {});
  problem.budget = free.arena * 6 / 10;
  const Plan planned = plan(problem, {});
  if (planned.status != Status::Feasible)
    return fail(planned.witness ? planned.witness->why : "no plan");
  for (const Violation &violation : verify(problem, planned))
    return fail(violation.rule + ": " + violation.message);

  std::printf("without a budget %lld bytes, cost %lld\n", static_cast<long long>(free.arena),
              static_cast<long long>(free.cost));
  std::printf("under %lld bytes: %lld bytes, cost %lld, proved least %lld\n",
              static_cast<long long>(*problem.budget), static_cast<long long>(planned.arena),
              static_cast<long long>(planned.cost), static_cast<long long>(planned.costLowerBound));

  for (const ClaimCheck &it : checkProof(problem, planned, prove(problem, planned)))
    std::printf("%s: %s: %s\n", it.claim.c_str(), std::string(wordOf(it.verdict)).c_str(),
                it.message.c_str());

  Result<Problem> read = parseProblem(toJson(problem));
  if (!read)
    return fail(read.error());
  Result<Problem> wrong = parseProblem("{\"format\": \"llmmem-problem\"}");
  std::printf("reads back: %s; a wrong text: %s\n",
              toJson(*read) == toJson(problem) ? "equal" : "different",
              wrong ? "accepted" : wrong.error().c_str());
  return 0;
}
