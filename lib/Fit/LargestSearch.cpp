//===- LargestSearch.cpp - The largest number whose step fits ---------------===//

#include "LargestSearch.h"
#include "llvm/ADT/STLExtras.h"

using namespace llmmem;

/// Where the line through the two nearest needs meets the budget. A line that moves one end alone
/// is not where the needs are: then the middle.
int64_t LargestSearch::guess() const {
  const int64_t middle = fits.number + (fails.number - fits.number) / 2;
  const Tried &other = fails.need ? fails : below;
  if (sameSide > 1 || !fits.need || !other.need || *other.need == *fits.need)
    return middle;
  const double slope = static_cast<double>(*other.need - *fits.need) /
                       static_cast<double>(other.number - fits.number);
  return fits.number +
         static_cast<int64_t>(static_cast<double>(budget - *fits.need) / std::max(slope, 1.0));
}

/// Numbers far above what is known, through which there is a line.
std::vector<int64_t> LargestSearch::first() const {
  constexpr int64_t kFar = 16;
  const int64_t most = fails.number - 1;
  std::vector<int64_t> numbers;
  if (fits.number == 0)
    numbers.push_back(1);
  int64_t number = std::max<int64_t>(fits.number, 1);
  for (int times = 0; times < 2 && number < most; ++times)
    numbers.push_back(number = number > most / kFar ? most : number * kFar);
  return numbers;
}

/// The guess and the number behind it, which together may be the answer.
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

llvm::Expected<int64_t> LargestSearch::run() {
  std::optional<bool> last; // whether the last guess fitted
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
