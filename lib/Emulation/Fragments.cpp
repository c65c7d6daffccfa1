//===- Fragments.cpp - The mma op of a warp -------------------------------===//

#include "Fragments.h"
#include <bit>
#include <cmath>

using namespace llmmem::emulation;

static float widen(uint32_t word, int half) {
  return std::bit_cast<float>(half ? word & 0xFFFF0000u : word << 16);
}

void llmmem::emulation::multiplyFragments(const std::array<Fragments *, 32> &lanes) {
  float a[16][16], b[16][8];
  for (int lane = 0; lane < 32; ++lane)
    for (int half = 0; half < 2; ++half) {
      for (int word = 0; word < 4; ++word) {
        Element at = elementOfA(lane, word, half);
        a[at.row][at.column] = widen(lanes[lane]->a[word], half);
      }
      for (int word = 0; word < 2; ++word) {
        Element at = elementOfB(lane, word, half);
        b[at.row][at.column] = widen(lanes[lane]->b[word], half);
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
