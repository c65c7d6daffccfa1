//===- EnumerateStrategies.cpp - The ways to run a step --------------------===//

#include "llmmem/Strategies/Strategy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llmmem;
using planning::PipelineKind;

std::string Strategy::mesh() const {
  std::string text;
  auto add = [&](llvm::StringRef name, int64_t size) {
    if (size > 1)
      text += (text.empty() ? "" : ",") + (name + "=" + llvm::Twine(size)).str();
  };
  add("pp", pp);
  add("dp", dp);
  add("ep", ep);
  add("cp", cp);
  add("tp", tp);
  return text.empty() ? "dp=1" : text;
}

std::string Strategy::flags() const {
  std::string text = "--mesh=" + mesh();
  if (zeroStage > 0)
    text += " --zero=" + std::to_string(zeroStage);
  if (sequenceParallel)
    text += " --sequence-parallel";
  if (microBatches > 1)
    text += " --micro-batches=" + std::to_string(microBatches);
  if (pp > 1)
    text += (" --pipeline=" + nameOf(schedule)).str();
  if (chunks > 1)
    text += " --pipeline-chunks=" + std::to_string(chunks);
  return text;
}

static std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t divisor = 1; divisor <= number; ++divisor)
    if (number % divisor == 0)
      divisors.push_back(divisor);
  return divisors;
}

namespace {
class Enumerator {
public:
  Enumerator(const ModelFacts &model, const StrategyPins &pins,
             llvm::function_ref<std::optional<std::string>(const Strategy &)> refuse)
      : model(model), pins(pins), refuse(refuse) {}

  Enumeration run(int64_t devices) {
    for (int64_t pp : divisorsOf(devices))
      for (int64_t tp : divisorsOf(devices / pp))
        for (int64_t ep : divisorsOf(model.experts > 0 ? devices / pp / tp : 1))
          for (int64_t cp : divisorsOf(devices / pp / tp / ep))
            addMesh({pp, devices / pp / tp / ep / cp, tp, ep, cp});
    llvm::sort(found.strategies);
    return std::move(found);
  }

private:
  void count(const llvm::Twine &reason) { ++found.refused[reason.str()]; }
  void addMesh(const Strategy &mesh);
  void addSplits(const Strategy &mesh);
  void addMicroBatches(const Strategy &split);
  void addSchedules(const Strategy &split);
  void add(const Strategy &strategy);

  const ModelFacts &model;
  const StrategyPins &pins;
  llvm::function_ref<std::optional<std::string>(const Strategy &)> refuse;
  Enumeration found;
};
} // namespace

void Enumerator::addMesh(const Strategy &mesh) {
  const int64_t pp = mesh.pp, ep = mesh.ep, cp = mesh.cp, parts = mesh.batchRanks();
  // Where dp could have the ranks of cp, too, sequences stay whole.
  if (cp > 1 && (model.seq == 1 || model.batch % parts != 0 || model.batch % (parts * cp) == 0))
    return;
  if (cp > 1 && model.experts > 0)
    return count("experts count their places along whole sequences, which cp splits");
  if (model.batch % parts != 0)
    return count("a batch of " + llvm::Twine(model.batch) + " does not divide over " +
                 (ep > 1 ? "dp x ep=" : "dp=") + llvm::Twine(parts));
  if (ep > 1 && model.experts % ep != 0)
    return count(llvm::Twine(model.experts) + " experts do not divide over ep=" + llvm::Twine(ep));
  if (model.seq % cp != 0)
    return count("a sequence of " + llvm::Twine(model.seq) +
                 " does not divide over cp=" + llvm::Twine(cp));
  if (pp > model.blocks) {
    found.leavesOut |= pp <= model.all;
    const std::string groups = model.period > 1
                                   ? "groups of " + std::to_string(model.period) + " blocks"
                               : model.hasCutsWithinGroups() ? "equal blocks"
                                                             : "blocks";
    return count("pp=" + llvm::Twine(pp) + " has more stages than the model's " +
                 llvm::Twine(model.blocks) + " " + groups);
  }
  if (std::optional<std::string> reason = refuse(mesh))
    return count(*reason);
  addSplits(mesh);
}

void Enumerator::addSplits(const Strategy &mesh) {
  constexpr int64_t lastStage = 3;
  for (int64_t stage = 0; stage <= (mesh.copies() > 1 ? lastStage : 0); ++stage)
    for (bool sequence : {false, true}) {
      if ((sequence && mesh.tp == 1) ||
          (pins.zeroStage && mesh.copies() > 1 && *pins.zeroStage != stage))
        continue;
      if (pins.sequenceParallel && mesh.tp > 1 && *pins.sequenceParallel != sequence)
        continue;
      if (sequence && model.experts > 0) {
        count("experts count their places along whole sequences, which sequence-parallel splits");
        continue;
      }
      Strategy split = mesh;
      split.zeroStage = stage;
      split.sequenceParallel = sequence;
      addMicroBatches(split);
    }
}

void Enumerator::addMicroBatches(const Strategy &split) {
  bool any = false;
  for (int64_t count : divisorsOf(model.batch / split.batchRanks())) {
    if (pins.microBatches && *pins.microBatches != count)
      continue;
    any = true;
    Strategy strategy = split;
    strategy.microBatches = count;
    if (split.pp == 1)
      add(strategy);
    else
      addSchedules(strategy);
  }
  if (!any)
    count("a batch of " + llvm::Twine(model.batch / split.batchRanks()) +
          " sequences a rank does not divide into " + llvm::Twine(*pins.microBatches) +
          " micro-batches");
}

void Enumerator::addSchedules(const Strategy &split) {
  // A V and DualPipe are compared where they are asked for.
  std::vector<PipelineKind> kinds{PipelineKind::GPipe, PipelineKind::OneForwardOneBackward,
                                  PipelineKind::Interleaved, PipelineKind::ZeroBubble};
  if (pins.schedule)
    kinds = {*pins.schedule};
  for (PipelineKind kind : kinds) {
    Strategy strategy = split;
    strategy.schedule = kind;
    strategy.chunks = planning::chunksOf(kind, /*asked=*/1);
    if (kind != PipelineKind::Interleaved) {
      add(strategy);
      continue;
    }
    // Interleaved stages have two chunks or more, of at least one block each.
    if (split.microBatches % split.pp != 0) {
      count("interleaved stages take micro-batches in groups of pp=" + llvm::Twine(split.pp) +
            ", which does not divide theirs");
      continue;
    }
    for (int64_t chunks = 2; split.pp * chunks <= model.blocks; chunks *= 2) {
      strategy.chunks = pins.chunks.value_or(chunks);
      add(strategy);
      if (pins.chunks)
        break;
    }
  }
}

void Enumerator::add(const Strategy &strategy) {
  if (strategy.pp > 1)
    if (std::optional<std::string> reason = planning::checkShape(strategy.shape()))
      return count(*reason);
  found.strategies.push_back(strategy);
}

Enumeration llmmem::enumerateStrategies(
    const ModelFacts &model, int64_t devices, const StrategyPins &pins,
    llvm::function_ref<std::optional<std::string>(const Strategy &)> refuse) {
  return Enumerator(model, pins, refuse).run(devices);
}
