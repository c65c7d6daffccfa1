//===- Wgmma.h - The wgmma op of a warpgroup --------------------------------===//
//
// Emulates wgmma.mma_async.sync.aligned.m64nNk16.f32 of bf16 or f16: 64 x N sums, of which each of
// the 128 threads holds N / 2, += A B, with A of 64 x 16 and B of 16 x N in shared memory, where
// descriptors say (PTX ISA, "Matrix-descriptor"; MatrixDescriptor.h).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_WGMMA_H
#define LLMMEM_LIB_EMULATION_WGMMA_H

#include "Fragments.h"
#include "llmmem/Support/MatrixDescriptor.h"
#include <string>
#include <vector>

namespace llmmem::emulation {

constexpr int kWarpgroup = 128, kWgmmaRows = 64, kWgmmaInner = 16;

/// Says where an operand lies in shared memory, whose byte 0 has an address that is a multiple of
/// 1024.
class SharedOperand {
public:
  /// `begin` is the address of byte 0. With `isTurned`, lines are inner places.
  SharedOperand(uint64_t bits, uint64_t begin, bool isTurned)
      : descriptor(bits), isTurned(isTurned),
        start((descriptor.start() - static_cast<int64_t>(begin & 0x3FFFF)) & 0x3FFFF) {}

  /// Says what is not supported or not allowed; empty if it is fine.
  std::string problem() const;
  /// Returns the byte of element (row, inner), where a row is one of A or a column of B.
  int64_t byteOf(int64_t row, int64_t inner) const {
    return descriptor.byteOf(start, row, inner, isTurned);
  }

private:
  MatrixDescriptor descriptor;
  bool isTurned;
  int64_t start;
};

/// Returns the row and column of number `number` of the sums of thread `thread` of the warpgroup.
constexpr Element elementOfSum(int thread, int number) {
  Element at = elementOfC(thread % 32, number % 4);
  return {thread / 32 * 16 + at.row, number / 4 * 8 + at.column};
}

/// Adds to the sums of all threads. `a` and `b` are in rows of 16 inner places. Each sum is one
/// chain of fused multiply-adds over the 16 terms in order, as in multiplyFragments.
void addProducts(const std::vector<float *> &sums, int columns, const std::vector<float> &a,
                 const std::vector<float> &b);

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_WGMMA_H
