//===- Fragments.h - The mma op of a warp ---------------------------------===//
//
// Emulates mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32, and f16 instead of bf16: D = A B +
// C, with A of 16 x 16, B of 16 x 8, C and D of 16 x 8. Each of the 32 lanes holds a part, its
// fragment (PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type").
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_FRAGMENTS_H
#define LLMMEM_LIB_EMULATION_FRAGMENTS_H

#include <array>
#include <cstdint>

namespace llmmem::emulation {

/// Holds what one lane has. A word has two elements, with the lower column (A) or row (B) in its
/// low half.
struct Fragments {
  uint32_t a[4], b[2];
  float c[4];
  uint32_t isF16 = 0; ///< The value 0 means bf16.
};

/// Describes the position of an element in its matrix.
struct Element {
  int row, column;
};

/// Return the positions of half `half` of word `word` of A and of B, and of number `number` of C,
/// in lane `lane`.
constexpr Element elementOfA(int lane, int word, int half) {
  return {lane / 4 + (word % 2) * 8, lane % 4 * 2 + half + (word / 2) * 8};
}
constexpr Element elementOfB(int lane, int word, int half) {
  return {lane % 4 * 2 + half + word * 8, lane / 4};
}
constexpr Element elementOfC(int lane, int number) {
  return {lane / 4 + (number / 2) * 8, lane % 4 * 2 + number % 2};
}

/// Returns the number that 16 bits represent, as f16 or else as bf16.
float widenHalf(uint16_t bits, bool isF16);

/// Replaces each C by D. An element is one chain of fused multiply-adds over the 16 terms in order,
/// from C on. The order of the hardware is not documented, so its result may differ in the last
/// bits.
void multiplyFragments(const std::array<Fragments *, 32> &lanes);

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_FRAGMENTS_H
