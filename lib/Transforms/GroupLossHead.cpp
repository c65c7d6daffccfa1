//===- GroupLossHead.cpp - The loss and its gradients as one op ------------===//

#include "llmmem/Transforms/GroupLossHead.h"
#include "llmmem/Dialect/LlmOps.h"
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
/// The ops that one loss head stands for.
struct LossHeadPattern {
  LinearOp logits;
  CrossEntropyOp loss;
  CrossEntropyGradOp dlogits;
  LinearWeightGradOp dw;
  LinearOp dx;

  static std::optional<LossHeadPattern> match(CrossEntropyOp loss);
  /// The first of the gradients: what reads them stands behind it.
  Operation *firstGradient() { return dw->isBeforeInBlock(dx) ? dw : dx.getOperation(); }
  bool mayMove();
  void group(int64_t granule);
  /// What stands before the gradients and reads the loss, or what was computed from it, in order:
  /// the sum over ranks. It moves behind the head.
  SmallVector<Operation *> earlyReaders;
};
} // namespace

/// The only op but `other` that reads `value`, if it is an `OpTy`.
template <typename OpTy>
static OpTy onlyOtherReader(Value value, Operation *other = nullptr) {
  OpTy found;
  for (Operation *user : value.getUsers()) {
    if (user == other)
      continue;
    auto typed = dyn_cast<OpTy>(user);
    if (!typed || found)
      return nullptr;
    found = typed;
  }
  return found;
}

static bool isFilledWithOne(Value value) {
  auto fill = value.getDefiningOp<FillOp>();
  return fill && fill.getValue().isExactlyValue(1.0);
}

std::optional<LossHeadPattern> LossHeadPattern::match(CrossEntropyOp loss) {
  LossHeadPattern p;
  p.loss = loss;
  p.logits = loss.getLogits().getDefiningOp<LinearOp>();
  p.dlogits = onlyOtherReader<CrossEntropyGradOp>(loss.getLse());
  if (!p.logits || p.logits.getBias() || !p.dlogits || p.dlogits.getLogits() != loss.getLogits() ||
      p.dlogits.getTargets() != loss.getTargets() ||
      p.dlogits.getIgnoreIndex() != loss.getIgnoreIndex() ||
      p.dlogits.getCount() != loss.getCount() || !isFilledWithOne(p.dlogits.getDloss()) ||
      onlyOtherReader<CrossEntropyGradOp>(loss.getLogits(), loss) != p.dlogits)
    return std::nullopt;
  for (Operation *user : p.dlogits.getDlogits().getUsers()) {
    auto dw = dyn_cast<LinearWeightGradOp>(user);
    auto dx = dyn_cast<LinearOp>(user);
    if ((!dw || p.dw) && (!dx || p.dx))
      return std::nullopt;
    p.dw = dw ? dw : p.dw;
    p.dx = dx ? dx : p.dx;
  }
  Value dlogits = p.dlogits.getDlogits();
  if (!p.dw || !p.dx || p.dw.getX() != p.logits.getX() || p.dw.getDy() != dlogits ||
      p.dw.getLayout() != p.logits.getLayout() || p.dx.getX() != dlogits || p.dx.getBias() ||
      p.dx.getWeight() != p.logits.getWeight() || p.dx.getLayout() == p.logits.getLayout() ||
      !p.mayMove())
    return std::nullopt;
  return p;
}

/// Whether everything can happen where the first gradient does: the accumulator is there by then,
/// and what has read the loss can wait. That the weight still holds its old bytes there, both
/// gradients rely on already.
bool LossHeadPattern::mayMove() {
  Operation *place = firstGradient();
  Operation *into = dw.getInto() ? dw.getInto().getDefiningOp() : nullptr;
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
  bool mayWait = addReaders(loss.getLoss());
  for (size_t i = 0; mayWait && i < waiting.size(); ++i)
    mayWait = isMemoryEffectFree(waiting[i]) && waiting[i] != into &&
              llvm::all_of(waiting[i]->getResults(), addReaders);
  earlyReaders = waiting.takeVector();
  llvm::sort(earlyReaders, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return mayWait;
}

void LossHeadPattern::group(int64_t granule) {
  OpBuilder builder(firstGradient());
  int64_t tokens = loss.getTargets().getType().getNumElements();
  auto head = LossHeadOp::create(builder, builder.getFusedLoc({logits.getLoc(), loss.getLoc()}),
                                 loss.getLoss().getType(), dx.getY().getType(),
                                 dw.getDw().getType(), logits.getX(), logits.getWeight(),
                                 loss.getTargets(), dw.getInto(), loss.getCount(),
                                 logits.getLayout(), tokens, granule, loss.getIgnoreIndex());
  for (StringRef name : {LlmDialect::kPhase, LlmDialect::kBlock, LlmDialect::kMicroBatch})
    if (Attribute attribute = dlogits->getAttr(name))
      head->setAttr(name, attribute);
  if (Attribute name = loss->getAttr(LlmDialect::kName))
    head->setAttr(LlmDialect::kName, name);
  SmallVector<Attribute> names;
  for (Operation *op : {loss.getOperation(), dx.getOperation(), dw.getOperation()})
    if (auto name = op->getAttrOfType<StringAttr>(LlmDialect::kName))
      names.push_back(name);
  if (names.size() == head->getNumResults())
    head->setAttr(LlmDialect::kResultNames, builder.getArrayAttr(names));
  loss.getLoss().replaceAllUsesWith(head.getLoss());
  dx.getY().replaceAllUsesWith(head.getDx());
  dw.getDw().replaceAllUsesWith(head.getDw());
  Operation *last = head;
  for (Operation *reader : earlyReaders) {
    reader->moveAfter(last);
    last = reader;
    if (Attribute phase = head->getAttr(LlmDialect::kPhase))
      reader->setAttr(LlmDialect::kPhase, phase);
  }
  Operation *one = dlogits.getDloss().getDefiningOp();
  for (Operation *op : {dx.getOperation(), dw.getOperation(), dlogits.getOperation(),
                        loss.getOperation(), logits.getOperation()})
    op->erase();
  if (one->use_empty())
    one->erase();
}

LossHeads llmmem::groupLossHeads(func::FuncOp step, int64_t granule) {
  LossHeads heads;
  for (CrossEntropyOp loss : llvm::to_vector(step.getOps<CrossEntropyOp>())) {
    std::optional<LossHeadPattern> pattern = LossHeadPattern::match(loss);
    if (pattern)
      pattern->group(granule);
    ++(pattern ? heads.grouped : heads.left);
  }
  return heads;
}

namespace {
/// Works on any function: the pattern says itself where it is a step.
struct GroupLossHeadPass : llmmem::impl::GroupLossHeadBase<GroupLossHeadPass> {
  using Base::Base;
  void runOnOperation() override {
    if (granule < 1) {
      getOperation().emitError() << "granule is " << granule.getValue()
                                 << ", expected at least 1 token";
      return signalPassFailure();
    }
    LossHeads heads = groupLossHeads(getOperation(), granule);
    numGrouped += heads.grouped;
    numLeft += heads.left;
    if (heads.grouped == 0)
      markAllAnalysesPreserved();
  }
};
} // namespace
