//===- GemmBlock.cpp - One block of a matmul, and the loop over blocks ----===//

#include "FactorB.h"
#include "NarrowMatmul.h"
#include "RoundedMatmul.h"
#include "llmmem/Codegen/Emitter/Loops.h"
#include "llmmem/Interfaces/Bytes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::gemm;

//===----------------------------------------------------------------------===//
// One block
//===----------------------------------------------------------------------===//

namespace {
/// It has many fields because each is an argument of the function that is emitted.
class BlockWriter {
public:
  BlockWriter(Writer &w, Functions &functions, bool transposedA, bool transposedB, bool initial)
      : w(w), functions(functions), transposedA(transposedA), transposedB(transposedB),
        hasInitial(initial) {}

  void write() {
    clearSums();
    w.forEach(w.constant(0), terms, 1, [&](Index t) {
      Pointer aOfTerm = a + t * stepA;
      FactorB bOfTerm = b + t * stepB;
      // Emits a loop whose step is a run-time value.
      w.forEach(w.constant(0), ceilDiv(inner, depth), 1, [&](Index piece) {
        Index k = piece * depth;
        multiply(aOfTerm + (transposedA ? k * aPitch : k), bOfTerm + (transposedB ? k : k * bPitch),
                 minimum(depth, inner - k));
      });
    });
    storeSums();
  }

private:
  void clearSums() {
    w.forEach(w.constant(0), roundUp(rows, Sizes::kTileRows), 1, [&](Index i) {
      w.forEach(w.constant(0), columns, w.sizes.lanes,
                [&](Index j) { w.store(sums + (i * w.sizes.columns() + j), w.zeros(), true); });
    });
  }

  void multiply(Pointer a, const FactorB &b, Index depth) {
    w.call(functions.packA(transposedA),
           {panelA.address, a.address, aPitch.value, rows.value, depth.value});
    SmallVector<Value> packed = {panelB.address, b.pointer(), bPitch.value, columns.value,
                                 depth.value};
    llvm::append_range(packed, b.rest());
    w.call(functions.packB(transposedB), packed);
    int64_t tile = w.sizes.tileColumns(), lanes = w.sizes.lanes;
    w.forEach(w.constant(0), columns, tile, [&](Index j) {
      Index vectors = ceilDiv(minimum(columns - j, w.constant(tile)), w.constant(lanes));
      for (unsigned width = 1; width <= Sizes::kTileVectors; ++width)
        w.ifThen(equal(vectors, w.constant(width)), [&] { multiplyStrip(j, width, depth); });
    });
  }

  void multiplyStrip(Index j, unsigned vectors, Index depth) {
    w.forEach(w.constant(0), rows, Sizes::kTileRows, [&](Index i) {
      Pointer part = panelA + (transposedA ? i : i * w.sizes.depth);
      Pointer strip = panelB + j * w.sizes.depth;
      Pointer tile = sums + (i * w.sizes.columns() + j);
      w.call(functions.tile(transposedA, vectors),
             {part.address, strip.address, tile.address, depth.value});
    });
  }

  void storeSums() {
    int64_t lanes = w.sizes.lanes;
    Index rest = columns % lanes, whole = columns - rest;
    w.forEach(w.constant(0), rows, 1, [&](Index i) {
      Pointer line = sums + i * w.sizes.columns(), from = initial + i * initialPitch,
              to = c + i * cPitch;
      auto finish = [&](Index j, function_ref<Num(Pointer)> load) {
        Num sum = w.load(line + j, lanes, true) * scale;
        return hasInitial ? sum + load(from + j) : sum;
      };
      w.forEach(w.constant(0), whole, lanes, [&](Index j) {
        w.store(to + j, finish(j, [&](Pointer p) { return w.load(p, lanes); }));
      });
      w.ifThen(less(w.constant(0), rest), [&] {
        w.storeFirst(to + whole, rest,
                     finish(whole, [&](Pointer p) { return w.loadFirst(p, rest); }));
      });
    });
  }

