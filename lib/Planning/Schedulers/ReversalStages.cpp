//===- ReversalStages.cpp - What each stage of a chain may do when it is reversed ---===//

#include "ReversalStages.h"
#include "StageScan.h"
#include "StageValues.h"
#include <algorithm>
#include <map>

namespace llmmem::planning {

/// Makes the runs of all stages.
class StageBuilder {
public:
  StageBuilder(const Graph &graph, const Chain &chain, ReversalStages &result);
  void run();

private:
  using Values = llvm::ArrayRef<ValueIndex>;

  StageRun passOf(int32_t stage, std::vector<OpIndex> ops, Values saved);
  StageRun passAgain(int32_t stage, Values saved);
  StageRun segmentOf(int32_t stage, Values available);
  std::vector<OpIndex> opsFor(int32_t stage, Values wanted, StageRun &run);
  void measureSegment(int32_t segment, Values input, StageRun &run);
  void addSaves(int32_t stage);
  bool isUniform() const;
  void addSave(int32_t stage, std::vector<ValueIndex> values, bool keepsBoundary);
  std::vector<std::vector<ValueIndex>> choicesOf(int32_t stage) const;
  void numberKinds();
  int64_t bytesOf(Values values) const;
  bool isAvailable(ValueIndex value) const { return availableIn[value] == round; }

