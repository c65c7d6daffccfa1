//===- LossHeadKernels.cpp - Logits of some tokens at a time --------------===//
//
// Each chunk computes its logits; each row's loss and, overwriting the logits, their gradient; the
// chunk's contribution to dw; dx. Matmuls are computed granule by granule. A granule is the unit of
// accumulation: a fixed number of tokens that divides every chunk. So a library that computes
// matmuls of different sizes differently still gives equal bits for all chunks. Generated code of a
// GPU, which sums in one order whatever the sizes, multiplies whole chunks.
//
// Where ranks have parts of the vocabulary, they exchange something between a chunk's logits and
// its losses: the log-sum-exp that each has of a token.
//
//===----------------------------------------------------------------------===//

#include "CollectiveCall.h"
#include "KernelModels.h"
#include "LossRows.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Targets/LossHeadWorkspace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

//===----------------------------------------------------------------------===//
// An f32 sum in two halves
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Describes a range of rows of the op or of the chunk.
struct Rows {
  Index begin;
  int64_t count;
};

class LossHeadEmitter {
public:
  LossHeadEmitter(LossHeadOp op, KernelEmitter &e)
      : op(op), e(e), tokens(op.getNumRows()), width(op.getWidth()), vocabulary(op.getColumns()),
        granule(op.getGranule()), isOutIn(op.getLayout() == WeightLayout::OutIn),
        parts(lossHeadWorkspace(op)), x(e.operand(0)), weight(e.operand(1)),
        into(e.operand(op.getIntoMutable())), dx(bufferOf(op.getDx(), e)),
        dw(bufferOf(op.getDw(), e)), ownTokens(e, op.getVocabulary(), vocabulary),
        terms(LossTerms::of(op, vocabulary)),
        targets(e, e.operand(2), vocabulary, op.getIgnoreIndex(), e.operand(op.getCountMutable()),
                &ownTokens),
        dloss(e.operand(op.getDlossMutable())),
        losses(e.workspace(parts.losses, tokens, e.computeType())),
        logits(e.workspace(parts.logits, chunk() * parts.pitch, x.element)) {
    Type half = IntegerType::get(op.getContext(), 16);
    if (op.splitsSum())
      accumulator =
          e.workspace(parts.accumulator, dw.size, isInHalves() ? half : Type(e.computeType()));
    if (ownTokens.isPart()) {
      ownLogSums = e.workspace(parts.ownLogSums, chunk(), e.computeType());
      logSums = e.workspace(parts.logSums, op.getGroupSize() * chunk(), e.computeType());
    }
  }

  void emit();

private:
  /// Returns the buffer of an optional result.
  static Buffer bufferOf(Value result, KernelEmitter &e) {
    return result ? e.result(cast<OpResult>(result).getResultNumber()) : Buffer();
  }
  int64_t chunk() { return std::min(op.getChunkRows(), tokens); }
  bool isOneGranule() { return tokens <= granule; }
  /// Returns whether the accumulator's upper halves are in dw.
  bool isInHalves() { return x.element.isBF16() && !isForLibrary(op); }
  bool multipliesChunks();
  bool addsWholeChunks();
  /// Returns whether one launch computes all of dw, so that its f32 sums are never in memory.
  bool sumsInRegisters() { return op.splitsSum() && addsWholeChunks() && chunk() == tokens; }
  void forPieces(int64_t count, int64_t piece, function_ref<void(Rows)> body);
  void emitChunks(function_ref<Num()> tokenWeight);
  int64_t columnsOfCall(const Matmul &matmul);
  void emitLogits(Index first, Rows part);
  TileSoftmax tileSoftmax(Index firstRow);
  /// `tokenWeight` emits the factor of the gradient of a token's loss.
  void emitRows(Rows chunk, function_ref<Num()> tokenWeight);
  /// Returns the factor of the gradient of a token's loss, among `count` tokens.
  Num weightOf(Num count) { return (dloss ? e.load(dloss, e.index(0)) : e.number(1.0)) / count; }
  Num ownLogSum(Index row);
  void shareLogSums(Rows chunk, RowShape shape);
  Num logSumOfRanks(Index row, int64_t rows);
  Num lossOf(Index token, Index row, Index column, Num logSum);
  void emitGradientRow(Index row, Index column, Num logSum, Num factor);
  void beginSum();
  using WorkOnRows = void (LossHeadEmitter::*)(Index, Rows);
  Matmul matmulOfRows(Index first, Rows part);
  void addToSum(Index first, Rows part);
  void addToSplitSum(Index first, Rows part);
  void addToSplitSumOnDevice(Index first, Rows part);
  Matrix wideInputs(Rows part) {
    return {e.workspace(parts.inputs, part.count * width, e.computeType()), width};
  }
  std::pair<Matrix, Matrix> contributionOperands(Index first, Rows part, Rows columns);
  void addMatmulToAccumulator(Index first, Rows part, Rows columns);
  void widen(Buffer from, Index begin, int64_t pitch, int64_t rows, int64_t columns, Buffer to);
  void finishSum();
  void emitInputGradient(Index first, Rows part);
  void emitLoss(Num count);
  void emitLossOnDevice();
  bool isForDevice() { return e.options().target == KernelTarget::Gpu; }
  SplitSum splitSum() { return {e, dw, accumulator}; }

