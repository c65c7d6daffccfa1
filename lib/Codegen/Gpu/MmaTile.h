//===- MmaTile.h - Tiles and fragments of tensor cores --------------------===//
//
// In mma.sync m16n8k16 the 32 threads of a warp multiply a 16 x 16 tile of A by a 16 x 8 tile of B,
// in bf16 or f16, and add to 16 x 8 sums in f32. Each thread holds parts of them. With g = lane / 4
// and t = lane % 4 (PTX ISA, "Matrix Fragments for mma.m16n8k16"):
//
//   A    parts 0..3: elements (g, 2t), (g+8, 2t), (g, 2t+8), (g+8, 2t+8) and their right neighbours
//   B    parts 0..1: elements (2t, g), (2t+8, g) and their lower neighbours
//   C    (g, 2t), (g, 2t+1), (g+8, 2t), (g+8, 2t+1)
//
// A tile lies in workgroup memory as its matrix lies in the buffer, in lines: rows of A, for
// example, or, if A is transposed, what its rows have at one inner place. `ldmatrix` reads 8 x 8
// elements of either kind into fragments, and turns them if pairs along the inner dimension are no
// neighbours. So no copy transposes anything, and cp.async can make it.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_MMATILE_H
#define LLMMEM_LIB_CODEGEN_GPU_MMATILE_H

#include "Emitter/Matmuls.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include <array>

namespace llmmem {

constexpr int64_t kMmaRows = 16, kMmaColumns = 8, kMmaInner = 16;

/// Returns the type of 16 bits of the tensors of the kernel's op: f16, else bf16. No op multiplies
/// both.
mlir::FloatType halfTypeOf(KernelEmitter &e);

struct FragmentA {
  std::array<mlir::Value, 4> parts; // i32, two elements of 16 bits each.
};
struct FragmentB {
  std::array<mlir::Value, 2> parts;
};
/// Its elements are f32.
using FragmentC = std::array<Num, 4>;

/// Describes a thread of a warp: its number, and g and t above.
struct MmaLane {
  Index number, group, pair;
  static MmaLane of(Index threadOfWarp) {
    return {threadOfWarp, threadOfWarp / 4, threadOfWarp % 4};
  }
};

/// Describes elements of 16 bits in workgroup memory, from element `begin` on: `rows` rows of A, or
/// columns of B, of `inner` elements.
///
/// ldmatrix reads 16 bytes of each of 8 neighbouring lines at once, which must lie in different
/// banks (32 of 4 bytes). Where the 16-byte chunks of a line are a power of two, from four on,
/// chunk c of line l is at the place of chunk c xor f(l), with eight different places for eight
/// neighbouring lines. Example: for lines of 64 bytes, two of which cover all banks, f(l) = l / 2 %
/// 4. Other lines are padded by one chunk: at an odd distance in chunks, eight lines begin in
/// different banks, too.
struct MmaTile {
  enum class Lines { Rows, Inner };

  MmaTile(Buffer memory, Index begin, int64_t rows, int64_t inner, Lines lines = Lines::Rows)
      : memory(memory), begin(begin), rows(rows), inner(inner), lines(lines) {}
  /// Allocates workgroup memory.
  MmaTile(KernelEmitter &e, int64_t rows, int64_t inner, Lines lines = Lines::Rows);

  static int64_t sizeOf(int64_t lines, int64_t width) { return lines * pitchOf(width); }
  int64_t size() const { return sizeOf(numLines(), width()); }
  int64_t numLines() const { return lines == Lines::Rows ? rows : inner; }
  int64_t width() const { return lines == Lines::Rows ? inner : rows; }

  /// Returns the same elements with rows and inner places exchanged.
  MmaTile transposed() const {
    return {memory, begin, inner, rows, lines == Lines::Rows ? Lines::Inner : Lines::Rows};
  }

  /// Returns the element's place in `memory`, where `column` counts from the beginning of the line.
  Index placeOf(Index line, Index column) const;
  Index elementAt(Index row, Index innerPlace) const {
    return lines == Lines::Rows ? placeOf(row, innerPlace) : placeOf(innerPlace, row);
  }

  Buffer memory;
  Index begin;
  int64_t rows, inner;
  Lines lines;

private:
  static bool isSwizzled(int64_t width);
  static int64_t pitchOf(int64_t width);
};

/// Loads the fragment whose first element is (row, inner) of the tile.
FragmentA loadFragmentA(KernelEmitter &e, const MmaTile &tile, Index row, Index inner,
                        MmaLane lane);
/// Does the same with tile rows as columns of B: the fragment at `column` and its right neighbour.
std::array<FragmentB, 2> loadFragmentsB(KernelEmitter &e, const MmaTile &tile, Index column,
                                        Index inner, MmaLane lane);
/// Turns accumulators of 16 x 16 into operand A of the next mma, rounded to 16 bits: the layouts of
/// C and A agree.
FragmentA packFragment(KernelEmitter &e, const FragmentC &left, const FragmentC &right);
/// Returns the two elements of one part of a fragment, in f32.
std::array<Num, 2> unpackPart(KernelEmitter &e, mlir::Value part);
FragmentC zeroFragment(KernelEmitter &e);
FragmentC multiply(KernelEmitter &e, const FragmentA &a, const FragmentB &b, const FragmentC &c);

/// Describes a part of a matrix of 16-bit elements for `copyTile`: as many elements as the tile
/// has, of which those from `rowBound` and `innerBound` on are 0. It begins inside of both bounds.
struct TileSource {
  Buffer buffer;
  Index begin; // The beginning of the matrix in the buffer.
  int64_t pitch;
  Index row, inner;
  Index rowBound, innerBound;
};

/// Returns whether `copyTile` makes asynchronous copies: all lines begin at multiples of 16 bytes.
bool isCopiedAsync(const MmaTile &tile, const TileSource &source);

/// All `threads` of the block copy `source`, whose lines are those of the tile, into `tile`: 16
/// bytes at a time by cp.async, or else one element after another. A barrier must precede it, and
/// `waitForCopies` and a barrier must follow it.
void copyTile(KernelEmitter &e, const MmaTile &tile, const TileSource &source, Index thread,
              int64_t threads);

/// Makes a group of the thread's copies since the last call.
void commitCopies(KernelEmitter &e);
/// Waits until all of the thread's groups except the newest `groups` have been copied.
void waitForCopies(KernelEmitter &e, int32_t groups);

/// Returns a divisor of every run-time value of `index`; 0 if it is always 0.
int64_t knownDivisor(mlir::Value index);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_MMATILE_H
