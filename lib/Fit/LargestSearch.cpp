//===- LargestSearch.cpp - The largest number whose step fits ---------------===//

#include "LargestSearch.h"
#include "llvm/ADT/STLExtras.h"

using namespace llmmem;

/// Returns where the line through the two nearest footprints meets the budget. A line that keeps
/// moving one end alone is a bad model, so the midpoint follows.
int64_t LargestSearch::guess() const {
  const int64_t middle = fits.number + (fails.number - fits.number) / 2;
  const Tried &other = fails.footprint ? fails : below;
  if (sameSide > 1 || !fits.footprint || !other.footprint || *other.footprint == *fits.footprint)
    return middle;
  const double slope = static_cast<double>(*other.footprint - *fits.footprint) /
                       static_cast<double>(other.number - fits.number);
  return fits.number +
         static_cast<int64_t>(static_cast<double>(budget - *fits.footprint) / std::max(slope, 1.0));
}

/// Returns numbers far above what is known, to have a first line.
std::vector<int64_t> LargestSearch::first() const {
  constexpr int64_t kFar = 16;
  const int64_t last = fails.number - 1;
  std::vector<int64_t> numbers;
  if (fits.number == 0)
    numbers.push_back(1);
  int64_t number = std::max<int64_t>(fits.number, 1);
  for (int times = 0; times < 2 && number < last; ++times)
    numbers.push_back(number = number > last / kFar ? last : number * kFar);
  return numbers;
}

/// Returns the guess and the number after it, which together may be the answer.
std::vector<int64_t> LargestSearch::next() const {
  const int64_t number = std::clamp(guess(), fits.number + 1, fails.number - 1);
  return number + 1 < fails.number ? std::vector{number, number + 1} : std::vector{number};
}

void LargestSearch::take(int64_t number, const FitPoint &point) {
  if (number >= fails.number)
    return;
  if (point.fits() && point.neededBytes <= budget)
    below = std::exchange(fits, Tried{number, point.neededBytes});
  else
    fails = {number, point.fits() ? std::optional(point.neededBytes) : std::nullopt};
}

llvm::Expected<int64_t> LargestSearch::byLeastFootprints() {
  std::optional<bool> last; // Says whether the last guess fitted.
  for (bool isFirst = true; fits.number + 1 < fails.number; isFirst = false) {
    const std::vector<int64_t> asked = isFirst ? first() : next();
    llvm::Expected<std::vector<FitPoint>> points =
        model.ask(llvm::to_vector(llvm::map_range(asked, stepOf)));
    if (!points)
      return points.takeError();
    const int64_t before = fits.number;
    for (auto [number, point] : llvm::zip_equal(asked, *points))
      take(number, point);
    const bool moved = fits.number > before;
    sameSide = last == moved ? sameSide + 1 : 0;
    last = moved;
  }
  return fits.number;
}

//===----------------------------------------------------------------------===//
// Under the budget
//===----------------------------------------------------------------------===//

/// Returns neighbours of what is known in growing steps, as long as it is known on one side alone,
/// and then what cuts the interval in three. Something must lie between the two.
std::vector<int64_t> LargestSearch::neighboursOf(const Bracket &known, int64_t step) const {
  const int64_t gap = known.fails - known.fits;
  std::vector<int64_t> numbers = {known.fits + (gap + 2) / 3, known.fits + (2 * gap + 1) / 3};
  if (known.fails > most)
    numbers = {known.fits + step, known.fits + 2 * step};
  else if (known.fits == 0)
    numbers = {known.fails - 2 * step, known.fails - step};
  for (int64_t &number : numbers)
    number = std::clamp(number, known.fits + 1, known.fails - 1);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

llvm::Error LargestSearch::tryUnderBudget(llvm::ArrayRef<int64_t> numbers, Bracket &known) {
  auto underBudget = [&](int64_t number) {
    FitModel::Question question = stepOf(number);
    question.budget = budget;
    return question;
  };
  llvm::Expected<std::vector<FitPoint>> points =
      model.ask(llvm::map_to_vector(numbers, underBudget));
  if (!points)
    return points.takeError();
  for (auto [number, point] : llvm::zip_equal(numbers, *points)) {
    if (!point.fits()) {
      known.fails = number;
      break;
    }
    known.fits = number;
  }
  return llvm::Error::success();
}

/// It tries two at a time, because each is a search of its own.
llvm::Expected<int64_t> LargestSearch::run() {
  llvm::Expected<int64_t> found = byLeastFootprints();
  if (!found || *found == 0)
    return found;
  constexpr int64_t kGrowth = 4;
  Bracket known{0, most + 1};
  std::vector<int64_t> asked = {*found, std::min(*found + 1, most)};
  for (int64_t step = 1;; step *= kGrowth) {
    if (llvm::Error error = tryUnderBudget(asked, known))
      return std::move(error);
    if (known.fits + 1 >= known.fails)
      return known.fits;
    asked = neighboursOf(known, step);
  }
}
