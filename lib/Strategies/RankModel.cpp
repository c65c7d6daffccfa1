//===- RankModel.cpp - What one rank runs and holds, by parts --------------===//

#include "llmmem/Strategies/RankModel.h"
#include "RankModelReader.h"

using namespace mlir;
using namespace llmmem;
using planning::BlockStretch;

PartModel &PartModel::operator+=(const PartModel &other) {
  forward += other.forward;
  backward += other.backward;
  weights += other.weights;
  update += other.update;
  products += other.products;
  residentBytes += other.residentBytes;
  compute += other.compute;
  link += other.link;
  updateCompute += other.updateCompute;
  updateLink += other.updateLink;
  return *this;
}

int64_t PartModel::leastTime(int64_t microBatches) const {
  return std::max(microBatches * compute + updateCompute, microBatches * link + updateLink);
}

PartModel PartModel::operator*(int64_t times) const {
  return {.forward = forward * times,
          .backward = backward * times,
          .weights = weights * times,
          .update = update * times,
          .products = products * times,
          .residentBytes = residentBytes * times,
          .compute = compute * times,
          .link = link * times,
          .updateCompute = updateCompute * times,
          .updateLink = updateLink * times};
}

llvm::Expected<RankModel> RankModel::make(ModuleOp few, const RankShape &shape,
                                          const StepSettings &settings, const DeviceModel &device) {
  DiagnosticText diagnostics(few.getContext());
  FailureOr<RankModel> model = RankModelReader(settings, device).read(few, shape);
  if (failed(model))
    return diagnostics.toError();
  return std::move(*model);
}

PartModel RankModel::once(const RankStepVariant &choice, const BlockStretch &stretch) const {
  PartModel sum = choice.block * stretch.blocks;
  if (stretch.hasFirst)
    sum += choice.first;
  if (stretch.hasLast)
    sum += choice.last;
  if (stretch.hasFirst || stretch.hasLast)
    sum += choice.tied;
  sum.residentBytes += inputBytes;
  constexpr int64_t blocksOfModel = 3;
  const int64_t ofAll =
      std::max<int64_t>(shared + (stretch.blocks - blocksOfModel) * sharedStep, 0);
  sum.update += ofAll;
  sum.updateCompute += hasOverlap ? 0 : ofAll;
  return sum;
}

PartModel RankModel::once(const BlockStretch &stretch) const {
  PartModel best = once(choices.front(), stretch);
  for (const RankStepVariant &choice : choices)
    if (PartModel other = once(choice, stretch);
        other.forward + other.backward < best.forward + best.backward)
      best = other;
  return best;
}

PartModel RankModel::leastWork(const BlockStretch &stretch) const {
  PartModel least;
  const PartModel some = once(choices.front(), stretch);
  for (int64_t PartModel::*field :
       {&PartModel::compute, &PartModel::link, &PartModel::updateCompute, &PartModel::updateLink}) {
    least.*field = some.*field;
    for (const RankStepVariant &choice : choices)
      least.*field = std::min(least.*field, once(choice, stretch).*field);
  }
  return least;
}

int64_t RankModel::leastModelled(const BlockStretch &stretch, int64_t microBatches) const {
  int64_t least = INT64_MAX;
  for (const RankStepVariant &choice : choices) {
    const PartModel parts = once(choice, stretch);
    least = std::min(least, microBatches * (parts.forward + parts.backward) + parts.update);
  }
  return least;
}

int64_t RankModel::leastProducts(const BlockStretch &stretch) const {
  int64_t least = INT64_MAX;
  for (const RankStepVariant &choice : choices)
    least = std::min(least, once(choice, stretch).products);
  return least;
}

int64_t RankModel::residentBytes(const BlockStretch &stretch) const {
  return once(choices.front(), stretch).residentBytes;
}

int64_t RankModel::countOps(int64_t numBlocks) const {
  const std::vector<planning::Op> &ops = choices.front().problem.ops;
  int64_t ofBlock = llvm::count_if(ops, [](const planning::Op &op) { return op.block == 1; });
  return static_cast<int64_t>(ops.size()) + (numBlocks - 3) * ofBlock;
}

int64_t RankModel::leastBytes(const BlockStretch &stretch) const {
  return residentBytes(stretch) + (stretch.hasLast && stretch.hasFirst ? largestOp : 0);
}

const planning::RepeatedBlocks *RankModel::blocksOf(size_t choice) {
  if (!known[choice]) {
    blocks[choice] = planning::RepeatedBlocks::of(choices[choice].problem);
    known[choice] = true;
  }
  return blocks[choice] ? &*blocks[choice] : nullptr;
}

std::optional<RankModel::Plan> RankModel::under(BlockStretch stretch, int64_t budget) {
  std::optional<Plan> best;
  auto time = [](const PartModel &parts) { return parts.forward + parts.backward; };
  for (size_t choice = 0; choice < choices.size(); ++choice) {
    PartModel parts = once(choices[choice], stretch);
    if (parts.residentBytes + updateBytes > budget)
      continue;
    if (best && time(parts) >= time(best->once) + best->plan.recompute)
      continue;
    const planning::RepeatedBlocks *model = blocksOf(choice);
    stretch.residentBytes = parts.residentBytes;
    std::optional<planning::StretchPlan> plan =
        model ? model->under(stretch, budget) : std::nullopt;
    if (plan && (!best || time(parts) + plan->recompute < time(best->once) + best->plan.recompute))
      best = Plan{parts, *plan};
  }
  if (best)
    best->plan.bytes = std::max(best->plan.bytes, best->once.residentBytes + updateBytes);
  return best;
}

int64_t RankModel::leastFound(BlockStretch stretch) {
  int64_t least = INT64_MAX;
  for (size_t choice = 0; choice < choices.size(); ++choice)
    if (const planning::RepeatedBlocks *model = blocksOf(choice)) {
      stretch.residentBytes = residentBytes(stretch);
      least = std::min(least,
                       std::max(model->least(stretch).bytes, stretch.residentBytes + updateBytes));
    }
  return least;
}
