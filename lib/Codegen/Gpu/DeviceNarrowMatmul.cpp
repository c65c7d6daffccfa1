//===- DeviceNarrowMatmul.cpp - Few rows by a packed matrix ---------------===//
//
// A step of decoding has a row a sequence, and its time is that of reading the weights. So no
// thread waits for a tile of B: each computes the sums of two neighbouring columns (B in rows), or
// of one (B transposed: the column is a row in memory), and unpacks B in registers, each byte once.
// The rows of A go through workgroup memory, some terms at a time. A block has more columns the
// more rows there are, so that A is a small part of what it reads. Each element of C is the chain
// of fused multiply-adds that every generated matmul is.
//
//===----------------------------------------------------------------------===//

#include "DeviceNarrowMatmul.h"
#include "EmptyRows.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;

namespace {

constexpr int64_t kMostRows = 32, kTerms = 32, kMostTerms = 128;

class NarrowTile {
public:
  NarrowTile(KernelEmitter &e, const Matmul &matmul, Index block, Index thread)
      : e(e), p(matmul), terms(termsOfStep(matmul)), block(block), thread(thread),
        strip(deviceLoops(e).workgroup(e, p.rows * terms, e.computeType())) {
    // Threads after the last column compute it, too, and store nothing.
    column = block * columnsOfBlock(p) + thread * columnsOfThread(p);
    own = minimum(column, e.index(p.columns - columnsOfThread(p)));
  }

  /// If a column is a row in memory, a step has a whole group of it where that is short, so that
  /// its scale is read once.
  static int64_t termsOfStep(const Matmul &p) {
    return p.b.transposed ? std::gcd(p.b.held.format.group, kMostTerms) : kTerms;
  }
  static int64_t columnsOfThread(const Matmul &p) { return p.b.transposed ? 1 : 2; }
  static int64_t threads(const Matmul &p) {
    return p.rows <= 2 ? 64 : p.rows <= 4 ? 128 : p.rows <= 8 ? 256 : 512;
  }
  static int64_t columnsOfBlock(const Matmul &p) { return threads(p) * columnsOfThread(p); }

  void emit() {
    TileOfC tile{e.index(0), p.rows, block * columnsOfBlock(p), columnsOfBlock(p)};
    multiplyUnlessEmpty(e, p, tile, {thread, threads(p)}, [&] { multiply(); });
  }

private:
  void multiply() {
    Row sums(p.rows, e.splat(0.0, columnsOfThread(p)));
    sums = foldSteps(e, e.index(0), e.index(p.inner), terms, sums,
                     [&](Index k, ArrayRef<Num> carried) {
                       barrier(e);
                       loadStrip(k);
                       barrier(e);
                       return p.b.transposed ? addTerms(k, carried) : addRows(k, carried);
                     });
    ifThen(e, less(column, e.index(p.columns)), [&] {
      for (int64_t row = 0; row < p.rows; ++row)
        store(row, sums[row]);
    });
  }

  static Index beginOf(KernelEmitter &e, const Matrix &matrix) {
    return matrix.begin ? *matrix.begin : e.index(0);
  }

  /// Fills strip[row][d] = A[row][k + d], with 0 after the last term.
  void loadStrip(Index k) {
    forSteps(e, thread, e.index(p.rows * terms), threads(p), [&](Index number) {
      Index row = number / terms, term = k + number % terms;
      Index inside = minimum(term, e.index(p.inner - 1));
      Num x = e.load(p.a.buffer, beginOf(e, p.a) + row * p.a.pitch + inside);
      e.store(strip, number, select(less(term, e.index(p.inner)), x, e.number(0.0)));
    });
  }

  /// If B is transposed, a step's terms are neighbours in memory, and in one group.
  Row addTerms(Index k, ArrayRef<Num> carried) {
    Index place = beginOf(e, p.b) + own * p.b.pitch + k;
    GroupScale group = groupScale(e, p.b.held, place);
    int64_t lanes = std::min(terms, lanesOfTerms());
    return foldSteps(e, e.index(0), e.index(terms), lanes, carried,
                     [&](Index d, ArrayRef<Num> sums) {
                       Num column = load(e, p.b.held, place + d, lanes, group);
                       Row next(sums);
                       for (int64_t row = 0; row < p.rows; ++row) {
                         Num x = e.load(strip, d + row * terms, lanes);
                         for (int64_t lane = 0; lane < lanes; ++lane)
                           next[row] = fma(laneOf(x, lane), laneOf(column, lane), next[row]);
                       }
                       return next;
                     });
  }

  /// Each thread has a line, so 16 bytes at once need half as many sectors as 8. The sums of many
  /// rows leave no registers for as many lanes.
  int64_t lanesOfTerms() {
    int64_t ofLoad = 128 / p.b.held.format.bits();
    return p.rows <= 4 ? ofLoad : p.rows <= 8 ? std::min<int64_t>(ofLoad, 16) : e.lanes();
  }

  /// If B is in rows, this adds a term of two neighbouring columns at a time.
  Row addRows(Index k, ArrayRef<Num> carried) {
    return fold(e, e.index(0), e.index(terms), carried, [&](Index d, ArrayRef<Num> sums) {
      Index term = minimum(k + d, e.index(p.inner - 1));
      Num both = load(e, p.b.held, beginOf(e, p.b) + term * p.b.pitch + own, 2);
      Row next;
      for (int64_t row = 0; row < p.rows; ++row)
        next.push_back(fma(e.load(strip, d + row * terms), both, sums[row]));
      return next;
    });
  }

  Num laneOf(Num x, int64_t lane) {
    return {x.builder, vector::ExtractOp::create(*x.builder, e.location(), x.value, lane)};
  }

  void store(int64_t row, Num sum) {
    auto place = [&](const Matrix &matrix) {
      return beginOf(e, matrix) + row * matrix.pitch + column;
    };
    auto lanes = static_cast<unsigned>(columnsOfThread(p));
    if (p.scale != 1.0)
      sum = sum * p.scale;
    if (p.initial().buffer)
      sum = sum + e.load(p.initial().buffer, place(p.initial()), lanes);
    e.store(p.c.buffer, place(p.c), sum);
  }

  KernelEmitter &e;
  const Matmul &p;
  int64_t terms; // Those of a step.
  Index block, thread;
  Buffer strip;
  Index column, own;
};

} // namespace

bool llmmem::isNarrowOnDevice(const Matmul &p) {
  bool hasPairs = p.b.transposed || p.columns % NarrowTile::columnsOfThread(p) == 0;
  return p.b.isPacked() && p.rows <= kMostRows && p.terms.count == 1 && !p.a.transposed && hasPairs;
}

void llmmem::emitNarrowOnDevice(KernelEmitter &e, int64_t count, const Matmul &first,
                                function_ref<Matmul(Index)> make) {
  int64_t blocks = llvm::divideCeil(first.columns, NarrowTile::columnsOfBlock(first));
  deviceLoops(e).launch(e, count * blocks, NarrowTile::threads(first),
                        [&](Index block, Index thread) {
                          Matmul matmul = make(block / blocks);
                          NarrowTile(e, matmul, block % blocks, thread).emit();
                        });
}
