//===- GroupLossHead.cpp - The loss and its gradients as one op ------------===//

#include "llmmem/Transforms/GroupLossHead.h"
#include "KernelGroup.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Transforms/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace llmmem {
#define GEN_PASS_DEF_GROUPLOSSHEAD
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {
/// Holds a loss of logits: llm.cross_entropy or, over a split vocabulary, llm.target_loss and the
/// ops that make its lse from what the ranks have.
struct LossOps {
  Operation *op = nullptr;
  Value logits, targets, count, loss, lse;
  uint64_t ignoreIndex = 0;
  FloatAttr labelSmoothing, zLoss;
  VocabularyAttr vocabulary;
  SmallVector<Operation *> ofLse; // each reads the one before

  static std::optional<LossOps> match(Operation *op);
  CrossEntropyGradOp findGradient() const;

private:
  template <typename LossOp>
  void read(LossOp from);
  bool findLse();
};

/// Holds the ops that one loss head stands for.
struct LossHeadPattern {
  LinearOp logits;
  LossOps loss;
  CrossEntropyGradOp dlogits;
  LinearWeightGradOp dw; // null of a frozen weight
  LinearOp dx;           // null of an x that no trained parameter reaches

  static std::optional<LossHeadPattern> match(LossOps loss);
  /// Returns the first of the gradients; what reads them comes after it.
  Operation *firstGradient();
  bool mayMove();
  bool areGradients();
  void group(int64_t granule);
  LossHeadOp createHead(int64_t granule);
  /// Holds in order what comes before the gradients and reads the loss, or what was computed from
  /// it: the sum over ranks. It moves after the head.
  SmallVector<Operation *> earlyReaders;
};
} // namespace

//===----------------------------------------------------------------------===//
// The loss
//===----------------------------------------------------------------------===//

/// Returns the only op except `others` that reads `value`, if it is an `OpTy`.
template <typename OpTy>
static OpTy onlyOtherReader(Value value, ArrayRef<Operation *> others) {
  OpTy found;
  for (Operation *user : value.getUsers()) {
    if (llvm::is_contained(others, user))
      continue;
    auto typed = dyn_cast<OpTy>(user);
    if (!typed || found)
      return nullptr;
    found = typed;
  }
  return found;
}

template <typename LossOp>
void LossOps::read(LossOp from) {
  op = from;
  logits = from.getLogits(), targets = from.getTargets(), count = from.getCount();
  loss = from.getLoss(), lse = from.getLse();
  ignoreIndex = from.getIgnoreIndex();
  labelSmoothing = from.getLabelSmoothingAttr(), zLoss = from.getZLossAttr();
}

/// Returns whether lse is made as llm.log_sum_exp joins what ranks have, and no other op reads
/// that.
bool LossOps::findLse() {
  auto joined = lse.getDefiningOp<LogSumExpOp>();
  auto gather = joined ? joined.getX().getDefiningOp<AllGatherOp>() : AllGatherOp();
  auto reshape = gather ? gather.getX().getDefiningOp<ReshapeOp>() : ReshapeOp();
  auto own = reshape ? reshape.getX().getDefiningOp<LogSumExpOp>() : LogSumExpOp();
  if (!own || joined.getVocabulary() || own.getX() != logits ||
      own.getVocabularyAttr() != vocabulary || gather.getAxes() != vocabulary.getAxes())
    return false;
  ArrayRef<int64_t> parts = gather.getX().getType().getShape();
  ofLse = {own, reshape, gather, joined};
  return parts.back() == 1 && gather.getDimension() + 1 == parts.size() && own->hasOneUse() &&
         reshape->hasOneUse() && gather->hasOneUse();
}

std::optional<LossOps> LossOps::match(Operation *op) {
  LossOps found;
  if (auto loss = dyn_cast<CrossEntropyOp>(op)) {
    found.read(loss);
    return found;
  }
  auto loss = dyn_cast<TargetLossOp>(op);
  if (!loss || !loss.getVocabulary())
    return std::nullopt;
  found.read(loss);
  found.vocabulary = loss.getVocabularyAttr();
  return found.findLse() ? std::optional(found) : std::nullopt;
}

