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
#include "Emitter/VocabularyPart.h"
#include "KernelModels.h"
#include "LossRows.h"
#include "WeightSum.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Targets/LossHeadWorkspace.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

//===----------------------------------------------------------------------===//
// What the parts share
//===----------------------------------------------------------------------===//

namespace {
/// Has what all parts of a loss head's kernel share.
struct LossHead {
  LossHead(LossHeadOp op, KernelEmitter &e)
      : op(op), e(e), tokens(op.getNumRows()), width(op.getWidth()), vocabulary(op.getColumns()),
        granule(op.getGranule()), parts(lossHeadWorkspace(op)), x(e.operand(0)),
        ownTokens(e, op.getVocabulary(), vocabulary),
        losses(e.workspace(parts.losses, tokens, e.computeType())),
        logits(e.workspace(parts.logits, chunk() * parts.pitch, x.element)) {}

  int64_t chunk() { return std::min(op.getChunkRows(), tokens); }
  bool isOutIn() { return op.getLayout() == WeightLayout::OutIn; }
  bool isForDevice() const { return e.options().target == KernelTarget::Gpu; }
  /// Describes the sum of dw, which is not summed where the weight is not trained.
  WeightSum weightSum();

  LossHeadOp op;
  KernelEmitter &e;
  int64_t tokens, width, vocabulary, granule;
  LossHeadWorkspace parts;
  Buffer x;
  VocabularyPart ownTokens;
  Buffer losses, logits;
};

WeightSum LossHead::weightSum() {
  WeightSum sum{.op = op,
                .x = {x, width, width},
                .gradient = {logits, vocabulary, parts.pitch, /*isOfChunk=*/true},
                .isOutIn = isOutIn(),
                .rows = tokens,
                .chunk = chunk(),
                .granule = granule,
                .into = e.operand(op.getIntoMutable()),
                .contribution = {parts.contribution.inputs, parts.contribution.gradient,
                                 parts.contribution.product, parts.contribution.columns}};
  if (Value result = op.getDw())
    sum.dw = e.result(cast<OpResult>(result).getResultNumber());
  bool isInHalves = x.element.isBF16() && !isForLibrary(op);
  if (op.splitsSum())
    sum.accumulator =
        e.workspace(parts.accumulator, sum.dw.size,
                    isInHalves ? IntegerType::get(op.getContext(), 16) : Type(e.computeType()));
  return sum;
}

//===----------------------------------------------------------------------===//
// Losses and their gradient
//===----------------------------------------------------------------------===//

/// Computes the losses of a chunk's tokens and, in place of the logits, their gradient.
class TokenLosses {
public:
  explicit TokenLosses(LossHead &head)
      : head(head), op(head.op), e(head.e), terms(LossTerms::of(op, head.vocabulary)),
        targets(e, e.operand(2), head.vocabulary, op.getIgnoreIndex(),
                e.operand(op.getCountMutable()), &head.ownTokens),
        dloss(e.operand(op.getDlossMutable())) {
    if (!head.ownTokens.isPart())
      return;
    ownLogSums = e.workspace(head.parts.ownLogSums, head.chunk(), e.computeType());
    logSums = e.workspace(head.parts.logSums, op.getGroupSize() * head.chunk(), e.computeType());
  }

  /// Begins the kernel, before all chunks.
  void begin();
  /// Makes the matmul that computes the logits from row `firstRow` of the chunk on also write
  /// `TileSoftmax`, where tensor cores do.
  void addTileSoftmax(Matmul &matmul, Index firstRow);
  void emitRows(Rows rows);
  void emitLoss();

private:
  TileSoftmax tileSoftmax(Index firstRow);
  /// Returns the factor of the gradient of a token's loss, among `count` tokens.
  Num weightOf(Num count) { return (dloss ? e.load(dloss, e.index(0)) : e.number(1.0)) / count; }
  Num ownLogSum(Index row);
  void shareLogSums(Rows chunk, RowShape shape);
  Num logSumOfRanks(Index row, int64_t rows);
  Num lossOf(Index token, Index row, Index column, Num logSum);
  void emitGradientRow(Index row, Index column, Num logSum, Num factor);