  LossHeadOp op;
  KernelEmitter &e;
  int64_t tokens, width, vocabulary, granule;
  bool isOutIn;
  LossHeadWorkspace parts;
  Buffer x, weight, into, dx, dw;
  VocabularyPart ownTokens;
  LossTerms terms;
  LossTargets targets;
  Buffer dloss; // Null where it is 1.
  /// `dx` exists only for an x that is no constant, `dw` for a weight that is trained,
  /// `accumulator` only if its sum is split, and the last two only if the vocabulary is split.
  Buffer losses, logits, accumulator, ownLogSums, logSums;
  /// Says whether the matmul of the logits also wrote `TileSoftmax`.
  bool haveTileSoftmax = false;
};
} // namespace

/// Visits whole pieces in a loop, then the remainder.
void LossHeadEmitter::forPieces(int64_t count, int64_t piece, function_ref<void(Rows)> body) {
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

void LossHeadEmitter::emit() {
  if (isForDevice()) {
    // Each block counts the targets itself, because no number may pass through the host.
    emitChunks([&] { return weightOf(targets.count()); });
    emitLossOnDevice();
    return;
  }
  Num count = targets.count(), tokenWeight = weightOf(count);
  emitChunks([&] { return tokenWeight; });
  emitLoss(count);
}

/// Generated code of a GPU computes an element in one order whatever the rows of a launch, so a
/// launch has all rows: a granule's gradient of x has too few tiles for all multiprocessors, and
/// the weight's moves the whole accumulator. A library may choose by size.
bool LossHeadEmitter::multipliesChunks() {
  return isForDevice() && !isMultipliedByLibrary(e.options(), x.element);
}

/// With wgmma a chunk's contribution to a split sum is generated even for a library, which reads
/// and writes the accumulator once a granule: on an H200 four granules of GPT-2 took a library 1.47
/// ms, and the kernel of a whole chunk 0.98; one of Llama-3-8B's sixteen took 1.57 ms, where the
/// matmul alone has the terms of 0.69.
bool LossHeadEmitter::addsWholeChunks() {
  return multipliesChunks() || (isForDevice() && isByWarpgroup(e.options().tensorCores));
}

void LossHeadEmitter::emitChunks(function_ref<Num()> tokenWeight) {
  if (dw && !isOneGranule() && !sumsInRegisters())
    beginSum();
  forPieces(tokens, chunk(), [&](Rows rows) {
    auto forGranules = [&](WorkOnRows work) {
      forPieces(rows.count, granule, [&](Rows part) { (this->*work)(rows.begin, part); });
    };
    auto forRowsOfChunk = [&](bool isWhole, WorkOnRows work) {
      isWhole ? (this->*work)(rows.begin, {e.index(0), rows.count}) : forGranules(work);
    };
    forRowsOfChunk(multipliesChunks(), &LossHeadEmitter::emitLogits);
    emitRows(rows, tokenWeight);
    if (dw && op.splitsSum())
      forRowsOfChunk(addsWholeChunks(), isForDevice() ? &LossHeadEmitter::addToSplitSumOnDevice
                                                      : &LossHeadEmitter::addToSplitSum);
    else if (dw)
      forGranules(&LossHeadEmitter::addToSum);
    // This is last, because dx may be in place of x.
    if (dx)
      forRowsOfChunk(multipliesChunks(), &LossHeadEmitter::emitInputGradient);
  });
  if (op.splitsSum() && !sumsInRegisters())
    finishSum();
}

/// Returns the columns of the vocabulary, without those that a library multiplies by a call of its
/// own.
int64_t LossHeadEmitter::columnsOfCall(const Matmul &matmul) {
  return isLibraryMatmul(e, matmul) ? op.getLibraryColumns() : vocabulary;
}

void LossHeadEmitter::emitLogits(Index first, Rows part) {
  Matmul matmul{
      .a = {x, width, false, (first + part.begin) * width},
      .b = {weight, isOutIn ? width : vocabulary, isOutIn},
      .c = {logits, parts.pitch, false, part.begin * parts.pitch},
      .rows = part.count,
      .columns = vocabulary,
      .inner = width,
      .chosen = {.ofTiles = std::min(granule, tokens), .ofInstructions = std::min(granule, tokens)},
      .kind = LogitSum{.writableColumns = parts.pitch}};
  // Tiles ignore padding.
  haveTileSoftmax = makesTileSoftmax(e, matmul) && !ownTokens.isPadded();
  if (haveTileSoftmax)
    matmul.kind = LogitSum{.writableColumns = parts.pitch, .softmax = tileSoftmax(part.begin)};
  matmul.columns = columnsOfCall(matmul);
  emitMatmul(op, e, matmul);
  if (int64_t done = matmul.columns; done < vocabulary) {
    matmul.b.begin = e.index(done * width);
    matmul.c.begin = *matmul.c.begin + done;
    matmul.columns = vocabulary - done;
    emitMatmul(op, e, matmul);
  }
}

/// Returns the partial softmax from a row of the chunk on.
TileSoftmax LossHeadEmitter::tileSoftmax(Index firstRow) {
  int64_t tiles = logitsTiles(op), size = chunk() * tiles;
  return {e.workspace(parts.tileMaxima, size, e.computeType()),
          e.workspace(parts.tilePowers, size, e.computeType()), firstRow * tiles, tiles};
}

void LossHeadEmitter::emitRows(Rows rows, function_ref<Num()> tokenWeight) {
  // The alignment of a row's vectors decides which elements a thread sums. It must not depend on
  // the chunk, which shifts the row by whole granules.
  bool isAlone = granule % static_cast<int64_t>(e.lanes()) == 0;
  RowShape shape{
      .width = vocabulary, .pitch = parts.pitch, .isAlone = isAlone, .synchronizes = true};
  if (ownTokens.isPart())
    shareLogSums(rows, shape);
  forRows(e, rows.count, shape, [&](Index row) {
    Index token = rows.begin + row, column = targets.column(token);
    Num logSum = ownTokens.isPart() ? logSumOfRanks(row, rows.count) : ownLogSum(row);
    e.store(losses, token, lossOf(token, row, column, logSum));
    if (isForDevice())
      barrier(e); // All have read the target's logit.
    emitGradientRow(row, column, logSum, targets.ifCounted(token, tokenWeight()));
  });
}

/// Returns that of the logits of this rank.
Num LossHeadEmitter::ownLogSum(Index row) {
  if (haveTileSoftmax)
    return logSumExpOfTiles(e, tileSoftmax(e.index(0)), row);
  return logSumExp(e, logits, row * parts.pitch, vocabulary, &ownTokens);
}

/// The order is the same on all ranks, because all have the same chunks.
void LossHeadEmitter::shareLogSums(Rows rows, RowShape shape) {
  forRows(e, rows.count, shape, [&](Index row) { e.store(ownLogSums, row, ownLogSum(row)); });
  CollectiveCall(op, e, op.getVocabulary()->getAxes())
      .pass(ownLogSums)
      .pass(logSums)
      .passGroup(rows.count, e.computeType())
      .emit("llmmem_all_gather");
}

/// Computes log sum exp of what the ranks have, in their order, as llm.log_sum_exp does.
Num LossHeadEmitter::logSumOfRanks(Index row, int64_t rows) {
  Index ranks = e.index(op.getGroupSize());
  auto ofRank = [&](Index rank) { return e.load(logSums, rank * rows + row); };
  Row largest =
      fold(e, e.index(1), ranks, ofRank(e.index(0)),
           [&](Index rank, ArrayRef<Num> most) -> Row { return {maximum(most[0], ofRank(rank))}; });
  Row powers = fold(e, e.index(0), ranks, e.number(0.0), [&](Index rank, ArrayRef<Num> sum) -> Row {
    return {sum[0] + exp(ofRank(rank) - largest[0])};
  });
  return largest[0] + log(powers[0]);
}

/// Returns the term of the target, 0 where another rank has it, and the terms of the tokens of this
/// rank.
Num LossHeadEmitter::lossOf(Index token, Index row, Index column, Num logSum) {
  Num hit = e.load(logits, row * parts.pitch + ownTokens.nearest(column));
  Num loss = terms.ofTarget(logSum, hit);
  if (ownTokens.isPart())
    loss = select(ownTokens.has(column), loss, e.number(0.0));
  loss = terms.withShares(
      loss, [&] { return sumOfLogits(e, logits, row * parts.pitch, vocabulary, &ownTokens); });
  return targets.ifCounted(token, loss);
}

void LossHeadEmitter::emitGradientRow(Index row, Index column, Num logSum, Num factor) {
  const LossGradientRow of = {.logits = logits,
                              .dlogits = logits,
                              .begin = row * parts.pitch,
                              .width = vocabulary,
                              .column = column,
                              .logSum = logSum,
                              .factor = factor};
  ownTokens.isPart() ? emitLossGradientOfPart(e, ownTokens, of, terms)
                     : emitLossGradientRow(e, of, terms);
}

void LossHeadEmitter::emitInputGradient(Index first, Rows part) {
  Matmul matmul{.a = {logits, parts.pitch, false, part.begin * parts.pitch},
                .b = {weight, isOutIn ? width : vocabulary, !isOutIn},
                .c = {dx, width, false, (first + part.begin) * width},
                .rows = part.count,
                .columns = width,
                .inner = vocabulary,
                .chosen = {.ofInstructions = std::min(granule, tokens)}};
  if (int64_t most = columnsOfCall(matmul); most < vocabulary) {
    Matmul rest = matmul;
    rest.a.begin = *rest.a.begin + most;
    rest.b.begin = e.index(most * width);
    rest.inner = vocabulary - most;
    emitMatmul(op, e, rest);
    // Most terms come last: of the two roundings of dx that of few terms is the smaller one.
    matmul.inner = most;
    matmul.kind = PlainSum{.initial = matmul.c};
  }
  emitMatmul(op, e, matmul);
}

void LossHeadEmitter::emitLoss(Num count) {
  Row sum =
      fold(e, e.index(0), e.index(tokens), e.number(0.0),
           [&](Index row, ArrayRef<Num> sum) -> Row { return {sum[0] + e.load(losses, row)}; });
  e.store(e.result(0), e.index(0), sum[0] / count);
}

void LossHeadEmitter::emitLossOnDevice() {
  deviceLoops(e).once(e, [&] {
    Num sum =
        deviceLoops(e).sumOfElements(e, tokens, [&](Index row) { return e.load(losses, row); });
    e.store(e.result(0), e.index(0), sum / targets.count());
  });
}

//===----------------------------------------------------------------------===//
// Accumulating dw
//===----------------------------------------------------------------------===//

/// Begins with the accumulator, or 0.
void LossHeadEmitter::beginSum() {
  forLanesParallel(e, dw.size, [&](Index i, unsigned lanes) {
    Num start = into ? e.load(into, i, lanes) : e.splat(0.0, lanes);
    op.splitsSum() ? splitSum().store(i, lanes, start) : e.store(dw, i, start);
  });
}

/// Returns what some rows add to dw, accumulated in dw.
Matmul LossHeadEmitter::matmulOfRows(Index first, Rows part) {
  Matrix inputs{x, width, false, (first + part.begin) * width};
  Matrix gradient{logits, parts.pitch, false, part.begin * parts.pitch};
  Matmul matmul{.a = isOutIn ? gradient : inputs,
                .b = isOutIn ? inputs : gradient,
                .c = {dw, isOutIn ? width : vocabulary},
                .rows = isOutIn ? vocabulary : width,
                .columns = isOutIn ? width : vocabulary,
                .inner = part.count};
  matmul.a.transposed = true;
  return matmul;
}

void LossHeadEmitter::addToSum(Index first, Rows part) {
  Matmul matmul = matmulOfRows(first, part);
  matmul.kind = PlainSum{.initial = {isOneGranule() ? into : dw, matmul.c.pitch}};
  emitMatmul(op, e, matmul);
}

/// A CPU takes two steps: the matmul of a granule and some columns of the logits, in f32, which is
/// then added to the accumulator. A library multiplies bf16 to f32; generated code needs operands
/// converted to f32.
void LossHeadEmitter::addToSplitSum(Index first, Rows part) {
  if (!isMultipliedByLibrary(e.options(), x.element))
    widen(x, (first + part.begin) * width, width, part.count, width, wideInputs(part).buffer);
  forPieces(vocabulary, parts.columns,
            [&](Rows columns) { addMatmulToAccumulator(first, part, columns); });
}

/// Returns the rows of x and the columns of the logits' gradient whose matmul is a granule's
/// contribution.
std::pair<Matrix, Matrix> LossHeadEmitter::contributionOperands(Index first, Rows part,
                                                                Rows columns) {
  Index inputs = (first + part.begin) * width, gradient = part.begin * parts.pitch + columns.begin;
  if (isMultipliedByLibrary(e.options(), x.element))
    return {{x, width, false, inputs}, {logits, parts.pitch, false, gradient}};
  Buffer wide = e.workspace(parts.gradient, part.count * columns.count, e.computeType());
  widen(logits, gradient, parts.pitch, part.count, columns.count, wide);
  return {wideInputs(part), {wide, columns.count}};
}

void LossHeadEmitter::addMatmulToAccumulator(Index first, Rows part, Rows columns) {
  Buffer product = e.workspace(parts.product, columns.count * width, e.computeType());
  auto [a, b] = contributionOperands(first, part, columns);
  int64_t rows = width, pitch = columns.count;
  if (isOutIn) {
    std::swap(a, b);
    std::swap(rows, pitch);
  }
  a.transposed = true;
  emitMatmul(
      op, e,
      {.a = a, .b = b, .c = {product, pitch}, .rows = rows, .columns = pitch, .inner = part.count});
  forRows(e, rows, {.width = pitch}, [&](Index row) {
    Index place = isOutIn ? (columns.begin + row) * width : row * vocabulary + columns.begin;
    forLanes(e, pitch, [&](Index j, unsigned lanes) {
      Num sum = splitSum().load(place + j, lanes) + e.load(product, row * pitch + j, lanes);
      splitSum().store(place + j, lanes, sum);
    });
  });
}

/// On a GPU tensor cores multiply bf16, and the thread that computes an element of the matmul
/// continues from the accumulator: a launch of all of a chunk's rows has the bits of one for each
/// granule. A library adds to an accumulator that is not split, granule by granule
/// (`addsWholeChunks`).
void LossHeadEmitter::addToSplitSumOnDevice(Index first, Rows part) {
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
    return (sumsInRegisters() ? e.load(into, place, lanes) : splitSum().load(place, lanes)).value;
  };
  sums.store = [&](OpBuilder &builder, Index place, Value sum) {
    auto vector = dyn_cast<VectorType>(sum.getType());
    unsigned lanes = vector ? vector.getNumElements() : 1;
    sumsInRegisters() ? e.store(dw, place, {&builder, sum})
                      : splitSum().store(place, lanes, {&builder, sum});
  };
  matmul.c.buffer = Buffer{Value(), dw.size, e.computeType(), &sums};
  matmul.kind = ContinuedSum{matmul.c};
  emitMatmul(op, e, matmul);
}

void LossHeadEmitter::widen(Buffer from, Index begin, int64_t pitch, int64_t rows, int64_t columns,
                            Buffer to) {
  forRows(e, rows, {.width = columns}, [&](Index row) {
    forLanes(e, columns, [&](Index j, unsigned lanes) {
      e.store(to, row * columns + j, e.load(from, begin + row * pitch + j, lanes));
    });
  });
}

void LossHeadEmitter::finishSum() {
  forLanesParallel(e, dw.size,
                   [&](Index i, unsigned lanes) { e.store(dw, i, splitSum().load(i, lanes)); });
}

namespace {
struct LossHeadKernel : KernelModel<LossHeadKernel, LossHeadOp> {
  static void emit(LossHeadOp op, KernelEmitter &e) { LossHeadEmitter(op, e).emit(); }
};
} // namespace

void llmmem::attachLossHeadKernel(MLIRContext *context) { attachKernels<LossHeadKernel>(context); }
