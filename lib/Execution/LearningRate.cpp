//===- LearningRate.cpp - The learning rate of each step -------------------===//

#include "llmmem/Execution/LearningRate.h"
#include <algorithm>
#include <cmath>

using namespace llmmem;

double LearningRate::at(int64_t step) const {
  if (step < warmupSteps)
    return highest * static_cast<double>(step) / static_cast<double>(warmupSteps);
  if (cosineSteps == 0)
    return highest;
  double fallen = static_cast<double>(step - warmupSteps) /
                  static_cast<double>(std::max<int64_t>(cosineSteps - warmupSteps, 1));
  double cosine = 0.5 * (1.0 + std::cos(M_PI * std::min(fallen, 1.0)));
  return highest * (kLowest + (1.0 - kLowest) * cosine);
}
