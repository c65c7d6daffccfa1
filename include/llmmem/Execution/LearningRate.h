//===- LearningRate.h - The learning rate of each step ---------------------===//
//
// The learning rate is a function of the number of the step alone, so a run in two parts equals the
// run in one.
//
// Example: {1e-3, 10, 100} gives 1e-4 at step 1, 1e-3 at step 10, 5.5e-4 at step 55, and 1e-4 from
// step 100 on. With a linear decay to step 100 instead of the cosine it is 5e-4 at step 55 and 0
// from step 100 on. Where the linear decay begins at step 80 the rate is constant until there (Hu
// et al. 2024, "warmup, stable, decay").
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_LEARNINGRATE_H
#define LLMMEM_EXECUTION_LEARNINGRATE_H

#include <cstdint>

namespace llmmem {

struct LearningRate {
  double highest = 1e-3;
  int64_t warmupSteps = 0;  // Rises linearly until this step.
  int64_t cosineSteps = 0;  // Then falls as half a cosine until this one; 0 means that it is
                            // constant.
  int64_t linearSteps = 0;  // Or falls linearly to 0 until this one.
  int64_t linearFrom = 0;   // The linear decay begins at this step; 0 means directly after the
                            // warmup.
  bool inverseRoot = false; // Or falls as 1 / sqrt(step) (Vaswani et al. 2017, section 5.3).

  /// Gives the fraction at which the cosine ends (Hoffmann et al. 2022).
  static constexpr double kLowest = 0.1;

  /// Returns the rate of step 1, 2, 3, ...
  double at(int64_t step) const;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_LEARNINGRATE_H
