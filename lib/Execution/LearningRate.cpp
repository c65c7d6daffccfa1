//===- LearningRate.cpp - The learning rate of each step -------------------===//

#include "llmmem/Execution/LearningRate.h"
#include <algorithm>
#include <cmath>

using namespace llmmem;

/// Returns how much of the way from one step to another is done, from 0 to 1.
static double partOf(int64_t step, int64_t begin, int64_t end) {
  double part =
      static_cast<double>(step - begin) / static_cast<double>(std::max<int64_t>(end - begin, 1));
  return std::clamp(part, 0.0, 1.0);
}

double LearningRate::at(int64_t step) const {
  if (step < warmupSteps)
    return highest * static_cast<double>(step) / static_cast<double>(warmupSteps);
  if (inverseRoot)
    return highest * std::sqrt(static_cast<double>(std::max<int64_t>(warmupSteps, 1)) /
                               static_cast<double>(step));
  if (linearSteps > 0)
    return highest * (1.0 - partOf(step, std::max(warmupSteps, linearFrom), linearSteps));
  if (cosineSteps == 0)
    return highest;
  double cosine = 0.5 * (1.0 + std::cos(M_PI * partOf(step, warmupSteps, cosineSteps)));
  return highest * (kLowest + (1.0 - kLowest) * cosine);
}
