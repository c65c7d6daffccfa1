//===- LossHeadSum.cpp - The gradient of a loss head's weight, chunk by chunk -===//

#include "LossHeadSum.h"
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

WeightGradientSum::WeightGradientSum(LossHead &head)
    : head(head), op(head.op), e(head.e), into(e.operand(op.getIntoMutable())) {
  if (Value result = op.getDw())
    dw = e.result(cast<OpResult>(result).getResultNumber());
  Type half = IntegerType::get(op.getContext(), 16);
  if (op.splitsSum())
    accumulator =
        e.workspace(head.parts.accumulator, dw.size, isInHalves() ? half : Type(e.computeType()));
}

bool WeightGradientSum::isInHalves() { return head.x.element.isBF16() && !isForLibrary(op); }

/// With wgmma a chunk's contribution to a split sum is generated even for a library, which reads
/// and writes the accumulator once a granule: on an H200 four granules of GPT-2 took a library 1.47
/// ms, and the kernel of a whole chunk 0.98; one of Llama-3-8B's sixteen took 1.57 ms, where the
/// matmul alone has the terms of 0.69.
bool WeightGradientSum::addsWholeChunks() {
  return head.multipliesChunks() || (head.isForDevice() && isByWarpgroup(e.options().tensorCores));
}

/// Begins with `into`, or 0.
void WeightGradientSum::begin() {
  if (!dw || head.isOneGranule() || sumsInRegisters())
    return;
  forLanesParallel(e, dw.size, [&](Index i, unsigned lanes) {
    Num start = into ? e.load(into, i, lanes) : e.splat(0.0, lanes);
    op.splitsSum() ? SplitSum{e, dw, accumulator}.store(i, lanes, start) : e.store(dw, i, start);
  });
}

void WeightGradientSum::add(Rows rows) {
  if (!dw)
    return;
  auto work = !op.splitsSum()      ? &WeightGradientSum::addToSum
              : head.isForDevice() ? &WeightGradientSum::addToSplitSumOnDevice
                                   : &WeightGradientSum::addToSplitSum;
  if (op.splitsSum() && addsWholeChunks())
    return (this->*work)(rows.begin, {e.index(0), rows.count});
  head.forPieces(rows.count, head.granule, [&](Rows part) { (this->*work)(rows.begin, part); });
}

/// Returns what some rows add to dw, accumulated in dw.
Matmul WeightGradientSum::matmulOfRows(Index first, Rows part) {
  Matrix inputs{head.x, head.width, false, (first + part.begin) * head.width};
  Matrix gradient{head.logits, head.parts.pitch, false, part.begin * head.parts.pitch};
  Matmul matmul{.a = head.isOutIn() ? gradient : inputs,
                .b = head.isOutIn() ? inputs : gradient,
                .c = {dw, head.isOutIn() ? head.width : head.vocabulary},
                .rows = head.isOutIn() ? head.vocabulary : head.width,
                .columns = head.isOutIn() ? head.width : head.vocabulary,
                .inner = part.count};
  matmul.a.transposed = true;
  return matmul;
}

void WeightGradientSum::addToSum(Index first, Rows part) {
  Matmul matmul = matmulOfRows(first, part);
  matmul.kind = PlainSum{.initial = {head.isOneGranule() ? into : dw, matmul.c.pitch}};
  emitMatmul(op, e, matmul);
}

Matrix WeightGradientSum::wideInputs(Rows part) {
  return {e.workspace(head.parts.contribution.inputs, part.count * head.width, e.computeType()),
          head.width};
}

/// A CPU takes two steps: the matmul of a granule and some columns of the logits, in f32, which is
/// then added to the accumulator. A library multiplies bf16 to f32; generated code needs operands
/// converted to f32.
void WeightGradientSum::addToSplitSum(Index first, Rows part) {
  if (!isMultipliedByLibrary(e.options(), head.x.element))
    widen(head.x, (first + part.begin) * head.width, head.width, part.count, head.width,
          wideInputs(part).buffer);
  head.forPieces(head.vocabulary, head.parts.contribution.columns,
                 [&](Rows columns) { addMatmulToAccumulator(first, part, columns); });
}