  Writer &w;
  Functions &functions;
  bool transposedA, transposedB, hasInitial;
  Pointer a = w.pointer(0, w.element), initial = w.pointer(4, w.element),
          c = w.pointer(6, w.element);
  FactorB b{w, 2};
  Index aPitch = w.index(1), bPitch = w.index(3), initialPitch = w.index(5), cPitch = w.index(7);
  Index rows = w.index(8), columns = w.index(9), inner = w.index(10), depth = w.index(11),
        terms = w.index(12), stepA = w.index(13), stepB = w.index(14);
  Num scale{&w.builder, w.function.getArgument(15)};
  Pointer panelA = w.panel(Sizes::kRows * w.sizes.depth),
          panelB = w.panel(w.sizes.columns() * w.sizes.depth),
          sums = w.panel(Sizes::kRows * w.sizes.columns());
};
} // namespace

func::FuncOp Functions::block(bool transposedA, bool transposedB, bool initial) {
  SmallVector<Type> types;
  for (int matrix = 0; matrix < 4; ++matrix)
    types.append({pointer, index});
  types.append(7, index);
  types.push_back(accumulatorType);
  std::string name = (Twine("block_") + (transposedA ? "t" : "n") + (transposedB ? "t" : "n") +
                      (initial ? "_initial" : ""))
                         .str();
  return defineWithB(name, types, [&](Writer &w) {
    BlockWriter(w, *this, transposedA, transposedB, initial).write();
  });
}

//===----------------------------------------------------------------------===//
// All blocks
//===----------------------------------------------------------------------===//

Value llmmem::addressOf(Operation *op, KernelEmitter &e, const Matrix &matrix) {
  OpBuilder &builder = e.builder();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  if (!matrix.buffer)
    return LLVM::ZeroOp::create(builder, op->getLoc(), pointer);
  Index begin{&builder, memref::ExtractAlignedPointerAsIndexOp::create(builder, op->getLoc(),
                                                                       matrix.buffer.memref)};
  if (matrix.begin)
    begin = begin + *matrix.begin * bytesOfNumber(matrix.buffer.element);
  Value bits = arith::IndexCastOp::create(builder, op->getLoc(), builder.getI64Type(), begin.value);
  return LLVM::IntToPtrOp::create(builder, op->getLoc(), pointer, bits);
}

Value gemm::addressOfB(Operation *op, KernelEmitter &e, const Matrix &b, Index first) {
  // Numbers may be halves of bytes, so a function counts them from the beginning of the buffer.
  if (b.isPacked())
    return addressOf(op, e, {b.buffer});
  return (Pointer{&e.builder(), addressOf(op, e, b), b.buffer.element} + first).address;
}

SmallVector<Value> gemm::restOfB(Operation *op, KernelEmitter &e, const Matrix &b, Index first) {
  if (!b.isPacked())
    return {};
  Index begin = b.begin ? *b.begin + first : first;
  return {begin.value, addressOf(op, e, {b.held.scales}), addressOf(op, e, {b.held.zeros})};
}

/// Returns the size of equal parts, a multiple of `multiple` up to `limit`.
static int64_t partOf(int64_t total, int64_t limit, int64_t multiple) {
  return llvm::alignTo(llvm::divideCeil(total, llvm::divideCeil(total, limit)), multiple);
}

namespace {
/// Says where a block of C is stored: in C or, if C has no memory, in a staging buffer on the
/// stack, from which the epilogue takes its elements, rounded as they would be in C.
class BlockTarget {
public:
  BlockTarget(KernelEmitter &e, const Matmul &p, int64_t height, int64_t width)
      : e(e), p(p), staged(p.c.buffer.access) {
    if (staged)
      block = {e.scratch(height * width, p.c.buffer.element), width};
  }

  Matrix matrix() const { return staged ? block : p.c; }
  bool isStaged() const { return staged; }

  /// Gives the `rows` x `columns` elements from (i, j) of C to the epilogue.
  void handOn(Index i, Index j, Index rows, Index columns) {
    if (!staged)
      return;
    int64_t lanes = e.lanes();
    Index whole = p.columns % lanes == 0 ? columns : columns / lanes * lanes;
    forEach(e, e.index(0), rows, [&](Index row) {
      auto move = [&](Index column, unsigned count) {
        Value made = e.loadRaw(block.buffer, row * block.pitch + column, count);
        e.storeRaw(p.c.buffer, (i + row) * p.c.pitch + j + column, made);
      };
      forSteps(e, e.index(0), whole, lanes, [&](Index column) { move(column, lanes); });
      if (p.columns % lanes != 0)
        forEach(e, whole, columns, [&](Index column) { move(column, 1); });
    });
  }

private:
  KernelEmitter &e;
  const Matmul &p;
  bool staged;
  Matrix block;
};
} // namespace

