//===- MmaTile.h - Tiles and fragments of tensor cores --------------------===//
//
// mma.sync m16n8k16: the 32 threads of a warp multiply a 16 x 16 tile of A by a 16 x 8 tile of B,
// in bf16 or f16, and add to 16 x 8 sums in f32. Each thread holds parts of them. With g = lane / 4
// and t = lane % 4 (PTX ISA, "Matrix Fragments for mma.m16n8k16"):
//
//   A    parts 0..3: elements (g, 2t), (g+8, 2t), (g, 2t+8), (g+8, 2t+8) and their right neighbours
//   B    parts 0..1: elements (2t, g), (2t+8, g) and their lower neighbours
//   C    (g, 2t), (g, 2t+1), (g+8, 2t), (g+8, 2t+1)
//
// So pairs along the inner dimension must be neighbours in memory: tiles lie in workgroup memory by
// rows of A and by columns of B, whichever way their matrices lie.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_MMATILE_H
#define LLMMEM_LIB_CODEGEN_GPU_MMATILE_H

#include "Emitter/Matmuls.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include <array>

namespace llmmem {

constexpr int64_t kMmaRows = 16, kMmaColumns = 8, kMmaInner = 16;

/// The type of 16 bits that the kernel's op has tensors of: f16, else bf16. No op has both in what
/// it multiplies.
mlir::FloatType halfTypeOf(KernelEmitter &e);

struct FragmentA {
  std::array<mlir::Value, 4> parts; // i32, two elements of 16 bits each
};
struct FragmentB {
  std::array<mlir::Value, 2> parts;
};
/// f32.
using FragmentC = std::array<Num, 4>;

/// The parts of a thread: `group` and `pair` are g and t above.
struct MmaLane {
  Index group, pair;
  static MmaLane of(Index threadOfWarp) { return {threadOfWarp / 4, threadOfWarp % 4}; }
};

/// Elements of 16 bits in workgroup memory: `rows` rows of `inner` elements. A row is padded by 16
/// bytes: eight rows that a warp reads at once then begin in different banks.
struct MmaTile {
  /// Allocates workgroup memory.
  MmaTile(KernelEmitter &e, int64_t rows, int64_t inner);
  /// In a part of `memory`, from element `begin` on.
  MmaTile(Buffer memory, int64_t begin, int64_t rows, int64_t inner)
      : memory(memory), begin(begin), rows(rows), inner(inner) {}

  static constexpr int64_t pitchOf(int64_t inner) { return inner + 8; }
  static constexpr int64_t sizeOf(int64_t rows, int64_t inner) { return rows * pitchOf(inner); }
  int64_t pitch() const { return pitchOf(inner); }
  int64_t end() const { return begin + sizeOf(rows, inner); }

  Buffer memory;
  int64_t begin = 0, rows, inner;
};

/// The fragment whose first element is (row, inner) of the tile.
FragmentA loadFragmentA(KernelEmitter &e, const MmaTile &tile, Index row, Index inner,
                        MmaLane lane);
/// The same with tile rows as columns of B.
FragmentB loadFragmentB(KernelEmitter &e, const MmaTile &tile, Index column, Index inner,
                        MmaLane lane);
/// Accumulators of 16 x 16 as operand A of the next mma, rounded to 16 bits: the layouts of C and A
/// agree.
FragmentA packFragment(KernelEmitter &e, const FragmentC &left, const FragmentC &right);
/// The two elements of one part of a fragment, in f32.
std::array<Num, 2> unpackPart(KernelEmitter &e, mlir::Value part);
FragmentC zeroFragment(KernelEmitter &e);
/// a b + c.
FragmentC multiply(KernelEmitter &e, const FragmentA &a, const FragmentB &b, const FragmentC &c);

/// A part of a matrix of 16 bits an element for `copyTile`: `rows` by `inner`, of which those from
/// `rowBound` and `innerBound` on are 0.
struct TileSource {
  Buffer buffer;
  Index begin; // of the matrix in the buffer
  int64_t pitch;
  /// Neighbours in memory are rows of the tile, not columns.
  bool transposed;
  Index row, inner;
  Index rowBound, innerBound;
};

/// All `threads` of the block copy `source` into `tile`, eight elements at a time where that is
/// known to be aligned. Barriers must stand before and after.
void copyTile(KernelEmitter &e, const MmaTile &tile, const TileSource &source, Index thread,
              int64_t threads);

/// A divisor of every run-time value of `index`; 0 if it is always 0.
int64_t knownDivisor(mlir::Value index);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_MMATILE_H
