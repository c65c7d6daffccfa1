//===- RoundedMatmul.cpp - Products of rounded activations ---------------===//

#include "RoundedMatmul.h"
#include "RoundedWriter.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::gemm;

func::FuncOp Functions::rounded(int64_t inner, int64_t strip, int64_t group, bool transposedB,
                                bool initial, bool evenGroups) {
  SmallVector<Type> types = {pointer, pointer, index, pointer, pointer, index};
  std::string name =
      ("rounded_" + Twine(transposedB ? "t" : "n") + Twine(group) + "_" + Twine(inner) + "x" +
       Twine(strip) + (initial ? "_initial" : "") + (evenGroups ? "" : "_odd"))
          .str();
  RowForm form{inner, strip, group, transposedB, initial, evenGroups};
  return defineWithB(name, types, [&](Writer &w) {
    transposedB ? writeRoundedColumns(w, form) : writeRoundedRows(w, form);
  });
}

/// There are some for each of many threads, wide enough to be read in order, and to round
/// activations seldom.
int64_t llmmem::roundedStrip(const Matmul &p) {
  if (p.b.transposed)
    return std::clamp<int64_t>(llvm::divideCeil(p.columns, 8 * kRows), 16, 128) * kRows;
  constexpr int64_t mostOfStack = 1
                                  << 16; // Numbers of a thread's rounded panel, a strip by `inner`.
  int64_t groups = p.columns / p.b.held.format.group;
  int64_t most = std::clamp<int64_t>(groups / 4, 1, std::max<int64_t>(1, mostOfStack / p.inner));
  while (groups % most != 0)
    --most;
  return most * p.b.held.format.group;
}

void llmmem::emitRoundedRow(Operation *op, KernelEmitter &e, const Matmul &p, const StripRow &strip,
                            const Matrix &target, Index to) {
  const auto &[row, column, columns] = strip;
  Functions functions(op->getParentOfType<ModuleOp>(), op->getLoc(), p.c.buffer.element,
                      p.b.held.format);
  func::FuncOp function = functions.rounded(p.inner, roundedStrip(p), *p.activationGroup,
                                            p.b.transposed, static_cast<bool>(p.initial().buffer),
                                            p.b.pitch % (2 * p.b.held.format.group) == 0);
  auto from = [&](const Matrix &matrix, Index offset) {
    Pointer base{&e.builder(), addressOf(op, e, matrix), matrix.buffer.element};
    return matrix.buffer ? (base + offset).address : base.address;
  };
  Index first = p.b.transposed ? column * p.b.pitch : column;
  SmallVector<Value> arguments = {
      from(p.a, row * p.a.pitch), addressOfB(op, e, p.b, first),
      e.index(p.b.pitch).value,   from(p.initial(), row * p.initial().pitch + column),
      from(target, to),           columns.value};
  llvm::append_range(arguments, restOfB(op, e, p.b, first));
  func::CallOp::create(e.builder(), op->getLoc(), function, arguments);
}
