//===- StrategyCosts.cpp - Time and bytes of one strategy ------------------===//

#include "StrategyCosts.h"
#include "llmmem/Planning/Pipeline/StageCuts.h"
#include "llvm/Support/MathExtras.h"

using namespace llmmem;
using planning::BlockStretch;

//===----------------------------------------------------------------------===//
// Devices and models
//===----------------------------------------------------------------------===//

StageDevices StrategyCosts::devicesOf(int64_t firstRank, int64_t ranks) const {
  SharedDevices shared = request.topology.devicesOf(firstRank, ranks);
  return {shared.kind, request.budget.value_or(shared.memory)};
}

int64_t StrategyCosts::mostBudget() const {
  int64_t most = 0;
  for (const DeviceKind &kind : request.topology.kinds)
    most = std::max(most, request.budget.value_or(kind.memory));
  return most;
}

/// Refused shapes are kept, too, so that a second request is refused at once.
llvm::Expected<RankModel *> StrategyCosts::modelOf(const RankShape &shape, size_t kind) {
  auto known = models.find({shape, kind});
  if (known == models.end()) {
    llvm::Expected<RankModel> made =
        RankModel::make(few, shape, request.settings, request.topology.kinds[kind].table);
    Entry entry;
    if (made)
      entry.model = std::make_unique<RankModel>(std::move(*made));
    else
      entry.refusal = llvm::toString(made.takeError());
    known = models.emplace(std::pair(shape, kind), std::move(entry)).first;
  }
  if (!known->second.model)
    return llvm::createStringError(known->second.refusal);
  return known->second.model.get();
}

static BlockStretch wholeStretch(int64_t blocks) { return {blocks, true, true, 1, 0}; }

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

llvm::Expected<int64_t> StrategyCosts::bytesOfAny() {
  StageDevices devices = devicesOf(0, request.devices);
  llvm::Expected<RankModel *> model = modelOf(RankShape(), devices.kind);
  if (!model)
    return model.takeError();
  return llvm::divideCeil((*model)->ownBytes(wholeStretch(blocks)), request.devices);
}

llvm::Expected<int64_t> StrategyCosts::boundByProducts(const Strategy &strategy) {
  // Ranks of ep stay: all experts on one would read more weights than each has.
  RankShape shape = RankShape::of(strategy);
  shape.microBatches *= shape.dp;
  shape.dp = 1;
  shape.zeroStage = 0;
  shape.accumulates = shape.microBatches > 1;
  // The fastest devices give a bound for all.
  size_t fastest = 0;
  for (auto [number, kind] : llvm::enumerate(request.topology.kinds))
    if (kind.table.flopsPerNsBF16 > request.topology.kinds[fastest].table.flopsPerNsBF16)
      fastest = number;
  llvm::Expected<RankModel *> model = modelOf(shape, fastest);
  if (!model) { // More micro-batches than the strategy has may be refused where it is not.
    llvm::consumeError(model.takeError());
    model = modelOf(RankShape::of(strategy), fastest);
  }
  if (!model)
    return model.takeError();
  return (*model)->leastProducts(wholeStretch(blocks)) * strategy.microBatches / strategy.pp;
}

