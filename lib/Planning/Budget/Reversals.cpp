//===- Reversals.cpp - The dynamic program over the chains of a graph ----------------===//

#include "Reversals.h"
#include "Structure/ReversalChain.h"
#include "Tuning/Constants.h"

using namespace llmmem::planning;

void Reversals::add(const std::optional<Chain> &chain) {
  if (!chain || chain->numStages > tuning::mostNestedStages)
    return;
  context.progress.announce("the reversal of " + llvm::Twine(chain->numStages) + " stages");
  const int64_t mostBytes =
      std::max(context.given().peak, context.ofChain().peak) - context.graph.residentBytes();
  auto held = [this] { return llvm::ArrayRef(context.options().held); };
  auto made =
      std::make_unique<Reversal>(context.graph, *chain, held, mostBytes, tuning::reversalWork);
  const llvm::ArrayRef<CostStep> found = made->program.steps();
  std::vector<CostStep> numbered(found);
  for (size_t index = 0; index < numbered.size(); ++index)
    numbered[index].decision = static_cast<uint32_t>(index << 1 | reversals.size());
  lowest.lower(numbered);
  reversals.push_back(std::move(made));
}

void Reversals::make() {
  if (isMade)
    return;
  isMade = true;
  if (tuning::isOff("reversal"))
    return;
  add(findReversalChain(context.graph));
  const bool isExact = !reversals.empty() && reversals.front()->stages.isExact() &&
                       reversals.front()->program.isComplete();
  if (!isExact)
    add(cutIntoShortestStages(context.graph, context.chain.order, context.chain.cut));
}

llvm::ArrayRef<CostStep> Reversals::steps() {
  make();
  return lowest.all();
}

const CostStep *Reversals::within(int64_t capacity) {
  make();
  return lowest.at(capacity - context.graph.residentBytes());
}

bool Reversals::isExact() {
  make();
  return reversals.size() == 1 && reversals.front()->stages.isExact() &&
         reversals.front()->program.isComplete();
}

std::vector<OpIndex> Reversals::realize(const CostStep &step) const {
  const ReversalProgram &program = reversals[step.decision & 1]->program;
  return program.realize(program.steps()[step.decision >> 1]);
}
