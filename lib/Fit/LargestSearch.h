//===- LargestSearch.h - The largest number whose step fits -----*- C++ -*-===//
//
// Example: with footprints of 2, 3, 5 and 9 GB for the batches 1, 2, 4 and 8, under 6 GB: 1 is
// known, 16 and 256 are asked first, then what lies on the line between the two nearest; 4 is the
// answer.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_FIT_LARGESTSEARCH_H
#define LLMMEM_LIB_FIT_LARGESTSEARCH_H

#include "llmmem/Fit/FitModel.h"

namespace llmmem {

/// No batch beyond this is tried.
inline constexpr int64_t kMostBatches = 1 << 16;

/// Returns what a report says after a largest batch: where the search ended, one more may fit, too.
inline const char *endOfSearch(int64_t largestBatch) {
  return largestBatch < kMostBatches ? "" : " (no more are looked for)";
}

/// Searches for the largest number from 1 to `most` for which a plan under the budget is found.
/// Bytes grow almost in proportion to the number, so a line through two least footprints says where
/// to look. The search for the fewest bytes differs from that under a budget. So the plans under
/// the budget decide, of the largest number whose least footprint is within it, and of its
/// neighbours.
class LargestSearch {
public:
  /// Returns the step of a number whose least footprint is asked for. What it refers to must
  /// outlive the search.
  using StepOf = llvm::function_ref<FitModel::Question(int64_t)>;
  LargestSearch(FitModel &model, StepOf stepOf, int64_t budget, int64_t most)
      : model(model), stepOf(stepOf), budget(budget), most(most), fails{most + 1, std::nullopt} {}

  /// Records the least footprint of a number. Of several the smaller is told first.
  void take(int64_t number, const FitPoint &point);
  /// Returns the largest number, 0 where there is none. The plan of the answer under the budget is
  /// known then.
  llvm::Expected<int64_t> run();

private:
  struct Tried {
    int64_t number;
    std::optional<int64_t> footprint; // None: not planned, or no plan was found.
  };

  llvm::Expected<int64_t> byLeastFootprints();
  /// Holds, for plans under the budget, the largest number that is known to have one, 0 where none
  /// is, and the smallest that is known to have none or is not allowed.
  struct Bracket {
    int64_t fits, fails;
  };
  std::vector<int64_t> neighboursOf(const Bracket &known, int64_t step) const;
  llvm::Error tryUnderBudget(llvm::ArrayRef<int64_t> numbers, Bracket &known);
  std::vector<int64_t> first() const;
  std::vector<int64_t> next() const;
  int64_t guess() const;

  FitModel &model;
  StepOf stepOf;
  int64_t budget, most;
  Tried below{0, std::nullopt}; // The previous value of `fits`.
  Tried fits{0, std::nullopt};  // The largest number that fits.
  Tried fails;                  // The smallest that does not fit, or is not allowed.
  int64_t sameSide = 0;         // Counts consecutive guesses, after the first, that moved the same
                                // end.
};

} // namespace llmmem

#endif // LLMMEM_LIB_FIT_LARGESTSEARCH_H