/// Returns the rows of x and the columns of the logits' gradient whose matmul is a granule's
/// contribution.
std::pair<Matrix, Matrix> WeightGradientSum::contributionOperands(Index first, Rows part,
                                                                  Rows columns) {
  Index inputs = (first + part.begin) * head.width,
        gradient = part.begin * head.parts.pitch + columns.begin;
  if (isMultipliedByLibrary(e.options(), head.x.element))
    return {{head.x, head.width, false, inputs}, {head.logits, head.parts.pitch, false, gradient}};
  Buffer wide =
      e.workspace(head.parts.contribution.gradient, part.count * columns.count, e.computeType());
  widen(head.logits, gradient, head.parts.pitch, part.count, columns.count, wide);
  return {wideInputs(part), {wide, columns.count}};
}

void WeightGradientSum::addMatmulToAccumulator(Index first, Rows part, Rows columns) {
  Buffer product =
      e.workspace(head.parts.contribution.product, columns.count * head.width, e.computeType());
  auto [a, b] = contributionOperands(first, part, columns);
  int64_t rows = head.width, pitch = columns.count;
  if (head.isOutIn()) {
    std::swap(a, b);
    std::swap(rows, pitch);
  }
  a.transposed = true;
  emitMatmul(
      op, e,
      {.a = a, .b = b, .c = {product, pitch}, .rows = rows, .columns = pitch, .inner = part.count});
  forRows(e, rows, {.width = pitch}, [&](Index row) {
    Index place =
        head.isOutIn() ? (columns.begin + row) * head.width : row * head.vocabulary + columns.begin;
    forLanes(e, pitch, [&](Index j, unsigned lanes) {
      Num sum = SplitSum{e, dw, accumulator}.load(place + j, lanes) +
                e.load(product, row * pitch + j, lanes);
      SplitSum{e, dw, accumulator}.store(place + j, lanes, sum);
    });
  });
}

/// On a GPU tensor cores multiply bf16, and the thread that computes an element of the matmul
/// continues from the accumulator: a launch of all of a chunk's rows has the bits of one for each
/// granule. A library adds to an accumulator that is not split, granule by granule
/// (`addsWholeChunks`).
void WeightGradientSum::addToSplitSumOnDevice(Index first, Rows part) {
  Matmul matmul = matmulOfRows(first, part);
  matmul.c.buffer = accumulator;
  matmul.kind = PlainSum{.initial = {accumulator, matmul.c.pitch}};
  if (!addsWholeChunks() && isLibraryMatmul(e, matmul))
    return emitLibraryMatmul(e, matmul);
  matmul.kind = PlainSum();
  if (sumsInRegisters() && !into) {
    matmul.c.buffer = dw;
    return emitMatmuls(op, e, 1, [&](Index) { return matmul; });
  }
  BufferAccess sums;
  sums.load = [&](OpBuilder &, Index place, unsigned lanes) {
    return (sumsInRegisters() ? e.load(into, place, lanes)
                              : SplitSum{e, dw, accumulator}.load(place, lanes))
        .value;
  };
  sums.store = [&](OpBuilder &builder, Index place, Value sum) {
    auto vector = dyn_cast<VectorType>(sum.getType());
    unsigned lanes = vector ? vector.getNumElements() : 1;
    sumsInRegisters() ? e.store(dw, place, {&builder, sum})
                      : SplitSum{e, dw, accumulator}.store(place, lanes, {&builder, sum});
  };
  matmul.c.buffer = Buffer{Value(), dw.size, e.computeType(), &sums};
  matmul.kind = ContinuedSum{matmul.c};
  emitMatmul(op, e, matmul);
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
  if (!op.splitsSum() || sumsInRegisters())
    return;
  forLanesParallel(e, dw.size, [&](Index i, unsigned lanes) {
    e.store(dw, i, SplitSum{e, dw, accumulator}.load(i, lanes));
  });
}
