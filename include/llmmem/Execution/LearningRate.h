//===- LearningRate.h - The learning rate of each step ---------------------===//
//
// A function of the number of the step alone, so that a run in two parts is the run in one.
//
// Example: {1e-3, 10, 100} gives 1e-4 at step 1, 1e-3 at step 10, 5.5e-4 at step 55, and 1e-4 from
// step 100 on.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_LEARNINGRATE_H
#define LLMMEM_EXECUTION_LEARNINGRATE_H

#include <cstdint>

namespace llmmem {

struct LearningRate {
  double highest = 1e-3;
  int64_t warmupSteps = 0; // rises in a line until this step
  int64_t cosineSteps = 0; // then falls as half a cosine until this one; 0: stays

  /// Where the cosine ends (Hoffmann et al. 2022).
  static constexpr double kLowest = 0.1;

  /// Of step 1, 2, 3, ...
  double at(int64_t step) const;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_LEARNINGRATE_H