/// Some stage has at least the mean of the blocks, and of the time. The last stage begins when the
/// first micro-batch has passed all others, which end when its last one has come back. Where stages
/// may be cut within groups of blocks, the mean is that of sums over all groups, and nothing is
/// known of the last stage.
llvm::Error StrategyCosts::bound(StrategyOutcome &outcome) {
  const Strategy &strategy = outcome.strategy;
  size_t kind = devicesOfStage(strategy, 0).kind;
  for (int64_t stage = 1; stage < strategy.pp; ++stage) {
    size_t other = devicesOfStage(strategy, stage).kind;
    if (request.topology.kinds[other].table.flopsPerNsBF16 >
        request.topology.kinds[kind].table.flopsPerNsBF16)
      kind = other;
  }
  llvm::Expected<RankModel *> model = modelOf(RankShape::of(strategy), kind);
  if (!model)
    return model.takeError();
  BlockStretch all = wholeStretch(blocks);
  PartModel once = (*model)->leastWork(all);
  int64_t m = strategy.microBatches;
  if (strategy.pp == 1) {
    outcome.timeBound = once.leastTime(m);
    outcome.bytesBound = (*model)->leastBytes(all);
    return llvm::Error::success();
  }
  outcome.timeBound = m * std::max(once.compute, once.link) / strategy.pp;
  bool isPlain = strategy.schedule == planning::PipelineKind::GPipe ||
                 strategy.schedule == planning::PipelineKind::OneForwardOneBackward;
  if (facts.hasCutsWithinGroups()) {
    if (isPlain)
      outcome.timeBound = std::max(outcome.timeBound, once.compute);
    outcome.bytesBound = (*model)->residentBytes({blocks, false, false, 1, 0}) / strategy.pp;
    return llvm::Error::success();
  }
  BlockStretch mean{static_cast<int64_t>(llvm::divideCeil(blocks, strategy.pp)), false, false, 1,
                    0};
  outcome.timeBound = std::max(outcome.timeBound, (*model)->leastWork(mean).leastTime(m));
  if (isPlain) {
    PartModel end = (*model)->leastWork({1, false, true, 1, 0});
    outcome.timeBound = std::max(outcome.timeBound, once.compute + (m - 1) * end.compute);
  }
  outcome.bytesBound = (*model)->residentBytes(mean);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The modelled time
//===----------------------------------------------------------------------===//

llvm::Expected<int64_t> StrategyCosts::leastModelled(const StrategyOutcome &outcome) {
  if (outcome.strategy.pp > 1)
    return outcome.timeBound;
  llvm::Expected<RankModel *> model =
      modelOf(RankShape::of(outcome.strategy), devicesOf(0, request.devices).kind);
  if (!model)
    return model.takeError();
  return (*model)->leastModelled(wholeStretch(blocks), outcome.strategy.microBatches);
}

llvm::Error StrategyCosts::model(StrategyOutcome &outcome) {
  return outcome.strategy.pp == 1 ? modelRank(outcome) : modelStages(outcome);
}

llvm::Error StrategyCosts::modelRank(StrategyOutcome &outcome) {
  StageDevices devices = devicesOf(0, request.devices);
  llvm::Expected<RankModel *> model = modelOf(RankShape::of(outcome.strategy), devices.kind);
  if (!model)
    return model.takeError();
  BlockStretch all = wholeStretch(blocks);
  std::optional<RankModel::Plan> plan = (*model)->under(all, devices.budget);
  if (!plan) {
    outcome.state = StrategyOutcome::State::OverBudget;
    outcome.bytes = (*model)->leastFound(all);
    return llvm::Error::success();
  }
  int64_t m = outcome.strategy.microBatches;
  outcome.state = StrategyOutcome::State::Modelled;
  outcome.updateNs = plan->once.update;
  outcome.recomputeNs = m * plan->plan.recompute;
  outcome.ns =
      m * (plan->once.forward + plan->once.backward) + outcome.recomputeNs + outcome.updateNs;
  outcome.bytes = plan->plan.bytes;
  return llvm::Error::success();
}

/// Returns the blocks of each chunk, cut as build-stages does.
llvm::Expected<std::vector<int64_t>> StrategyCosts::cut(const Strategy &strategy) {
  const planning::PipelineShape shape = strategy.shape();
  const int64_t parts = shape.numChunks();
  std::vector<std::vector<planning::BlockSize>> sizes(parts);
  std::vector<int64_t> memory;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t stage = shape.stageOf(part);
    StageDevices devices = devicesOfStage(strategy, stage);
    llvm::Expected<RankModel *> model = modelOf(RankShape::of(strategy), devices.kind);
    if (!model)
      return model.takeError();
    for (int64_t block = 0; block < blocks; ++block) {
      PartModel size = (*model)->once({1, block == 0, block + 1 == blocks, 1, 0});
      // A forward takes a third; the last part has its loss in its backward.
      sizes[part].push_back({(size.forward + size.backward) / 3, size.residentBytes});
    }
    memory.push_back(devices.budget / static_cast<int64_t>(shape.chunksOfStage(stage).size()));
  }
  std::vector<int64_t> firsts = planning::cutStages(sizes, memory);
  std::vector<int64_t> counts(parts, 1);
  for (int64_t part = 0; part < parts; ++part)
    counts[part] = (part + 1 < parts ? firsts[part + 1] : blocks) - firsts[part];
  return counts;
}

/// Returns the time from one stage to another. Stages are the slowest axis, so ranks that together
/// do not fill a node send within it.
int64_t StrategyCosts::messageNs(const Strategy &strategy, int64_t bytes,
                                 const DeviceModel &table) const {
  GroupPlace place;
  place.crossesNodes =
      table.devicesPerNode > 0 && table.devicesPerNode % strategy.numDevices() != 0;
  return table.transferTime(1, bytes, place).value_or(0);
}

/// The first and the last stage exchange their addends of the gradients that both have, all at
/// once, and each adds them up.
int64_t StrategyCosts::tiedNs(const Strategy &strategy, const RankModel &model,
                              const DeviceModel &table) const {
  int64_t bytes = 0, ns = 0;
  for (int64_t gradient : model.tiedGradients()) {
    bytes += gradient;
    ns += table.time(/*flops=*/0, 3 * gradient, NumberFormat::F32, "llm.add");
  }
  return bytes > 0 ? ns + messageNs(strategy, bytes, table) : 0;
}