/// Computes all rows of a strip of columns at a time.
static void emitNarrowMatmul(Operation *op, KernelEmitter &e, const Matmul &p) {
  int64_t width = std::min(narrowStrip(e, p), p.columns);
  forEachParallel(e, llvm::divideCeil(p.columns, width), [&](Index strip) {
    Index j = strip * width, columns = minimum(e.index(width), e.index(p.columns) - j);
    BlockTarget target(e, p, p.rows, width);
    emitNarrowStrip(op, e, p, j, columns, target.matrix());
    target.handOn(e.index(0), j, e.index(p.rows), columns);
  });
}

/// Computes some rows of a strip of columns at a time, which they read from a near cache.
static void emitRoundedMatmul(Operation *op, KernelEmitter &e, const Matmul &p) {
  constexpr int64_t kMostRows = 32;
  int64_t width = std::min(roundedStrip(p), p.columns), height = std::min(p.rows, kMostRows);
  int64_t down = llvm::divideCeil(p.rows, height), across = llvm::divideCeil(p.columns, width);
  forEachParallel(e, down * across, [&](Index iteration) {
    Index i = iteration % down * height, j = iteration / down * width;
    Index rows = minimum(e.index(height), e.index(p.rows) - i),
          columns = minimum(e.index(width), e.index(p.columns) - j);
    BlockTarget target(e, p, height, width);
    forEach(e, e.index(0), rows, [&](Index row) {
      Index to = target.isStaged() ? row * width : (i + row) * p.c.pitch + j;
      emitRoundedRow(op, e, p, {i + row, j, columns}, target.matrix(), to);
    });
    target.handOn(i, j, rows, columns);
  });
}

void llmmem::emitGeneratedMatmul(Operation *op, KernelEmitter &e, const Matmul &p) {
  if (p.activationGroup)
    return emitRoundedMatmul(op, e, p);
  if (isNarrowMatmul(p))
    return emitNarrowMatmul(op, e, p);
  Functions functions(op->getParentOfType<ModuleOp>(), op->getLoc(), p.c.buffer.element,
                      p.b.held.format);
  const Sizes &sizes = functions.sizes;
  func::FuncOp block =
      functions.block(p.a.transposed, p.b.transposed, static_cast<bool>(p.initial().buffer));
  int64_t height = partOf(p.rows, Sizes::kRows, Sizes::kTileRows),
          width = partOf(p.columns, sizes.columns(), sizes.tileColumns()),
          depth = partOf(p.inner, sizes.depth, sizes.lanes);
  int64_t down = llvm::divideCeil(p.rows, height), across = llvm::divideCeil(p.columns, width);
  // Consecutive iterations read the same part of B.
  forEachParallel(e, down * across, [&](Index iteration) {
    Index i = iteration % down * height, j = iteration / down * width;
    Index rows = minimum(e.index(height), e.index(p.rows) - i),
          columns = minimum(e.index(width), e.index(p.columns) - j);
    BlockTarget target(e, p, height, width);
    auto from = [&](const Matrix &matrix, Index row, Index column) {
      Pointer base{&e.builder(), addressOf(op, e, matrix), matrix.buffer.element};
      if (matrix.buffer)
        base = base + (row * matrix.pitch + column);
      return base.address;
    };
    Index zero = e.index(0), firstOfB = p.b.transposed ? j * p.b.pitch : j;
    SmallVector<Value> arguments = {p.a.transposed ? from(p.a, zero, i) : from(p.a, i, zero),
                                    e.index(p.a.pitch).value,
                                    addressOfB(op, e, p.b, firstOfB),
                                    e.index(p.b.pitch).value,
                                    from(p.initial(), i, j),
                                    e.index(p.initial().pitch).value,
                                    target.isStaged() ? from(target.matrix(), zero, zero)
                                                      : from(p.c, i, j),
                                    e.index(target.matrix().pitch).value,
                                    rows.value,
                                    columns.value};
    for (int64_t number : {p.inner, depth, p.terms.count, p.terms.stepA, p.terms.stepB})
      arguments.push_back(e.index(number).value);
    arguments.push_back(e.number(p.scale).value);
    llvm::append_range(arguments, restOfB(op, e, p.b, firstOfB));
    func::CallOp::create(e.builder(), op->getLoc(), block, arguments);
    target.handOn(i, j, rows, columns);
  });
}
