//===- RopeScaling.cpp - The published scalings of rotary positions --------===//

#include "RopeScaling.h"
#include <algorithm>
#include <cmath>

using namespace llmmem::importer;

static double frequencyOf(double theta, int64_t elements, int64_t pair) {
  return std::pow(theta, -2.0 * static_cast<double>(pair) / static_cast<double>(elements));
}

RopeScaling llmmem::importer::linearScaling(int64_t elements, double factor) {
  return {llvm::SmallVector<double>(elements / 2, factor)};
}

double llmmem::importer::dynamicTheta(double theta, int64_t elements, double factor, int64_t seq,
                                      int64_t maxSeq) {
  double stretch =
      factor * static_cast<double>(std::max(seq, maxSeq)) / static_cast<double>(maxSeq) -
      (factor - 1.0);
  auto d = static_cast<double>(elements);
  return theta * std::pow(stretch, d / (d - 2.0));
}

double llmmem::importer::yarnMagnitude(double factor, double weight) {
  return factor <= 1.0 ? 1.0 : 0.1 * weight * std::log(factor) + 1.0;
}

RopeScaling llmmem::importer::yarnScaling(double theta, int64_t elements,
                                          const YarnNumbers &numbers) {
  auto d = static_cast<double>(elements);
  // Returns the pair that rotates this often over the original positions.
  auto pairOf = [&](double turns) {
    return d * std::log(static_cast<double>(numbers.originalMaxSeq) / (turns * 2.0 * M_PI)) /
           (2.0 * std::log(theta));
  };
  double low = pairOf(numbers.fastTurns), high = pairOf(numbers.slowTurns);
  if (numbers.wholeBounds)
    low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, d - 1.0);
  if (low == high)
    high += 0.001; // Avoids a ramp of width 0.
  RopeScaling scaling;
  for (int64_t pair = 0; pair < elements / 2; ++pair) {
    double ramp = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
    scaling.divisors.push_back(1.0 / (ramp / numbers.factor + (1.0 - ramp)));
  }
  scaling.magnitude = yarnMagnitude(numbers.factor);
  return scaling;
}

RopeScaling llmmem::importer::llama3Scaling(double theta, int64_t elements,
                                            const Llama3Numbers &numbers) {
  auto original = static_cast<double>(numbers.originalMaxSeq);
  auto divisorOf = [&](double wavelength) {
    if (wavelength > original / numbers.lowFrequency)
      return numbers.factor;
    if (wavelength <= original / numbers.highFrequency)
      return 1.0;
    double smooth = (original / wavelength - numbers.lowFrequency) /
                    (numbers.highFrequency - numbers.lowFrequency);
    return 1.0 / ((1.0 - smooth) / numbers.factor + smooth);
  };
  RopeScaling scaling;
  for (int64_t pair = 0; pair < elements / 2; ++pair)
    scaling.divisors.push_back(divisorOf(2.0 * M_PI / frequencyOf(theta, elements, pair)));
  return scaling;
}

double llmmem::importer::longRopeMagnitude(double factor, int64_t originalMaxSeq) {
  if (factor <= 1.0)
    return 1.0;
  return std::sqrt(1.0 + std::log(factor) / std::log(static_cast<double>(originalMaxSeq)));
}
