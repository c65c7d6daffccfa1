//===- MatrixDescriptor.h - What wgmma's descriptors say ------------------===//
//
// An operand of wgmma, elements of 16 bits in shared memory, is given by the 64 bits that describe
// it (PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout"; formulas of the same
// layouts are in CUTLASS, include/cute/atom/mma_traits_sm90_gmma.hpp). This file is plain C++.
// Example, swizzled in 128 bytes, where lines are rows: with `start` 0 and groups of eight rows
// 1024 bytes apart, element (9, 8) lies in line 1 of group 1, at 1024 + 128 + 16; its chunk, 1, is
// at the place of chunk 1 xor 1: byte 1152.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_SUPPORT_MATRIXDESCRIPTOR_H
#define LLMMEM_SUPPORT_MATRIXDESCRIPTOR_H

#include <cstdint>

namespace llmmem {

class MatrixDescriptor {
public:
  explicit MatrixDescriptor(uint64_t bits) : bits(bits) {}

  /// Returns the low 18 bits of the address, a multiple of 16 bytes.
  int64_t start() const { return static_cast<int64_t>(bits & 0x3FFF) * 16; }
  int64_t leadingOffset() const { return static_cast<int64_t>(bits >> 16 & 0x3FFF) * 16; }
  int64_t strideOffset() const { return static_cast<int64_t>(bits >> 32 & 0x3FFF) * 16; }
  int64_t baseOffset() const { return static_cast<int64_t>(bits >> 49 & 7); }
  /// Returns the swizzle; 1 is in 128 bytes, the only one that `byteOf` knows.
  int64_t swizzle() const { return static_cast<int64_t>(bits >> 62); }

  /// Returns the byte of element (row, inner) from `begin` on, which replaces `start`; byte 0 has
  /// an address that is a multiple of 1024. A row is one of A, or a column of B. `isTurned` says
  /// that lines are inner places.
  int64_t byteOf(int64_t begin, int64_t row, int64_t inner, bool isTurned) const {
    constexpr int64_t line = 128, lines = 8, elements = line / 2;
    int64_t byte =
        begin + (isTurned ? row / elements * leadingOffset() + row % elements * 2 +
                                inner / lines * strideOffset() + inner % lines * line
                          : row / lines * strideOffset() + row % lines * line + inner * 2);
    return byte ^ (byte / line % lines) * 16;
  }

private:
  uint64_t bits;
};

} // namespace llmmem

#endif // LLMMEM_SUPPORT_MATRIXDESCRIPTOR_H
