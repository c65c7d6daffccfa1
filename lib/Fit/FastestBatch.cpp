//===- FastestBatch.cpp - The batch of the most tokens a second -------------===//

#include "FastestBatch.h"

using namespace llmmem;

double llmmem::tokensPerNs(const FitPoint &point) {
  return point.fits() ? static_cast<double>(point.batch * point.seq) /
                            static_cast<double>(std::max<int64_t>(point.ns, 1))
                      : 0;
}

namespace {
class FastestSearch {
public:
  FastestSearch(FitModel &model, int64_t budget, const FitPoint &largest)
      : model(model), budget(budget), largest(largest), planned{{largest.batch, largest}} {}

  llvm::Expected<FitPoint> run();

private:
  using Planned = std::map<int64_t, FitPoint>;
  llvm::Error plan(llvm::ArrayRef<int64_t> batches);
  Planned::const_iterator best() const;
  bool mayLargerBeFaster(const FitPoint &than) const;
  std::vector<int64_t> aroundBest() const;

  FitModel &model;
  int64_t budget;
  const FitPoint &largest;
  Planned planned; // Indexed by batch.
};
} // namespace

llvm::Error FastestSearch::plan(llvm::ArrayRef<int64_t> batches) {
  auto underBudget = [&](int64_t batch) { return FitModel::Question{batch, largest.seq, budget}; };
  llvm::Expected<std::vector<FitPoint>> points =
      model.ask(llvm::map_to_vector(batches, underBudget));
  if (!points)
    return points.takeError();
  for (const FitPoint &point : *points)
    planned.insert({point.batch, point});
  return llvm::Error::success();
}

FastestSearch::Planned::const_iterator FastestSearch::best() const {
  return std::max_element(planned.begin(), planned.end(), [](const auto &a, const auto &b) {
    return tokensPerNs(a.second) < tokensPerNs(b.second);
  });
}

/// Returns whether a batch beyond this plan's may be the fastest. Without a budget the largest
/// batch handles the most tokens per second, and none beyond pays less for the budget than this one
/// does.
bool FastestSearch::mayLargerBeFaster(const FitPoint &than) const {
  if (!than.fits())
    return false;
  FitPoint free = largest;
  free.ns = largest.withoutBudgetNs;
  const double paid = static_cast<double>(than.ns) /
                      static_cast<double>(std::max<int64_t>(than.withoutBudgetNs, 1));
  return tokensPerNs(free) > tokensPerNs(best()->second) * std::max(paid, 1.0);
}

/// Returns the midpoints between the best and its neighbours, where these are far enough away to
/// matter.
std::vector<int64_t> FastestSearch::aroundBest() const {
  constexpr int64_t kNear = 16; // As a fraction of the batch.
  const auto it = best();
  const int64_t batch = it->first, near = std::max<int64_t>(1, batch / kNear);
  std::vector<int64_t> middles;
  if (it != planned.begin() && batch - std::prev(it)->first > near)
    middles.push_back(batch - (batch - std::prev(it)->first) / 2);
  if (std::next(it) != planned.end() && std::next(it)->first - batch > near)
    middles.push_back(batch + (std::next(it)->first - batch) / 2);
  return middles;
}

llvm::Expected<FitPoint> FastestSearch::run() {
  for (int64_t batch = 1; batch < largest.batch; batch *= 4) {
    std::vector<int64_t> asked = {batch};
    if (2 * batch < largest.batch)
      asked.push_back(2 * batch);
    if (llvm::Error error = plan(asked))
      return std::move(error);
    if (!mayLargerBeFaster(planned.at(asked.back())))
      break;
  }
  for (std::vector<int64_t> asked = aroundBest(); !asked.empty(); asked = aroundBest())
    if (llvm::Error error = plan(asked))
      return std::move(error);
  return best()->second;
}

llvm::Expected<FitPoint> llmmem::findFastest(FitModel &model, int64_t budget,
                                             const FitPoint &largest) {
  return FastestSearch(model, budget, largest).run();
}
