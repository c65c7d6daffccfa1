//===- WeightSum.cpp - The gradient of a weight, chunk by chunk -----------===//

#include "WeightSum.h"
#include "llmmem/Codegen/Emitter/Loops.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

//===----------------------------------------------------------------------===//
// An f32 sum in two halves
//===----------------------------------------------------------------------===//

namespace {
/// Holds an f32 accumulator whose upper halves are the bf16 elements of one buffer, and whose lower
/// halves lie in another. The bits of f16 are no half of those of f32, and a library adds to whole
/// numbers: in these cases `lower` is the whole accumulator.
struct SplitSum {
  KernelEmitter &e;
  Buffer upper, lower;

  Num load(Index index, unsigned lanes);
  void store(Index index, unsigned lanes, Num x);

private:
  bool isWhole() const { return lower.element.isF32(); }
  Type integers(unsigned width, unsigned lanes) {
    Type type = IntegerType::get(e.builder().getContext(), width);
    return lanes == 1 ? type : VectorType::get({lanes}, type);
  }
  Type floats(Type element, unsigned lanes) {
    return lanes == 1 ? element : VectorType::get({lanes}, element);
  }
  Value sixteen(unsigned lanes) {
    Type type = integers(32, lanes);
    TypedAttr attribute = e.builder().getI32IntegerAttr(16);
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, Attribute(attribute));
    return arith::ConstantOp::create(e.builder(), upper.memref.getLoc(), attribute);
  }
};

Num SplitSum::load(Index index, unsigned lanes) {
  if (isWhole())
    return e.load(lower, index, lanes);
  OpBuilder &b = e.builder();
  Location loc = upper.memref.getLoc();
  Value high =
      arith::BitcastOp::create(b, loc, integers(16, lanes), e.loadRaw(upper, index, lanes));
  Value low = arith::ExtUIOp::create(b, loc, integers(32, lanes), e.loadRaw(lower, index, lanes));
  high = arith::ExtUIOp::create(b, loc, integers(32, lanes), high);
  high = arith::ShLIOp::create(b, loc, high, sixteen(lanes));
  Value bits = arith::OrIOp::create(b, loc, high, low);
  return {&b, arith::BitcastOp::create(b, loc, floats(b.getF32Type(), lanes), bits)};
}

void SplitSum::store(Index index, unsigned lanes, Num x) {
  if (isWhole())
    return e.store(lower, index, x);
  OpBuilder &b = e.builder();
  Location loc = upper.memref.getLoc();
  Value bits = arith::BitcastOp::create(b, loc, integers(32, lanes), x.value);
  Value high = arith::ShRUIOp::create(b, loc, bits, sixteen(lanes));
  high = arith::TruncIOp::create(b, loc, integers(16, lanes), high);
  e.storeRaw(upper, index, arith::BitcastOp::create(b, loc, floats(b.getBF16Type(), lanes), high));
  e.storeRaw(lower, index, arith::TruncIOp::create(b, loc, integers(16, lanes), bits));
}
} // namespace

//===----------------------------------------------------------------------===//
// The sum
//===----------------------------------------------------------------------===//

void llmmem::forPieces(KernelEmitter &e, int64_t count, int64_t piece,
                       function_ref<void(Rows)> body) {
  int64_t whole = count / piece;
  // A single piece begins at the constant 0, not at a multiple of its size: the known alignment of
  // addresses chooses a library's algorithm and must not depend on the chunk.
  if (whole == 1)
    body({e.index(0), piece});
  if (whole > 1)
    forEach(e, whole, [&](Index i) { body({i * piece, piece}); });
  if (whole * piece < count)
    body({e.index(whole * piece), count - whole * piece});
}

/// Generated code of a GPU computes an element in one order whatever the rows of a launch, so a
/// launch has all rows: a granule's gradient of x has too few tiles for all multiprocessors, and
/// the weight's moves the whole accumulator. A library may choose by size.
bool llmmem::multipliesChunks(KernelEmitter &e, Type element) {
  return e.options().target == KernelTarget::Gpu && !isMultipliedByLibrary(e.options(), element);
}