int64_t StrategyCosts::countOps(const Strategy &strategy) {
  llvm::Expected<RankModel *> model =
      modelOf(RankShape::of(strategy), devicesOfStage(strategy, 0).kind);
  if (!model) {
    llvm::consumeError(model.takeError());
    return INT64_MAX;
  }
  // Stages have all micro-batches in one function.
  return (*model)->countOps(blocks) * (strategy.pp > 1 ? strategy.microBatches : 1);
}

int64_t StrategyCosts::leastOps() const {
  int64_t least = INT64_MAX;
  for (const auto &[key, entry] : models)
    if (entry.model)
      least = std::min(least, entry.model->countOps(blocks));
  return least;
}

/// A stage's chunks together have one number of micro-batches in flight, so the largest represents
/// all of them.
static BlockStretch largestOf(llvm::ArrayRef<BlockStretch> chunks) {
  BlockStretch largest = chunks.front();
  for (const BlockStretch &chunk : chunks) {
    largest.blocks = std::max(largest.blocks, chunk.blocks);
    largest.hasFirst |= chunk.hasFirst;
    largest.hasLast |= chunk.hasLast;
  }
  return largest;
}

const planning::TimedSchedule &StrategyCosts::scheduleOf(const planning::PipelineShape &shape) {
  auto [it, isNew] = schedules.try_emplace(
      std::tuple(shape.kind, shape.stages, shape.microBatches, shape.chunks), nullptr);
  if (isNew)
    it->second = std::make_unique<planning::TimedSchedule>(shape);
  return *it->second;
}

llvm::Error StrategyCosts::modelStages(StrategyOutcome &outcome) {
  const Strategy &strategy = outcome.strategy;
  planning::PipelineShape shape = strategy.shape();
  llvm::Expected<std::vector<int64_t>> counts = cut(strategy);
  if (!counts)
    return counts.takeError();
  const planning::TimedSchedule &schedule = scheduleOf(shape);
  std::vector<planning::ChunkCost> costs(shape.numChunks());
  int64_t recompute = 0;
  outcome.state = StrategyOutcome::State::Modelled;
  for (int64_t stage = 0; stage < strategy.pp; ++stage) {
    StageDevices devices = devicesOfStage(strategy, stage);
    llvm::Expected<RankModel *> model = modelOf(RankShape::of(strategy), devices.kind);
    if (!model)
      return model.takeError();
    const std::vector<int64_t> numbers = shape.chunksOfStage(stage);
    std::vector<BlockStretch> chunks;
    for (int64_t chunk : numbers)
      chunks.push_back({(*counts)[chunk], chunk == 0, chunk + 1 == shape.numChunks(), 1, 0});
    BlockStretch stretch = largestOf(chunks);
    stretch.microBatches = planning::countInFlight(schedule.tasksOf(stage), shape.splitsBackward());
    int64_t elsewhere = 0; // Resident bytes of the stage's other chunks.
    for (const BlockStretch &chunk : chunks)
      elsewhere += (*model)->ownBytes(chunk);
    elsewhere = std::max<int64_t>(elsewhere - (*model)->ownBytes(stretch), 0);
    std::optional<RankModel::Plan> plan = (*model)->under(stretch, devices.budget - elsewhere);
    int64_t bytes = (plan ? plan->plan.bytes : (*model)->leastFound(stretch)) + elsewhere;
    if (!plan)
      outcome.state = StrategyOutcome::State::OverBudget;
    outcome.bytes = std::max(outcome.bytes, bytes);
    if (outcome.state == StrategyOutcome::State::OverBudget)
      continue;
    const DeviceModel &table = request.topology.kinds[devices.kind].table;
    const int64_t messages = messageNs(strategy, (*model)->messageBytes(), table);
    int64_t update = 0, again = 0;
    for (auto [number, part] : llvm::enumerate(chunks)) {
      PartModel once = (*model)->once(part);
      int64_t repeated = plan->plan.recompute * part.blocks / stretch.blocks;
      update += once.update;
      again += repeated;
      int64_t weights = shape.splitsBackward() ? once.weights : 0;
      costs[numbers[number]] = {once.forward, once.backward - weights + repeated, weights,
                                messages};
    }
    if (stage == 0 || stage + 1 == strategy.pp)
      update += tiedNs(strategy, **model, table);
    outcome.updateNs = std::max(outcome.updateNs, update);
    recompute = std::max(recompute, again);
  }
  if (outcome.state == StrategyOutcome::State::OverBudget)
    return llvm::Error::success();
  planning::PipelineTime time =
      request.settings.request.overlap ? schedule.timeOfStarted(costs) : schedule.time(costs);
  outcome.recomputeNs = strategy.microBatches * recompute;
  outcome.waitingNs = time.ns - *llvm::max_element(time.busy);
  outcome.ns = time.ns + outcome.updateNs;
  return llvm::Error::success();
}