  const Graph &graph;
  ReversalStages &result;
  const StageValues values;
  StageScan scan;
  std::vector<int32_t> position;                             // per op, in the order of the chain
  std::vector<std::vector<OpIndex>> forwardOps, backwardOps; // per stage; [0]: the tail
  std::vector<int32_t> availableIn; // per value: the round in which it was there last
  int32_t round = 0;
};

StageBuilder::StageBuilder(const Graph &graph, const Chain &chain, ReversalStages &result)
    : graph(graph), result(result), values(graph, chain), scan(graph, values.isExtra),
      position(graph.numOps()), forwardOps(chain.numStages + 1), backwardOps(chain.numStages + 1),
      availableIn(graph.numValues(), 0) {
  for (size_t place = 0; place < chain.order.size(); ++place) {
    const OpIndex op = chain.order[place];
    position[op] = static_cast<int32_t>(place);
    if (const int32_t stage = values.stageOf(op); stage > 0)
      forwardOps[stage].push_back(op);
    else
      backwardOps[values.lastSegment() - std::max(values.segmentOf(op), 1)].push_back(op);
  }
}

int64_t StageBuilder::bytesOf(Values list) const {
  int64_t bytes = 0;
  for (ValueIndex value : list)
    bytes += graph.bytes(value);
  return bytes;
}

/// Measures a forward after which the boundary and the saved values stay live.
StageRun StageBuilder::passOf(int32_t stage, std::vector<OpIndex> ops, Values saved) {
  StageRun run;
  run.needsInput = true;
  run.ops = std::move(ops);
  for (bool keepsInput : {false, true}) {
    const Values boundary = values.boundary[stage];
    scan.start(bytesOf(boundary) + bytesOf(saved), /*countsExtras=*/false);
    llvm::for_each(boundary, [&](ValueIndex value) { scan.leave(value); });
    llvm::for_each(saved, [&](ValueIndex value) { scan.leave(value); });
    int64_t passing = 0; // what is in both boundaries counts once
    if (keepsInput)
      for (ValueIndex value : values.boundary[stage - 1])
        if (!llvm::is_contained(boundary, value)) {
          passing += graph.bytes(value);
          scan.leave(value);
        }
    (keepsInput ? run.peakKeeping : run.peakTaking) = scan.peakOf(run.ops) + passing;
  }
  return run;
}

/// Returns the ops of a stage that compute `wanted` from what is available and the input, in the
/// order of the chain. Adds their cost, and says where they cannot run.
std::vector<OpIndex> StageBuilder::opsFor(int32_t stage, Values wanted, StageRun &run) {
  std::vector<OpIndex> ops;
  llvm::SmallVector<ValueIndex, 16> open(wanted);
  while (!open.empty()) {
    const ValueIndex value = open.pop_back_val();
    const OpIndex writer = graph.writer(value);
    const int32_t from = writer < 0 ? 0 : values.stageOf(writer);
    if (values.isExtra[value] || isAvailable(value) || (writer < 0 && graph.bytes(value) == 0))
      continue;
    if (from < stage) {
      run.needsInput = true;
      continue;
    }
    run.isPossible &= graph.mayRunAgain(writer);
    run.cost += graph.cost(writer);
    ops.push_back(writer);
    for (ValueIndex written : graph.writes(writer))
      availableIn[written] = round;
    open.append(graph.reads(writer).begin(), graph.reads(writer).end());
  }
  llvm::sort(ops, [&](OpIndex a, OpIndex b) { return position[a] < position[b]; });
  return ops;
}

StageRun StageBuilder::passAgain(int32_t stage, Values saved) {
  ++round;
  StageRun wanted;
  std::vector<ValueIndex> goals(values.boundary[stage]);
  llvm::append_range(goals, saved);
  std::vector<OpIndex> ops = opsFor(stage, goals, wanted);
  StageRun run = passOf(stage, std::move(ops), saved);
  run.isPossible = wanted.isPossible;
  run.cost = wanted.cost;
  return run;
}

/// Measures the ops of a segment, in which all extra values are counted.
void StageBuilder::measureSegment(int32_t segment, Values input, StageRun &run) {
  for (bool keepsInput : {false, true}) {
    const bool leavesInput = keepsInput && run.needsInput;
    scan.start(values.extraBytesBefore(segment + 1) + (leavesInput ? bytesOf(input) : 0),
               /*countsExtras=*/true);
    for (OpIndex op : run.ops)
      for (Values touched : {graph.reads(op), graph.writes(op)})
        for (ValueIndex value : touched)
          if (values.isExtra[value] && values.isLiveAfter(value, segment))
            scan.leave(value);
    if (leavesInput)
      llvm::for_each(input, [&](ValueIndex value) { scan.leave(value); });
    (keepsInput ? run.peakKeeping : run.peakTaking) = scan.peakOf(run.ops);
  }
}

/// Makes the segment of a stage, each recomputation just before its first reader.
StageRun StageBuilder::segmentOf(int32_t stage, Values available) {
  ++round;
  for (ValueIndex value : available)
    availableIn[value] = round;
  StageRun run;
  for (OpIndex op : backwardOps[stage]) {
    llvm::append_range(run.ops, opsFor(stage, graph.reads(op), run));
    run.ops.push_back(op);
  }
  if (run.isPossible)
    measureSegment(values.segmentOfStage(stage), values.boundary[stage - 1], run);
  return run;
}

/// Returns every subset of what the stage may save.
std::vector<std::vector<ValueIndex>> StageBuilder::choicesOf(int32_t stage) const {
  std::vector<std::vector<ValueIndex>> choices{{}};
  for (ValueIndex value : values.saved[stage])
    for (size_t count = choices.size(), index = 0; index < count; ++index) {
      choices.push_back(choices[index]);
      choices.back().push_back(value);
    }
  return choices;
}

void StageBuilder::addSave(int32_t stage, std::vector<ValueIndex> saved, bool keepsBoundary) {
  StageSave save;
  save.values = std::move(saved);
  save.keepsBoundary = keepsBoundary;
  save.held = bytesOf(save.values);
  std::vector<ValueIndex> available = save.values;
  if (keepsBoundary)
    llvm::append_range(available, values.boundary[stage]);
  save.segment = segmentOf(stage, available);
  if (!save.segment.isPossible)
    return;
  save.again = passAgain(stage, save.values);
  save.first = passOf(stage, forwardOps[stage], save.values);
  std::vector<StageSave> &saves = result.stages[stage].saves;
  if (keepsBoundary || !save.values.empty())
    result.stages[stage].farSaves.push_back(static_cast<int32_t>(saves.size()));
  saves.push_back(std::move(save));
}

void StageBuilder::addSaves(int32_t stage) {
  const bool readsBoundary = llvm::any_of(backwardOps[stage], [&](OpIndex op) {
    return llvm::any_of(graph.reads(op), [&](ValueIndex value) {
      return llvm::is_contained(values.boundary[stage], value);
    });
  });
  for (std::vector<ValueIndex> &choice : choicesOf(stage)) {
    if (readsBoundary)
      addSave(stage, choice, /*keepsBoundary=*/true);
    addSave(stage, std::move(choice), /*keepsBoundary=*/false);
  }
}

bool StageBuilder::isUniform() const {
  const int64_t state = result.stages[0].boundaryBytes;
  for (int32_t number = 1; number <= result.count(); ++number) {
    const ReversalStage &stage = result.stages[number];
    const size_t mostOps = number == result.count() ? 2 : 1; // the last segment has the loss
    if (stage.boundaryBytes != state || stage.first.peakTaking != state ||
        !values.saved[number].empty() || backwardOps[number].empty() ||
        backwardOps[number].size() > mostOps)
      return false;
  }
  return true;
}

/// Gives equal numbers to stages that the recursion cannot tell apart.
void StageBuilder::numberKinds() {
  std::map<std::vector<int64_t>, int32_t> known;
  result.kindOf.assign(result.stages.size(), -1);
  for (int32_t number = 1; number <= result.count(); ++number) {
    const ReversalStage &stage = result.stages[number];
    std::vector<int64_t> facts{result.stages[number - 1].boundaryBytes, stage.boundaryBytes,
                               stage.extraBytes};
    auto add = [&](const StageRun &run) {
      facts.insert(facts.end(),
                   {run.isPossible, run.needsInput, run.cost, run.peakKeeping, run.peakTaking});
    };
    for (const StageRun *run : {&stage.first, &stage.again, &stage.alone})
      add(*run);
    for (const StageSave &save : stage.saves) {
      facts.insert(facts.end(), {save.keepsBoundary, save.held});
      for (const StageRun *run : {&save.first, &save.again, &save.segment})
        add(*run);
    }
    result.kindOf[number] =
        known.try_emplace(std::move(facts), static_cast<int32_t>(known.size())).first->second;
  }
}

void StageBuilder::run() {
  // The last op writes a state that no op of the forward reads.
  constexpr size_t most = 2;
  result.exact = !values.hasForeign &&
                 llvm::all_of(values.saved, [](const auto &saved) { return saved.size() <= most; });
  if (!result.exact)
    return;
  result.inputIsKept = values.keepsInput;
  result.stages.resize(forwardOps.size());
  for (size_t number = 0; number < result.stages.size(); ++number) {
    result.stages[number].boundary = values.boundary[number];
    result.stages[number].boundaryBytes = bytesOf(values.boundary[number]);
  }
  for (int32_t number = 1; number <= result.count(); ++number) {
    graph.poll();
    ReversalStage &stage = result.stages[number];
    stage.extraBytes = values.extraBytesBefore(values.segmentOfStage(number));
    stage.first = passOf(number, forwardOps[number], {});
    stage.again = passAgain(number, {});
    stage.alone = segmentOf(number, {});
    addSaves(number);
  }
  result.tailRun.needsInput = result.inputIsKept;
  result.tailRun.ops = backwardOps[0];
  measureSegment(values.lastSegment(), values.boundary[0], result.tailRun);
  numberKinds();
  result.uniform = isUniform();
}

ReversalStages::ReversalStages(const Graph &graph, const Chain &chain) : graph(graph) {
  StageBuilder(graph, chain, *this).run();
}

} // namespace llmmem::planning
