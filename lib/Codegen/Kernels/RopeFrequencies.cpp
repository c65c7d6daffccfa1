//===- RopeFrequencies.cpp - Angles per position of rotary embeddings ------===//

#include "RopeFrequencies.h"
#include <cmath>

using namespace llmmem;

int64_t llmmem::rotaryElements(llm::RopeOp op) {
  int64_t size = op.getX().getType().getShape().back() / static_cast<int64_t>(op.getHeads());
  return op.getRotary().value_or(size);
}

llvm::SmallVector<double> llmmem::ropeFrequencies(llm::RopeOp op) {
  int64_t size = rotaryElements(op);
  double theta = op.getTheta().convertToDouble();
  llvm::SmallVector<double> frequencies;
  for (int64_t i = 0; i < size / 2; ++i)
    frequencies.push_back(
        std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(size)));
  if (auto scaling = op.getScaling())
    for (auto [frequency, divisor] :
         llvm::zip_equal(frequencies, scaling->getDivisors().getValues<double>()))
      frequency /= divisor;
  return frequencies;
}
