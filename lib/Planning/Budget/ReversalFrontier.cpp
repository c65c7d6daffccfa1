//===- ReversalFrontier.cpp - Placed plans of the dynamic program over chains --------===//

#include "ReversalFrontier.h"
#include "Structure/ReversalChain.h"
#include "Tuning/Constants.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace llmmem::planning;

void ReversalFrontier::make() {
  if (isMade)
    return;
  isMade = true;
  if (tuning::isOff("reversal"))
    return;
  const std::optional<Chain> chain = findReversalChain(shared.graph);
  if (!chain || chain->numStages > tuning::mostNestedStages)
    return;
  auto made = std::make_unique<Reversal>(shared.graph, *chain);
  if (!made->stages.isExact())
    return;
  SearchContext &context = shared.search.context();
  context.progress.announce("the reversal of " + llvm::Twine(chain->numStages) + " stages");
  made->mostBytes = context.given().peak - shared.graph.residentBytes();
  made->programs.resize(llvm::Log2_64(std::max<int64_t>(made->mostBytes, 1)) + 1);
  reversal = std::move(made);
}

const ReversalProgram &ReversalFrontier::programOf(size_t halvings) {
  std::unique_ptr<ReversalProgram> &program = reversal->programs[halvings];
  if (!program)
    program = std::make_unique<ReversalProgram>(reversal->stages, reversal->mostBytes >> halvings,
                                                tuning::reversalWork);
  return *program;
}

const ReversalProgram *ReversalFrontier::programFor(int64_t bytes) {
  make();
  if (!reversal)
    return nullptr;
  size_t halvings = 0;
  while (halvings + 1 < reversal->programs.size() && reversal->mostBytes >> (halvings + 1) >= bytes)
    ++halvings;
  return &programOf(halvings);
}

const ReversalProgram *ReversalFrontier::leastProgram() {
  make();
  for (size_t halvings = reversal ? reversal->programs.size() : 0; halvings-- > 0;)
    if (const ReversalProgram &program = programOf(halvings); !program.steps().empty())
      return &program;
  return nullptr;
}

const PlacedPlan &ReversalFrontier::placed(const ReversalProgram &program, const CostStep &step) {
  PlacedPlan &plan = plans[step.bytes];
  if (!plan) {
    const Candidate candidate = measured(shared.graph, program.realize(step), "reversal");
    plan = shared.placer.place(candidate, shared.placer.leastFootprintOf(candidate),
                               {.work = shared.placer.packWork});
  }
  return plan;
}

/// Returns the steps of `program` that hold no more than `bytes`.
static llvm::ArrayRef<CostStep> stepsWithin(const ReversalProgram &program, int64_t bytes) {
  return program.steps().take_while([&](const CostStep &step) { return step.bytes <= bytes; });
}

PlacedPlan ReversalFrontier::at(int64_t budget) {
  const int64_t bytes = bytesWithin(budget);
  if (const ReversalProgram *program = programFor(bytes))
    for (const CostStep &step : llvm::reverse(stepsWithin(*program, bytes)))
      if (const PlacedPlan &plan = placed(*program, step); shared.footprintOf(plan) <= budget)
        return plan;
  return nullptr;
}

PlacedPlan ReversalFrontier::cheapestAt(int64_t budget) {
  const int64_t bytes = bytesWithin(budget);
  const ReversalProgram *program = programFor(bytes);
  if (!program || !reversal->stages.isUniform() || bytes > program->mostExactBytes())
    return nullptr;
  const llvm::ArrayRef<CostStep> steps = stepsWithin(*program, bytes);
  if (steps.empty())
    return nullptr;
  const PlacedPlan &plan = placed(*program, steps.back());
  return shared.footprintOf(plan) <= budget ? plan : nullptr;
}

PlacedPlan ReversalFrontier::least() {
  PlacedPlan best;
  if (const ReversalProgram *program = leastProgram())
    for (const CostStep &step : program->steps()) {
      if (best && bytesWithin(shared.footprintOf(best)) <= step.bytes)
        break;
      if (const PlacedPlan &plan = placed(*program, step);
          !best || shared.footprintOf(plan) < shared.footprintOf(best))
        best = plan;
    }
  return best;
}

PlacedPlan ReversalFrontier::leastOfAll() {
  const ReversalProgram *program = leastProgram();
  if (!program || !reversal->stages.isUniform())
    return nullptr;
  const CostStep &step = program->steps().front();
  const PlacedPlan &plan = placed(*program, step);
  return bytesWithin(shared.footprintOf(plan)) <= step.bytes ? plan : nullptr;
}
