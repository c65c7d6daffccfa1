//===- WarpgroupTile.h - Tiles that wgmma reads ---------------------------===//
//
// In wgmma m64nNk16 the four warps of a warpgroup multiply a 64 x 16 tile of A by a 16 x N tile of
// B, both in shared memory, and add to 64 x N sums in f32. It is asynchronous: sums and tiles may
// be accessed again after a wait. Warp w of the four holds rows 16 w to 16 w + 15 in N / 8
// fragments C (MmaTile.h). A descriptor of 64 bits says where an operand lies (PTX ISA,
// "Asynchronous Warpgroup Level Matrix Shared Memory Layout" and "Matrix-descriptor"; CUTLASS,
// mma_traits_sm90_gmma.hpp, writes the same layouts as formulas):
//
//   bits 0..13   where it begins, bytes / 16         bits 16..29   leading byte offset / 16
//   bits 32..45  stride byte offset / 16             bits 62..63   1: swizzled in 128 bytes
//
// Lines of 64 elements have 128 bytes, and chunk c of line l is at the place of chunk c xor (l %
// 8). An MmaTile of this width does the same, so cp.async makes such tiles, and eight lines are
// 1024 bytes. An operand whose lines are rows is one MmaTile of any number of rows; groups of eight
// rows are a stride apart. One whose lines are inner places is an MmaTile for every 64 rows; there
// groups of eight lines are a stride apart, and MmaTiles a leading offset.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_WARPGROUPTILE_H
#define LLMMEM_LIB_CODEGEN_GPU_WARPGROUPTILE_H

#include "MmaTile.h"

namespace llmmem {

constexpr int64_t kWarpgroup = 4 * kWarp, kWgmmaRows = 64;
/// Counts the elements of a line of 128 bytes; they are the inner places of a tile.
constexpr int64_t kSwizzledLine = 64;
/// Tiles begin at multiples of this in shared memory, so that the swizzle is that of the address.
constexpr int64_t kSwizzledBytes = 1024;

/// Describes `rows` rows of A, or columns of B, of 64 inner places, from element `begin` of shared
/// memory on.
struct WarpgroupTile {
  /// `innerLines` is how many lines lie between turned MmaTiles, where they have more inner places.
  WarpgroupTile(Buffer memory, Index begin, int64_t rows, MmaTile::Lines lines,
                int64_t innerLines = kSwizzledLine)
      : memory(memory), begin(begin), rows(rows), lines(lines), innerLines(innerLines) {}

  static int64_t sizeOf(int64_t rows) { return rows * kSwizzledLine; }
  bool isTurned() const { return lines == MmaTile::Lines::Inner; }
  /// Returns the MmaTiles that it consists of, by their first row.
  llvm::SmallVector<std::pair<int64_t, MmaTile>> parts() const;
  /// Returns the descriptor of the operand from `row` on, a multiple of 64 where it is turned and
  /// of 8 else.
  mlir::Value descriptor(KernelEmitter &e, Index row) const;
  /// Returns the descriptor moved by `rows` (such a multiple) and by `inner`, a multiple of 16. It
  /// takes one addition, because the field for the address does not overflow.
  mlir::Value advance(KernelEmitter &e, mlir::Value descriptor, int64_t rows, int64_t inner) const;

  Buffer memory;
  Index begin;
  int64_t rows;
  MmaTile::Lines lines;
  int64_t innerLines;
};

/// Returns 64 x `columns` zero sums of a warpgroup, to which wgmma adds: a struct of `columns` / 2
/// f32 a thread.
mlir::Value zeroSums(KernelEmitter &e, int64_t columns);
/// Returns the thread's sums, once nothing adds to them any more.
Row takeSums(KernelEmitter &e, mlir::Value sums);
/// Makes such sums from a thread's numbers.
mlir::Value makeSums(KernelEmitter &e, llvm::ArrayRef<Num> numbers);

/// Emits a barrier of the block after which wgmma may read what its threads have written to shared
/// memory. Each thread must have waited for its copies.
void barrierBeforeWgmma(KernelEmitter &e, int32_t registers);
/// Must lie between a thread's own use of sums and the first wgmma that adds to them.
void fenceSums(KernelEmitter &e);
/// Returns what sums may be before a wgmma that does not read them.
mlir::Value noSums(KernelEmitter &e, int64_t columns);
/// Starts sums += A B, or sums = A B if `clears`, with A at `ofA` in tile `a`, and B, which has all
/// columns of tile `b`, at `ofB`.
mlir::Value startWgmma(KernelEmitter &e, const WarpgroupTile &a, mlir::Value ofA,
                       const WarpgroupTile &b, mlir::Value ofB, mlir::Value sums,
                       bool clears = false);
/// Does the same with A in registers, a fragment of 16 rows of each warp.
mlir::Value startWgmma(KernelEmitter &e, const FragmentA &a, const WarpgroupTile &b,
                       mlir::Value ofB, mlir::Value sums);
/// Makes a group of what was started since the last call.
void commitWgmma(KernelEmitter &e);
/// Waits until all of the warpgroup's groups except the newest `groups` have ended.
void waitForWgmma(KernelEmitter &e, int64_t groups);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_WARPGROUPTILE_H
