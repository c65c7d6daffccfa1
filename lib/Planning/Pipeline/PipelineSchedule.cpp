//===- PipelineSchedule.cpp - What each stage of a pipeline does, in order -----===//

#include "llmmem/Planning/Pipeline/PipelineSchedule.h"
#include <algorithm>

using namespace llmmem::planning;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static constexpr std::pair<PipelineKind, llvm::StringLiteral> kinds[] = {
    {PipelineKind::GPipe, "gpipe"},
    {PipelineKind::OneForwardOneBackward, "1f1b"},
    {PipelineKind::Interleaved, "interleaved"},
    {PipelineKind::ZeroBubble, "zero-bubble"}};

std::optional<PipelineKind> llmmem::planning::parsePipelineKind(llvm::StringRef name) {
  for (auto &[kind, known] : kinds)
    if (known == name)
      return kind;
  return std::nullopt;
}

llvm::StringRef llmmem::planning::nameOf(PipelineKind kind) {
  for (auto &[known, name] : kinds)
    if (known == kind)
      return name;
  return "";
}

std::string llmmem::planning::describe(const PipelineTask &task, const PipelineShape &shape) {
  static constexpr char letters[] = {'F', 'B', 'W'};
  std::string text(1, letters[static_cast<int>(task.kind)]);
  text += std::to_string(task.microBatch);
  if (shape.chunks > 1)
    text += "." + std::to_string(task.chunk);
  return text;
}

std::optional<std::string> llmmem::planning::checkShape(const PipelineShape &shape) {
  auto number = [](int64_t value) { return std::to_string(value); };
  if (shape.stages < 1 || shape.microBatches < 1 || shape.chunks < 1)
    return "a pipeline has at least one stage, one micro-batch and one chunk a stage";
  constexpr int64_t mostChunks = 65536; // as many as a model may have layers
  if (shape.chunks > mostChunks)
    return "a stage has at most " + number(mostChunks) + " chunks, not " + number(shape.chunks);
  if (shape.kind != PipelineKind::Interleaved && shape.chunks > 1)
    return nameOf(shape.kind).str() + " has one chunk a stage, not " + number(shape.chunks) +
           "; take interleaved, or leave the chunks out";
  if (shape.kind == PipelineKind::Interleaved && shape.chunks == 1)
    return "interleaved stages have several chunks each; give 2 or more, or take 1f1b";
  if (shape.kind == PipelineKind::Interleaved && shape.microBatches % shape.stages != 0)
    return "interleaved stages take micro-batches in groups of the " + number(shape.stages) +
           " stages, which do not divide " + number(shape.microBatches) + "; take " +
           number((shape.microBatches / shape.stages + 1) * shape.stages) +
           " micro-batches, or 1f1b";
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

namespace {
/// The tasks of one stage, in the order in which they are added.
class StageTasks {
public:
  StageTasks(const PipelineShape &shape, int64_t stage) : shape(shape), stage(stage) {}

  /// Adds the next forward, or the next backward.
  void forward() { add(TaskKind::Forward, forwards++); }
  void backward() { add(TaskKind::Backward, backwards++); }
  void weights() { add(TaskKind::WeightGradient, weightGradients++); }

  /// Adds `warmUp` forwards, then a forward and a backward at a time, then the backwards that are
  /// left.
  void alternate(int64_t warmUp) {
    int64_t all = shape.microBatches * shape.chunks;
    for (int64_t k = 0; k < warmUp; ++k)
      forward();
    for (int64_t k = warmUp; k < all; ++k) {
      forward();
      backward();
    }
    for (int64_t k = 0; k < warmUp; ++k)
      backward();
  }

  std::vector<PipelineTask> tasks;
  int64_t forwards = 0, backwards = 0, weightGradients = 0;

private:
  /// Adds the k-th task in the order of Megatron-LM: p micro-batches through the first chunk, the
  /// same through the next, and so on, and backwards the other way around.
  void add(TaskKind kind, int64_t k) {
    int64_t p = shape.stages, v = shape.chunks;
    if (v == 1) {
      tasks.push_back({kind, k, stage});
      return;
    }
    int64_t round = k / (p * v), inRound = k % (p * v), local = inRound / p;
    if (kind != TaskKind::Forward)
      local = v - 1 - local;
    tasks.push_back({kind, round * p + inRound % p, local * p + stage});
  }

  const PipelineShape &shape;
  int64_t stage;
};
} // namespace

/// Adds the tasks of ZB-H1: the order of 1F1B, with gradients of weights put off for as many
/// micro-batches as the stage has others before it. So a stage has a gradient of weights at hand
/// while it would wait, and never holds more micro-batches than the first stage of 1F1B.
static void makeZeroBubble(StageTasks &tasks, const PipelineShape &shape, int64_t stage) {
  int64_t m = shape.microBatches, warmUp = std::min(m, shape.stages - 1 - stage);
  for (int64_t k = 0; k < warmUp; ++k)
    tasks.forward();
  for (int64_t k = 0; k < m; ++k) {
    if (k + warmUp < m)
      tasks.forward();
    tasks.backward();
    if (k >= stage)
      tasks.weights();
  }
  while (tasks.weightGradients < m)
    tasks.weights();
}

static std::vector<PipelineTask> tasksOf(const PipelineShape &shape, int64_t stage) {
  StageTasks tasks(shape, stage);
  int64_t m = shape.microBatches, p = shape.stages, all = m * shape.chunks;
  switch (shape.kind) {
  case PipelineKind::GPipe:
    for (int64_t k = 0; k < m; ++k)
      tasks.forward();
    for (int64_t k = 0; k < m; ++k)
      tasks.backward();
    break;
  case PipelineKind::OneForwardOneBackward:
    tasks.alternate(std::min(m, p - 1 - stage));
    break;
  case PipelineKind::Interleaved:
    tasks.alternate(std::min(all, 2 * (p - 1 - stage) + (shape.chunks - 1) * p));
    break;
  case PipelineKind::ZeroBubble:
    makeZeroBubble(tasks, shape, stage);
    break;
  }
  return std::move(tasks.tasks);
}

std::vector<std::vector<PipelineTask>> llmmem::planning::makeSchedule(const PipelineShape &shape) {
  std::vector<std::vector<PipelineTask>> stages;
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    stages.push_back(tasksOf(shape, stage));
  return stages;
}

int64_t llmmem::planning::countInFlight(llvm::ArrayRef<PipelineTask> tasks, bool splitsBackward) {
  TaskKind last = splitsBackward ? TaskKind::WeightGradient : TaskKind::Backward;
  int64_t now = 0, most = 0;
  for (const PipelineTask &task : tasks) {
    now += task.kind == TaskKind::Forward;
    most = std::max(most, now);
    now -= task.kind == last;
  }
  return most;
}