  LossHead &head;
  LossHeadOp op;
  KernelEmitter &e;
  LossTerms terms;
  LossTargets targets;
  Buffer dloss; // Null where it is 1.
  /// Exist only if the vocabulary is split.
  Buffer ownLogSums, logSums;
  /// Are known from the beginning on a CPU.
  std::optional<Num> count, tokenWeight;
  /// Says whether the matmul of the logits also wrote `TileSoftmax`.
  bool haveTileSoftmax = false;
};

/// On a GPU each block counts the targets itself, because no number may pass through the host.
void TokenLosses::begin() {
  if (head.isForDevice())
    return;
  count = targets.count();
  tokenWeight = weightOf(*count);
}

void TokenLosses::addTileSoftmax(Matmul &matmul, Index firstRow) {
  // Tiles ignore padding.
  haveTileSoftmax = makesTileSoftmax(e, matmul) && !head.ownTokens.isPadded();
  if (haveTileSoftmax)
    matmul.kind = LogitSum{.writableColumns = head.parts.pitch, .softmax = tileSoftmax(firstRow)};
}

/// Returns the partial softmax from a row of the chunk on.
TileSoftmax TokenLosses::tileSoftmax(Index firstRow) {
  int64_t tiles = logitsTiles(op), size = head.chunk() * tiles;
  return {e.workspace(head.parts.tileMaxima, size, e.computeType()),
          e.workspace(head.parts.tilePowers, size, e.computeType()), firstRow * tiles, tiles};
}

void TokenLosses::emitRows(Rows rows) {
  // The alignment of a row's vectors decides which elements a thread sums. It must not depend on
  // the chunk, which shifts the row by whole granules.
  bool isAlone = head.granule % static_cast<int64_t>(e.lanes()) == 0;
  RowShape shape{.width = head.vocabulary,
                 .pitch = head.parts.pitch,
                 .isAlone = isAlone,
                 .synchronizes = true};
  if (head.ownTokens.isPart())
    shareLogSums(rows, shape);
  forRows(e, rows.count, shape, [&](Index row) {
    Index token = rows.begin + row, column = targets.column(token);
    Num logSum = head.ownTokens.isPart() ? logSumOfRanks(row, rows.count) : ownLogSum(row);
    e.store(head.losses, token, lossOf(token, row, column, logSum));
    if (head.isForDevice())
      barrier(e); // All have read the target's logit.
    emitGradientRow(
        row, column, logSum,
        targets.ifCounted(token, tokenWeight ? *tokenWeight : weightOf(targets.count())));
  });
}

/// Returns that of the logits of this rank.
Num TokenLosses::ownLogSum(Index row) {
  if (haveTileSoftmax)
    return logSumExpOfTiles(e, tileSoftmax(e.index(0)), row);
  return logSumExp(e, head.logits, row * head.parts.pitch, head.vocabulary, &head.ownTokens);
}

/// The order is the same on all ranks, because all have the same chunks.
void TokenLosses::shareLogSums(Rows rows, RowShape shape) {
  forRows(e, rows.count, shape, [&](Index row) { e.store(ownLogSums, row, ownLogSum(row)); });
  CollectiveCall(op, e, op.getVocabulary()->getAxes())
      .pass(ownLogSums)
      .pass(logSums)
      .passGroup(rows.count, e.computeType())
      .emit("llmmem_all_gather");
}

/// Computes log sum exp of what the ranks have, in their order, as llm.log_sum_exp does.
Num TokenLosses::logSumOfRanks(Index row, int64_t rows) {
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
Num TokenLosses::lossOf(Index token, Index row, Index column, Num logSum) {
  Num hit = e.load(head.logits, row * head.parts.pitch + head.ownTokens.nearest(column));
  Num loss = terms.ofTarget(logSum, hit);
  if (head.ownTokens.isPart())
    loss = select(head.ownTokens.has(column), loss, e.number(0.0));
  loss = terms.withShares(loss, [&] {
    return sumOfLogits(e, head.logits, row * head.parts.pitch, head.vocabulary, &head.ownTokens);
  });
  return targets.ifCounted(token, loss);
}

void TokenLosses::emitGradientRow(Index row, Index column, Num logSum, Num factor) {
  const LossGradientRow of = {.logits = head.logits,
                              .dlogits = head.logits,
                              .begin = row * head.parts.pitch,
                              .width = head.vocabulary,
                              .column = column,
                              .logSum = logSum,
                              .factor = factor};
  head.ownTokens.isPart() ? emitLossGradientOfPart(e, head.ownTokens, of, terms)
                          : emitLossGradientRow(e, of, terms);
}

void TokenLosses::emitLoss() {
  if (head.isForDevice()) {
    deviceLoops(e).once(e, [&] {
      Num sum = deviceLoops(e).sumOfElements(e, head.tokens,
                                             [&](Index row) { return e.load(head.losses, row); });
      e.store(e.result(0), e.index(0), sum / targets.count());
    });
    return;
  }
  Row sum = fold(
      e, e.index(0), e.index(head.tokens), e.number(0.0),
      [&](Index row, ArrayRef<Num> sum) -> Row { return {sum[0] + e.load(head.losses, row)}; });
  e.store(e.result(0), e.index(0), sum[0] / *count);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

class LossHeadEmitter {
public:
  LossHeadEmitter(LossHeadOp op, KernelEmitter &e)
      : op(op), e(e), weight(e.operand(1)), head(op, e), sum(head.weightSum(), e), losses(head) {
    if (Value result = op.getDx())
      dx = e.result(cast<OpResult>(result).getResultNumber());
  }

  void emit();

private:
  int64_t columnsOfCall(const Matmul &matmul);
  void emitLogits(Index first, Rows part);
  void emitInputGradient(Index first, Rows part);

  LossHeadOp op;
  KernelEmitter &e;
  Buffer weight, dx; // The latter is null for an x that is a constant.
  LossHead head;
  WeightGradientSum sum;
  TokenLosses losses;
};
} // namespace

void LossHeadEmitter::emit() {
  losses.begin();
  sum.begin();
  forPieces(e, head.tokens, head.chunk(), [&](Rows rows) {
    auto forRowsOfChunk = [&](void (LossHeadEmitter::*work)(Index, Rows)) {
      if (multipliesChunks(e, head.x.element))
        return (this->*work)(rows.begin, {e.index(0), rows.count});
      forPieces(e, rows.count, head.granule, [&](Rows part) { (this->*work)(rows.begin, part); });
    };
    forRowsOfChunk(&LossHeadEmitter::emitLogits);
    losses.emitRows(rows);
    sum.add(rows);
    // This is last, because dx may be in place of x.
    if (dx)
      forRowsOfChunk(&LossHeadEmitter::emitInputGradient);
  });
  sum.finish();
  losses.emitLoss();
}

/// Returns the columns of the vocabulary, without those that a library multiplies by a call of its
/// own.
int64_t LossHeadEmitter::columnsOfCall(const Matmul &matmul) {
  return isLibraryMatmul(e, matmul) ? op.getLibraryColumns() : head.vocabulary;
}

void LossHeadEmitter::emitLogits(Index first, Rows part) {
  Matmul matmul{.a = {head.x, head.width, false, (first + part.begin) * head.width},
                .b = {weight, head.isOutIn() ? head.width : head.vocabulary, head.isOutIn()},
                .c = {head.logits, head.parts.pitch, false, part.begin * head.parts.pitch},
                .rows = part.count,
                .columns = head.vocabulary,
                .inner = head.width,
                .chosen = {.ofTiles = std::min(head.granule, head.tokens),
                           .ofInstructions = std::min(head.granule, head.tokens)},
                .kind = LogitSum{.writableColumns = head.parts.pitch}};
  losses.addTileSoftmax(matmul, part.begin);
  matmul.columns = columnsOfCall(matmul);
  emitMatmul(op, e, matmul);
  if (int64_t done = matmul.columns; done < head.vocabulary) {
    matmul.b.begin = e.index(done * head.width);
    matmul.c.begin = *matmul.c.begin + done;
    matmul.columns = head.vocabulary - done;
    emitMatmul(op, e, matmul);
  }
}

void LossHeadEmitter::emitInputGradient(Index first, Rows part) {
  Matmul matmul{.a = {head.logits, head.parts.pitch, false, part.begin * head.parts.pitch},
                .b = {weight, head.isOutIn() ? head.width : head.vocabulary, !head.isOutIn()},
                .c = {dx, head.width, false, (first + part.begin) * head.width},
                .rows = part.count,
                .columns = head.width,
                .inner = head.vocabulary,
                .chosen = {.ofInstructions = std::min(head.granule, head.tokens)}};
  if (int64_t most = columnsOfCall(matmul); most < head.vocabulary) {
    Matmul rest = matmul;
    rest.a.begin = *rest.a.begin + most;
    rest.b.begin = e.index(most * head.width);
    rest.inner = head.vocabulary - most;
    emitMatmul(op, e, rest);
    // Most terms come last: of the two roundings of dx that of few terms is the smaller one.
    matmul.inner = most;
    matmul.kind = PlainSum{.initial = matmul.c};
  }
  emitMatmul(op, e, matmul);
}

namespace {
struct LossHeadKernel : KernelModel<LossHeadKernel, LossHeadOp> {
  static void emit(LossHeadOp op, KernelEmitter &e) { LossHeadEmitter(op, e).emit(); }
};
} // namespace

void llmmem::attachLossHeadKernel(MLIRContext *context) { attachKernels<LossHeadKernel>(context); }