/// With wgmma a chunk's contribution to a split sum is generated even for a library, which reads
/// and writes the accumulator once a granule: on an H200 four granules of GPT-2 took a library 1.47
/// ms, and the kernel of a whole chunk 0.98; one of Llama-3-8B's sixteen took 1.57 ms, where the
/// matmul alone has the terms of 0.69.
bool WeightGradientSum::addsWholeChunks() {
  return multipliesChunks(e, p.x.buffer.element) ||
         (isForDevice() && isByWarpgroup(e.options().tensorCores));
}

/// Begins with `into`, or 0.
void WeightGradientSum::begin() {
  if (!p.dw || p.isOneGranule() || sumsInRegisters())
    return;
  forLanesParallel(e, p.dw.size, [&](Index i, unsigned lanes) {
    Num start = p.into ? e.load(p.into, i, lanes) : e.splat(0.0, lanes);
    p.isSplit() ? SplitSum{e, p.dw, p.accumulator}.store(i, lanes, start) : e.store(p.dw, i, start);
  });
}

void WeightGradientSum::add(Rows rows) {
  if (!p.dw)
    return;
  auto work = !p.isSplit()    ? &WeightGradientSum::addToSum
              : isForDevice() ? &WeightGradientSum::addToSplitSumOnDevice
                              : &WeightGradientSum::addToSplitSum;
  if (p.isSplit() && addsWholeChunks())
    return (this->*work)(rows.begin, {e.index(0), rows.count});
  forPieces(e, rows.count, p.granule, [&](Rows part) { (this->*work)(rows.begin, part); });
}

/// Returns what some rows add to dw, accumulated in dw.
Matmul WeightGradientSum::matmulOfRows(Index first, Rows part) {
  Matrix inputs{p.x.buffer, p.x.pitch, false, p.x.placeOf(first, part.begin)};
  Matrix gradient{p.gradient.buffer, p.gradient.pitch, false,
                  p.gradient.placeOf(first, part.begin)};
  Matmul matmul{.a = p.isOutIn ? gradient : inputs,
                .b = p.isOutIn ? inputs : gradient,
                .c = {p.dw, p.isOutIn ? p.x.width : p.gradient.width},
                .rows = p.isOutIn ? p.gradient.width : p.x.width,
                .columns = p.isOutIn ? p.x.width : p.gradient.width,
                .inner = part.count};
  matmul.a.transposed = true;
  return matmul;
}

void WeightGradientSum::addToSum(Index first, Rows part) {
  Matmul matmul = matmulOfRows(first, part);
  matmul.kind = PlainSum{.initial = {p.isOneGranule() ? p.into : p.dw, matmul.c.pitch}};
  emitMatmul(p.op, e, matmul);
}

Matrix WeightGradientSum::wideInputs(Rows part) {
  return {e.workspace(p.contribution.inputs, part.count * p.x.width, e.computeType()), p.x.width};
}

/// A CPU takes two steps: the matmul of a granule and some columns of the logits, in f32, which is
/// then added to the accumulator. A library multiplies bf16 to f32; generated code needs operands
/// converted to f32.
void WeightGradientSum::addToSplitSum(Index first, Rows part) {
  if (!isMultipliedByLibrary(e.options(), p.x.buffer.element))
    widen(p.x.buffer, p.x.placeOf(first, part.begin), p.x.pitch, part.count, p.x.width,
          wideInputs(part).buffer);
  forPieces(e, p.gradient.width, p.contribution.columns,
            [&](Rows columns) { addMatmulToAccumulator(first, part, columns); });
}

/// Returns the rows of x and the columns of the logits' gradient whose matmul is a granule's
/// contribution.
std::pair<Matrix, Matrix> WeightGradientSum::contributionOperands(Index first, Rows part,
                                                                  Rows columns) {
  Index inputs = p.x.placeOf(first, part.begin),
        gradient = p.gradient.placeOf(first, part.begin) + columns.begin;
  if (isMultipliedByLibrary(e.options(), p.x.buffer.element))
    return {{p.x.buffer, p.x.pitch, false, inputs},
            {p.gradient.buffer, p.gradient.pitch, false, gradient}};
  Buffer wide = e.workspace(p.contribution.gradient, part.count * columns.count, e.computeType());
  widen(p.gradient.buffer, gradient, p.gradient.pitch, part.count, columns.count, wide);
  return {wideInputs(part), {wide, columns.count}};
}

