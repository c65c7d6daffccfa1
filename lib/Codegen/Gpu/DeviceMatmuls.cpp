//===- DeviceMatmuls.cpp - Matmuls by the threads of a GPU ----------------===//
//
// A block of 256 threads computes a tile of 64 x 64 of C. Strips of A and B, 16 terms deep, are
// converted to f32 in workgroup memory, and each thread accumulates a square of 4 x 4 in registers.
// Every element is one chain of fused multiply-adds in the order of the terms, as on a CPU, so the
// bits are the same.
//
//===----------------------------------------------------------------------===//

#include "EmptyRows.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;

namespace {
constexpr int64_t kTile = 64, kDepth = 16, kPart = 4;
/// This is the distance of a strip's rows in workgroup memory: a multiple of a vector, with
/// neighbouring rows in different banks.
constexpr int64_t kPitch = kTile + 4;

class DeviceTile {
public:
  DeviceTile(KernelEmitter &e, const Matmul &matmul, Index thread)
      : e(e), p(matmul), thread(thread),
        stripA(deviceLoops(e).workgroup(e, kDepth * kPitch, e.computeType())),
        stripB(deviceLoops(e).workgroup(e, kDepth * kPitch, e.computeType())) {}

  void emit(Index row, Index column) {
    multiplyUnlessEmpty(e, p, {row, kTile, column, kTile}, {thread, kBlockThreads},
                        [&] { multiply(row, column); });
  }

private:
  void multiply(Index row, Index column) {
    Row sums(kPart, e.splat(0.0, kPart));
    sums = fold(e, e.index(0), e.index(p.terms.count), sums, [&](Index term, ArrayRef<Num> ofTerm) {
      return foldSteps(
          e, e.index(0), e.index(p.inner), kDepth, ofTerm,
          [&](Index k, ArrayRef<Num> carried) { return addStrips(row, column, term, k, carried); });
    });
    for (int64_t i = 0; i < kPart; ++i)
      storeLine(row + thread / (kTile / kPart) * kPart + i,
                column + thread % (kTile / kPart) * kPart, sums[i]);
  }

  static Index beginOf(KernelEmitter &e, const Matrix &matrix) {
    return matrix.begin ? *matrix.begin : e.index(0);
  }

  Row addStrips(Index row, Index column, Index term, Index k, ArrayRef<Num> carried) {
    barrier(e);
    loadStrip(p.a, beginOf(e, p.a) + term * p.terms.stepA, !p.a.transposed, row, p.rows, k, stripA);
    loadStrip(p.b, beginOf(e, p.b) + term * p.terms.stepB, p.b.transposed, column, p.columns, k,
              stripB);
    barrier(e);
    Index i = thread / (kTile / kPart) * kPart, j = thread % (kTile / kPart) * kPart;
    return fold(e, e.index(0), e.index(kDepth), carried, [&](Index d, ArrayRef<Num> sums) {
      Num a = e.load(stripA, d * kPitch + i, kPart), b = e.load(stripB, d * kPitch + j, kPart);
      Row next;
      for (int64_t line = 0; line < kPart; ++line)
        next.push_back(fma(laneOf(a, line), b, sums[line]));
      return next;
    });
  }

  Num laneOf(Num x, int64_t lane) {
    return {x.builder, vector::ExtractOp::create(*x.builder, e.location(), x.value, lane)};
  }

  /// Computes to[d][i] = the matrix element of line `first` + i and term `k` + d, 0 beyond the
  /// edges. Neighbouring threads read neighbouring elements: along the terms, or along the lines.
  void loadStrip(const Matrix &matrix, Index begin, bool alongTerms, Index first, int64_t lines,
                 Index k, Buffer to) {
    for (int64_t part = 0; part < kTile * kDepth / kBlockThreads; ++part) {
      Index number = thread + part * kBlockThreads;
      Index d = alongTerms ? number % kDepth : number / kTile;
      Index i = alongTerms ? number / kDepth : number % kTile;
      Index line = minimum(first + i, e.index(lines - 1)),
            inner = minimum(k + d, e.index(p.inner - 1));
      Index place = alongTerms ? line * matrix.pitch + inner : inner * matrix.pitch + line;
      Num x = matrix.isPacked() ? load(e, matrix.held, begin + place)
                                : e.load(matrix.buffer, begin + place);
      if (lines % kTile != 0)
        x = select(less(first + i, e.index(lines)), x, e.number(0.0));
      if (p.inner % kDepth != 0)
        x = select(less(k + d, e.index(p.inner)), x, e.number(0.0));
      e.store(to, d * kPitch + i, x);
    }
  }

  void storeLine(Index row, Index column, Num sums) {
    if (p.scale != 1.0)
      sums = sums * p.scale;
    ifThen(e, less(row, e.index(p.rows)), [&] {
      if (movesInVectors())
        return ifThen(e, less(column, e.index(p.columns)),
                      [&] { store(row, column, sums, kPart); });
      for (int64_t lane = 0; lane < kPart; ++lane)
        ifThen(e, less(column + lane, e.index(p.columns)),
               [&] { store(row, column + lane, laneOf(sums, lane), 1); });
    });
  }

  bool movesInVectors() const {
    return p.columns % kPart == 0 && p.c.pitch % kPart == 0 && p.initial().pitch % kPart == 0 &&
           !p.c.begin && !p.initial().begin;
  }

  void store(Index row, Index column, Num x, unsigned lanes) {
    auto place = [&](const Matrix &matrix) {
      return beginOf(e, matrix) + row * matrix.pitch + column;
    };
    if (p.initial().buffer)
      x = x + e.load(p.initial().buffer, place(p.initial()), lanes);
    e.store(p.c.buffer, place(p.c), x);
  }

  KernelEmitter &e;
  const Matmul &p;
  Index thread;
  Buffer stripA, stripB;
};
} // namespace

void llmmem::emitDeviceMatmuls(KernelEmitter &e, int64_t count, const Matmul &first,
                               function_ref<Matmul(Index)> make) {
  int64_t down = llvm::divideCeil(first.rows, kTile),
          across = llvm::divideCeil(first.columns, kTile);
  deviceLoops(e).launch(e, count * down * across, kBlockThreads, [&](Index block, Index thread) {
    Matmul matmul = make(block / (down * across));
    // Consecutive blocks read the same part of B.
    DeviceTile(e, matmul, thread).emit(block % down * kTile, block / down % across * kTile);
  });
}
