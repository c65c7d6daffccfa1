//===- ExactSums.cpp - Sums that keep their rounding errors ---------------===//

#include "ExactSums.h"
#include "llmmem/Codegen/Emitter/Loops.h"

using namespace mlir;
using namespace llmmem;

Row llmmem::addExactly(ArrayRef<Num> sum, Num x) {
  Num next = sum[0] + x, back = next - sum[0];
  Num lost = (sum[0] - (next - back)) + (x - back);
  return {next, sum[1] + lost};
}

Row llmmem::addTogether(ArrayRef<Num> a, ArrayRef<Num> b) {
  Row together = addExactly({a[0], a[0].like(0.0)}, b[0]);
  return {together[0], (a[1] + b[1]) + together[1]};
}

void llmmem::emitColumnSums(KernelEmitter &e, Buffer into, int64_t rows, Index begin,
                            int64_t vectors, unsigned lanes, ColumnTerm term) {
  Row initial;
  for (int64_t k = 0; k < vectors; ++k) {
    Num zero = e.splat(0.0, lanes);
    initial.append({into ? e.load(into, begin + k * lanes, lanes) : zero, zero});
  }
  Row sums = fold(e, e.index(0), e.index(rows), initial, [&](Index row, ArrayRef<Num> carried) {
    Row next;
    for (int64_t k = 0; k < vectors; ++k)
      next.append(addExactly(carried.slice(2 * k, 2), term(row, begin + k * lanes, lanes)));
    return next;
  });
  for (int64_t k = 0; k < vectors; ++k)
    e.store(e.result(0), begin + k * lanes, sums[2 * k] + sums[2 * k + 1]);
}
