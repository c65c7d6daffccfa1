//===- Fragments.cpp - The mma op of a warp -------------------------------===//

#include "Fragments.h"
#include <bit>
#include <cmath>

using namespace llmmem::emulation;

static float widenF16(uint32_t bits) {
  uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 0x1Fu, fraction = bits & 0x3FFu;
  if (exponent == 0) // The fraction is 2^-24, which f32 holds as a normal number.
    return std::copysign(std::ldexp(static_cast<float>(fraction), -24), sign ? -1.0f : 1.0f);
  // Infinities and NaN keep an exponent of ones; others gain the difference of the biases.
  uint32_t wide = exponent == 0x1Fu ? 0xFFu : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

float llmmem::emulation::widenHalf(uint16_t bits, bool isF16) {
  return isF16 ? widenF16(bits) : std::bit_cast<float>(uint32_t(bits) << 16);
}

static float widen(const Fragments &lane, uint32_t word, int half) {
  return widenHalf(static_cast<uint16_t>(half ? word >> 16 : word), lane.isF16);
}

void llmmem::emulation::multiplyFragments(const std::array<Fragments *, 32> &lanes) {
  float a[16][16], b[16][8];
  for (int lane = 0; lane < 32; ++lane)
    for (int half = 0; half < 2; ++half) {
      for (int word = 0; word < 4; ++word) {
        Element at = elementOfA(lane, word, half);
        a[at.row][at.column] = widen(*lanes[lane], lanes[lane]->a[word], half);
      }
      for (int word = 0; word < 2; ++word) {
        Element at = elementOfB(lane, word, half);
        b[at.row][at.column] = widen(*lanes[lane], lanes[lane]->b[word], half);
      }
    }
  for (int lane = 0; lane < 32; ++lane)
    for (int number = 0; number < 4; ++number) {
      Element at = elementOfC(lane, number);
      float sum = lanes[lane]->c[number];
      for (int k = 0; k < 16; ++k)
        sum = std::fma(a[at.row][k], b[k][at.column], sum);
      lanes[lane]->c[number] = sum;
    }
}
