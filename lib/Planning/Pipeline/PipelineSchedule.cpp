//===- PipelineSchedule.cpp - What each stage of a pipeline does, in order -----===//

#include "llmmem/Planning/Pipeline/PipelineSchedule.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace llmmem::planning;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static constexpr std::pair<PipelineKind, llvm::StringLiteral> kinds[] = {
    {PipelineKind::GPipe, "gpipe"},
    {PipelineKind::OneForwardOneBackward, "1f1b"},
    {PipelineKind::Interleaved, "interleaved"},
    {PipelineKind::ZeroBubble, "zero-bubble"},
    {PipelineKind::ZeroBubbleV, "zero-bubble-v"},
    {PipelineKind::DualPipe, "dualpipe"}};

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

std::string llmmem::planning::pipelineKindNames() {
  std::string names;
  for (const auto &entry : kinds) {
    if (&entry != kinds)
      names += &entry == std::end(kinds) - 1 ? " or " : ", ";
    names += entry.second;
  }
  return names;
}

int64_t llmmem::planning::chunksOf(PipelineKind kind, int64_t asked) {
  switch (kind) {
  case PipelineKind::Interleaved:
    return asked;
  case PipelineKind::ZeroBubbleV:
    return 2;
  default:
    return 1;
  }
}

int64_t PipelineShape::stageOf(int64_t chunk, int64_t microBatch) const {
  switch (kind) {
  case PipelineKind::ZeroBubbleV:
    return chunk < stages ? chunk : 2 * stages - 1 - chunk;
  case PipelineKind::DualPipe:
    return microBatch < microBatches / 2 ? chunk : stages - 1 - chunk;
  default:
    return chunk % stages;
  }
}