void WeightGradientSum::addMatmulToAccumulator(Index first, Rows part, Rows columns) {
  Buffer product = e.workspace(p.contribution.product, columns.count * p.x.width, e.computeType());
  auto [a, b] = contributionOperands(first, part, columns);
  int64_t rows = p.x.width, pitch = columns.count;
  if (p.isOutIn) {
    std::swap(a, b);
    std::swap(rows, pitch);
  }
  a.transposed = true;
  emitMatmul(
      p.op, e,
      {.a = a, .b = b, .c = {product, pitch}, .rows = rows, .columns = pitch, .inner = part.count});
  forRows(e, rows, {.width = pitch}, [&](Index row) {
    Index place =
        p.isOutIn ? (columns.begin + row) * p.x.width : row * p.gradient.width + columns.begin;
    forLanes(e, pitch, [&](Index j, unsigned lanes) {
      Num sum = SplitSum{e, p.dw, p.accumulator}.load(place + j, lanes) +
                e.load(product, row * pitch + j, lanes);
      SplitSum{e, p.dw, p.accumulator}.store(place + j, lanes, sum);
    });
  });
}

/// On a GPU tensor cores multiply bf16, and the thread that computes an element of the matmul
/// continues from the accumulator: a launch of all of a chunk's rows has the bits of one for each
/// granule. A library adds to an accumulator that is not split, granule by granule
/// (`addsWholeChunks`).
void WeightGradientSum::addToSplitSumOnDevice(Index first, Rows part) {
  Matmul matmul = matmulOfRows(first, part);
  matmul.c.buffer = p.accumulator;
  matmul.kind = PlainSum{.initial = {p.accumulator, matmul.c.pitch}};
  if (!addsWholeChunks() && isLibraryMatmul(e, matmul))
    return emitLibraryMatmul(e, matmul);
  matmul.kind = PlainSum();
  if (sumsInRegisters() && !p.into) {
    matmul.c.buffer = p.dw;
    return emitMatmuls(p.op, e, 1, [&](Index) { return matmul; });
  }
  BufferAccess sums;
  sums.load = [&](OpBuilder &, Index place, unsigned lanes) {
    return (sumsInRegisters() ? e.load(p.into, place, lanes)
                              : SplitSum{e, p.dw, p.accumulator}.load(place, lanes))
        .value;
  };
  sums.store = [&](OpBuilder &builder, Index place, Value sum) {
    auto vector = dyn_cast<VectorType>(sum.getType());
    unsigned lanes = vector ? vector.getNumElements() : 1;
    sumsInRegisters() ? e.store(p.dw, place, {&builder, sum})
                      : SplitSum{e, p.dw, p.accumulator}.store(place, lanes, {&builder, sum});
  };
  matmul.c.buffer = Buffer{Value(), p.dw.size, e.computeType(), &sums};
  matmul.kind = ContinuedSum{matmul.c};
  emitMatmul(p.op, e, matmul);
}

void WeightGradientSum::widen(Buffer from, Index begin, int64_t pitch, int64_t rows,
                              int64_t columns, Buffer to) {
  forRows(e, rows, {.width = columns}, [&](Index row) {
    forLanes(e, columns, [&](Index j, unsigned lanes) {
      e.store(to, row * columns + j, e.load(from, begin + row * pitch + j, lanes));
    });
  });
}

void WeightGradientSum::finish() {
  if (!p.isSplit() || sumsInRegisters())
    return;
  forLanesParallel(e, p.dw.size, [&](Index i, unsigned lanes) {
    e.store(p.dw, i, SplitSum{e, p.dw, p.accumulator}.load(i, lanes));
  });
}