static bool isFilledWithOne(Value value) {
  auto fill = value.getDefiningOp<FillOp>();
  return fill && fill.getValue().isExactlyValue(1.0);
}

/// Returns whether it is 1, or the scale of a loss, which is there from the beginning.
static bool isGradientOfLoss(Value value) {
  return isFilledWithOne(value) || isa<BlockArgument>(value);
}

/// Returns the gradient of the logits where it is that of the loss itself and no other op reads
/// them.
CrossEntropyGradOp LossOps::findGradient() const {
  SmallVector<Operation *> own(ofLse);
  own.push_back(op);
  auto gradient = onlyOtherReader<CrossEntropyGradOp>(lse, own);
  if (!gradient || gradient.getLogits() != logits || gradient.getTargets() != targets ||
      gradient.getLabelSmoothingAttr() != labelSmoothing || gradient.getZLossAttr() != zLoss ||
      gradient.getIgnoreIndex() != ignoreIndex || gradient.getCount() != count ||
      gradient.getVocabularyAttr() != vocabulary || !isGradientOfLoss(gradient.getDloss()) ||
      onlyOtherReader<CrossEntropyGradOp>(logits, own) != gradient)
    return nullptr;
  return gradient;
}

//===----------------------------------------------------------------------===//
// The projection and its gradients
//===----------------------------------------------------------------------===//

std::optional<LossHeadPattern> LossHeadPattern::match(LossOps loss) {
  LossHeadPattern p;
  p.logits = loss.logits.getDefiningOp<LinearOp>();
  p.dlogits = loss.findGradient();
  p.loss = std::move(loss);
  if (!p.logits || p.logits.getBias() || p.logits.getScales() || !p.dlogits)
    return std::nullopt;
  for (Operation *user : p.dlogits.getDlogits().getUsers()) {
    auto dw = dyn_cast<LinearWeightGradOp>(user);
    auto dx = dyn_cast<LinearOp>(user);
    if ((!dw || p.dw) && (!dx || p.dx))
      return std::nullopt;
    p.dw = dw ? dw : p.dw;
    p.dx = dx ? dx : p.dx;
  }
  return p.areGradients() && p.mayMove() ? std::optional(p) : std::nullopt;
}

/// Returns whether the gradients that there are belong to the projection.
bool LossHeadPattern::areGradients() {
  Value gradient = dlogits.getDlogits();
  if (dw && (dw.getX() != logits.getX() || dw.getDy() != gradient ||
             dw.getLayout() != logits.getLayout()))
    return false;
  if (dx && (dx.getX() != gradient || dx.getBias() || dx.getWeight() != logits.getWeight() ||
             dx.getLayout() == logits.getLayout()))
    return false;
  return dw || dx;
}

Operation *LossHeadPattern::firstGradient() {
  return !dx || (dw && dw->isBeforeInBlock(dx)) ? dw.getOperation() : dx.getOperation();
}