std::vector<int64_t> PipelineShape::chunksOfStage(int64_t stage) const {
  std::vector<int64_t> found;
  for (int64_t chunk = 0; chunk < numChunks(); ++chunk)
    if (stageOf(chunk) == stage || stageOf(chunk, microBatches - 1) == stage)
      found.push_back(chunk);
  return found;
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
  if (shape.kind == PipelineKind::ZeroBubbleV)
    return shape.chunks == 2 ? std::nullopt
                             : std::optional("a V has 2 chunks a stage, not " +
                                             number(shape.chunks) + "; leave the chunks out");
  if (shape.kind == PipelineKind::DualPipe && shape.stages % 2 != 0)
    return "dualpipe begins at both ends of an even number of stages, not of " +
           number(shape.stages) + "; take zero-bubble-v";
  if (shape.kind == PipelineKind::DualPipe &&
      (shape.microBatches % 2 != 0 || shape.microBatches < 2 * shape.stages))
    return "dualpipe takes an even number of micro-batches, at least 2 for each of the " +
           number(shape.stages) + " stages, not " + number(shape.microBatches) + "; take " +
           number(2 * shape.stages) + ", or zero-bubble-v";
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

namespace {
/// The tasks of a stage that has two streams of them: the chunks of a V, or the directions of
/// DualPipe. Each stream has its own next forward, backward and gradients of weights.
class TwoStreams {
public:
  TwoStreams(const PipelineShape &shape, int64_t stage) : shape(shape), stage(stage) {}

  void forward(int stream) { add(TaskKind::Forward, stream, forwards[stream]++); }
  /// Adds a backward. Its gradients of weights follow at once, or wait for `weights`.
  void backward(int stream, bool putsOff = false) {
    const int64_t number = backwards[stream]++;
    add(TaskKind::Backward, stream, number);
    if (putsOff)
      putOff.push_back({stream, number});
    else
      add(TaskKind::WeightGradient, stream, number);
  }
  /// Adds gradients of weights that wait: the first ones, or the first of a stream.
  void weights() { takeWeights(putOff.begin()); }
  void weights(int stream) {
    takeWeights(llvm::find_if(putOff, [&](const auto &it) { return it.first == stream; }));
  }
  bool hasWeights(int stream) const {
    return llvm::any_of(putOff, [&](const auto &it) { return it.first == stream; });
  }
  /// A V is made for at least 2p - 1 micro-batches; those that there are not are left out.
  std::vector<PipelineTask> take() {
    llvm::erase_if(tasks,
                   [&](const PipelineTask &task) { return task.microBatch >= shape.microBatches; });
    return std::move(tasks);
  }

  int64_t forwards[2] = {0, 0}, backwards[2] = {0, 0};

private:
  void takeWeights(std::vector<std::pair<int, int64_t>>::iterator at) {
    add(TaskKind::WeightGradient, at->first, at->second);
    putOff.erase(at);
  }
  void add(TaskKind kind, int stream, int64_t number) {
    if (shape.kind == PipelineKind::ZeroBubbleV) {
      tasks.push_back({kind, number, stream == 0 ? stage : 2 * shape.stages - 1 - stage});
      return;
    }
    // Stream 0 of a stage is the direction that begins at its half.
    const bool isSecondHalf = stage >= shape.stages / 2;
    const bool isForth = (stream == 0) != isSecondHalf;
    tasks.push_back({kind, number + (isForth ? 0 : shape.microBatches / 2),
                     isForth ? stage : shape.stages - 1 - stage});
  }

  const PipelineShape &shape;
  const int64_t stage;
  std::vector<std::pair<int, int64_t>> putOff; // stream and number
  std::vector<PipelineTask> tasks;
};
} // namespace

/// Makes the tasks of ZB-V. Stream 0 is the chunk on the way forth, stream 1 that on the way back.
static std::vector<PipelineTask> makeZeroBubbleV(const PipelineShape &shape, int64_t stage) {
  TwoStreams tasks(shape, stage);
  const int64_t p = shape.stages, m = std::max(2 * p - 1, shape.microBatches);
  for (int64_t k = 0; k < 2 * (p - stage) - 1; ++k)
    tasks.forward(0);
  for (int64_t k = 0; k < stage; ++k) {
    tasks.forward(1);
    tasks.forward(0);
  }
  for (int64_t k = 0; k < p - stage; ++k) {
    tasks.forward(1);
    tasks.backward(1);
  }
  while (tasks.forwards[1] < tasks.forwards[0] || tasks.forwards[0] < m) {
    if (tasks.forwards[0] < m)
      tasks.forward(0);
    tasks.backward(0);
    tasks.forward(1);
    tasks.backward(1);
  }
  for (int64_t k = 0; k < stage; ++k) {
    tasks.backward(0, /*putsOff=*/true);
    tasks.backward(1, /*putsOff=*/true);
  }
  for (int64_t k = 0; k < p - stage; ++k) {
    tasks.backward(0, /*putsOff=*/true);
    tasks.weights(0);
  }
  for (int stream : {1, 0})
    while (tasks.hasWeights(stream))
      tasks.weights(stream);
  return tasks.take();
}

/// Makes the tasks of DualPipe, in its eight steps. `half` counts from the nearer end.
static std::vector<PipelineTask> makeDualPipe(const PipelineShape &shape, int64_t stage) {
  TwoStreams tasks(shape, stage);
  const int64_t p = shape.stages, half = std::min(stage, p - 1 - stage), rest = p / 2 - half - 1;
  for (int64_t k = 0; k < 2 * rest; ++k)
    tasks.forward(0);
  for (int64_t k = 0; k <= half; ++k) {
    tasks.forward(0);
    tasks.forward(1);
  }
  for (int64_t k = 0; k < rest; ++k) {
    tasks.backward(1, /*putsOff=*/true);
    tasks.weights();
    tasks.forward(1);
  }
  for (int64_t k = 0; k < shape.microBatches / 2 - p + half + 1; ++k) {
    tasks.forward(0);
    tasks.backward(1);
    tasks.forward(1);
    tasks.backward(0);
  }
  for (int64_t k = 0; k < rest; ++k) {
    tasks.backward(1);
    tasks.forward(1);
    tasks.backward(0);
  }
  // From the middle on, gradients of weights are put off: from a backward of stream 1 on where the
  // stage is an odd one, else from one of stream 0.
  for (int64_t k = 0, middle = (half + 1) / 2; k <= half; ++k) {
    tasks.backward(1, k > middle || (k == middle && half % 2 == 1));
    tasks.backward(0, k >= middle);
  }
  for (int64_t k = 0; k < rest; ++k) {
    tasks.weights();
    tasks.backward(0, /*putsOff=*/true);
  }
  while (tasks.hasWeights(0) || tasks.hasWeights(1))
    tasks.weights();
  return tasks.take();
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
  case PipelineKind::ZeroBubbleV:
    return makeZeroBubbleV(shape, stage);
  case PipelineKind::DualPipe:
    return makeDualPipe(shape, stage);
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
