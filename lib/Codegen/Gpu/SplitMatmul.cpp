//===- SplitMatmul.cpp - A matmul whose sum several blocks share ----------===//

#include "SplitMatmul.h"
#include "MmaMatmul.h"
#include "llmmem/Codegen/Emitter/Loops.h"

using namespace mlir;
using namespace llmmem;

/// Returns part `number` of the matmul, as one of its own. Lines of A and B are terms.
static Matmul partOf(KernelEmitter &e, const Matmul &matmul, llm::SumParts parts, Buffer sums,
                     Index number) {
  Matmul part = matmul;
  Index first = number * parts.terms;
  part.a.begin = first * matmul.a.pitch;
  part.b.begin = first * matmul.b.pitch;
  part.c = {sums, matmul.columns, false,
            number * llm::SumParts::distance(matmul.rows * matmul.columns)};
  part.scale = 1.0;
  part.inner = parts.terms;
  PartOfSum of = {.firstTerm = first, .allTerms = matmul.inner};
  if (matmul.inner % parts.terms != 0)
    of.innerBound = minimum(e.index(matmul.inner) - first, e.index(parts.terms));
  part.kind = of;
  return part;
}

static void addParts(KernelEmitter &e, const Matmul &matmul, int64_t parts, Buffer sums) {
  int64_t size = matmul.rows * matmul.columns, distance = llm::SumParts::distance(size);
  forLanesParallel(e, size, [&](Index i, unsigned lanes) {
    Num sum = e.load(sums, i, lanes);
    for (int64_t part = 1; part < parts; ++part)
      sum = sum + e.load(sums, i + part * distance, lanes);
    if (matmul.scale != 1.0)
      sum = sum * matmul.scale;
    if (matmul.initial().buffer)
      sum = sum + e.load(matmul.initial().buffer, i, lanes);
    e.store(matmul.c.buffer, i, sum);
  });
}

void llmmem::emitSplitMatmul(KernelEmitter &e, const Matmul &matmul, llm::SumParts parts,
                             Buffer sums) {
  auto make = [&](Index number) { return partOf(e, matmul, parts, sums, number); };
  emitMmaMatmuls(e, parts.count, make(e.index(0)), make);
  addParts(e, matmul, parts.count, sums);
}