/// Returns whether everything can happen where the first gradient does: the accumulator is there by
/// then, and what has read the loss can wait. Both gradients rely already on the weight still
/// holding its old bytes there.
bool LossHeadPattern::mayMove() {
  Operation *place = firstGradient();
  Value accumulator = dw ? dw.getInto() : Value();
  Operation *into = accumulator ? accumulator.getDefiningOp() : nullptr;
  if (into && !into->isBeforeInBlock(place))
    return false;
  llvm::SetVector<Operation *> waiting;
  auto addReaders = [&](Value value) {
    for (Operation *user : value.getUsers()) {
      if (user->getBlock() != place->getBlock())
        return false;
      if (user->isBeforeInBlock(place))
        waiting.insert(user);
    }
    return true;
  };
  bool mayWait = addReaders(loss.loss);
  for (size_t i = 0; mayWait && i < waiting.size(); ++i)
    mayWait = isMemoryEffectFree(waiting[i]) && waiting[i] != into &&
              llvm::all_of(waiting[i]->getResults(), addReaders);
  earlyReaders = waiting.takeVector();
  llvm::sort(earlyReaders, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return mayWait;
}

/// Creates the head with the results that there are, where the first gradient stands.
LossHeadOp LossHeadPattern::createHead(int64_t granule) {
  OpBuilder builder(firstGradient());
  int64_t tokens = cast<RankedTensorType>(loss.targets.getType()).getNumElements();
  SmallVector<Type> gradients;
  if (dx)
    gradients.push_back(dx.getY().getType());
  if (dw)
    gradients.push_back(dw.getDw().getType());
  return LossHeadOp::create(
      builder, builder.getFusedLoc({logits.getLoc(), loss.op->getLoc()}), loss.loss.getType(),
      gradients, logits.getX(), logits.getWeight(), loss.targets, dw ? dw.getInto() : Value(),
      loss.count, isFilledWithOne(dlogits.getDloss()) ? Value() : dlogits.getDloss(),
      logits.getLayout(), tokens, granule, loss.ignoreIndex, loss.vocabulary,
      loss.labelSmoothing.getValue(), loss.zLoss.getValue(), /*constant_x=*/!dx);
}

void LossHeadPattern::group(int64_t granule) {
  LossHeadOp head = createHead(granule);
  OpBuilder builder(head);
  putWith(head, dlogits);
  if (Attribute name = loss.op->getAttr(LlmDialect::kName))
    head->setAttr(LlmDialect::kName, name);
  SmallVector<Attribute> names;
  SmallVector<Operation *> grouped = {loss.op};
  for (Operation *gradient : {dx.getOperation(), dw.getOperation()})
    if (gradient)
      grouped.push_back(gradient);
  for (Operation *op : grouped)
    if (auto name = op->getAttrOfType<StringAttr>(LlmDialect::kName))
      names.push_back(name);
  if (names.size() == head->getNumResults())
    head->setAttr(LlmDialect::kResultNames, builder.getArrayAttr(names));
  loss.loss.replaceAllUsesWith(head.getLoss());
  if (dx)
    dx.getY().replaceAllUsesWith(head.getDx());
  if (dw)
    dw.getDw().replaceAllUsesWith(head.getDw());
  Operation *last = head;
  for (Operation *reader : earlyReaders) {
    reader->moveAfter(last);
    last = reader;
    if (Attribute phase = head->getAttr(LlmDialect::kPhase))
      reader->setAttr(LlmDialect::kPhase, phase);
  }
  Operation *one = dlogits.getDloss().getDefiningOp(); // null where it is a scale
  for (Operation *op : ArrayRef(grouped).drop_front())
    op->erase();
  dlogits->erase();
  loss.op->erase();
  for (Operation *op : llvm::reverse(loss.ofLse))
    op->erase();
  logits->erase();
  if (one && one->use_empty())
    one->erase();
}

LossHeads llmmem::groupLossHeads(func::FuncOp step, int64_t granule) {
  LossHeads heads;
  SmallVector<Operation *> losses;
  for (Operation &op : step.getBody().getOps())
    if (isa<CrossEntropyOp, TargetLossOp>(op))
      losses.push_back(&op);
  for (Operation *op : losses) {
    std::optional<LossOps> loss = LossOps::match(op);
    std::optional<LossHeadPattern> pattern =
        loss ? LossHeadPattern::match(std::move(*loss)) : std::nullopt;
    if (pattern)
      pattern->group(granule);
    ++(pattern ? heads.grouped : heads.left);
  }
  return heads;
}

namespace {
/// The pass works on any function: the pattern itself says where it is a step.
struct GroupLossHeadPass : llmmem::impl::GroupLossHeadBase<GroupLossHeadPass> {
  using Base::Base;
  void runOnOperation() override {
    if (granule < 1) {
      getOperation().emitError() << "granule is " << granule.getValue()
                                 << ", expected at least 1 token";
      return signalPassFailure();
    }
    if (failed(checkSizes(getOperation(), SizeLimit::BytesOfEach)))
      return signalPassFailure();
    LossHeads heads = groupLossHeads(getOperation(), granule);
    numGrouped += heads.grouped;
    numLeft += heads.left;
    if (heads.grouped == 0)
      markAllAnalysesPreserved();
  }
};
} // namespace
