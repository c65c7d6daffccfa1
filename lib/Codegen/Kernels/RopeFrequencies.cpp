//===- RopeFrequencies.cpp - Angles per position of rotary embeddings ------===//

#include "RopeFrequencies.h"
#include <cmath>

using namespace llmmem;

static double scaled(double frequency, llm::RopeScalingAttr scaling) {
  double factor = scaling.getFactor().getValueAsDouble();
  double low = scaling.getLowFreqFactor().getValueAsDouble(),
         high = scaling.getHighFreqFactor().getValueAsDouble();
  double original = static_cast<double>(scaling.getOriginalMaxPosition());
  double wavelength = 2.0 * M_PI / frequency;
  if (wavelength > original / low)
    return frequency / factor;
  if (wavelength < original / high)
    return frequency;
  double smooth = (original / wavelength - low) / (high - low);
  return (1.0 - smooth) * frequency / factor + smooth * frequency;
}

llvm::SmallVector<double> llmmem::ropeFrequencies(llm::RopeOp op) {
  int64_t size = op.getX().getType().getShape().back() / op.getHeads();
  double theta = op.getTheta().convertToDouble();
  llvm::SmallVector<double> frequencies;
  for (int64_t i = 0; i < size / 2; ++i) {
    double frequency = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(size));
    frequencies.push_back(op.getScaling() ? scaled(frequency, *op.getScaling()) : frequency);
  }
  return frequencies;
}
