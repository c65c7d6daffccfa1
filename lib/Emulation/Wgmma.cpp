//===- Wgmma.cpp - The wgmma op of a warpgroup ------------------------------===//

#include "Wgmma.h"
#include <cmath>

using namespace llmmem::emulation;

std::string SharedOperand::problem() const {
  if (descriptor.swizzle() != 1)
    return "is swizzled by mode " + std::to_string(descriptor.swizzle()) +
           ", which the emulator does not support; expected 1, 128 bytes";
  if (descriptor.baseOffset() != 0)
    return "has a base offset, which the emulator does not support; expected 0";
  if (start & 0x380)
    return "begins at byte " + std::to_string(start) +
           " of shared memory, in the middle of eight lines; expected a multiple of 1024 bytes, "
           "and "
           "less than a line more";
  return "";
}

/// Computes a b + c, rounded once. A product of two numbers of 16 bits has at most 22 significant
/// bits, so it is exact in f32 where it is a normal number, and processors without an instruction
/// need no call of the library.
static float multiplyAdd(float a, float b, float c) {
  float product = a * b;
  return std::isnormal(product) ? product + c : std::fma(a, b, c);
}

void llmmem::emulation::addProducts(const std::vector<float *> &sums, int columns,
                                    const std::vector<float> &a, const std::vector<float> &b) {
  for (int thread = 0; thread < kWarpgroup; ++thread)
    for (int number = 0; number < columns / 2; ++number) {
      Element at = elementOfSum(thread, number);
      float sum = sums[thread][number];
      for (int k = 0; k < kWgmmaInner; ++k)
        sum = multiplyAdd(a[at.row * kWgmmaInner + k], b[at.column * kWgmmaInner + k], sum);
      sums[thread][number] = sum;
    }
}
