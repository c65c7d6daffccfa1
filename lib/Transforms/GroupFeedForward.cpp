//===- GroupFeedForward.cpp - Feed-forwards that run in chunks of tokens ---===//

#include "llmmem/Transforms/GroupFeedForward.h"
#include "KernelGroup.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/TiledOps.h"
#include "llmmem/Support/Count.h"
#include "llmmem/Transforms/StepPass.h"
#include "llmmem/Transforms/TiledPasses.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace llmmem {
#define GEN_PASS_DEF_GROUPFEEDFORWARD
#include "llmmem/Transforms/TiledPasses.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

using Ops = llvm::SmallSetVector<Operation *, 16>;

static int64_t widthOf(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  return type && type.getRank() > 0 ? type.getShape().back() : 0;
}

static SmallVector<Operation *> inOrder(const Ops &ops) {
  SmallVector<Operation *> sorted(ops.begin(), ops.end());
  llvm::sort(sorted, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return sorted;
}

//===----------------------------------------------------------------------===//
// One group
//===----------------------------------------------------------------------===//

namespace {
/// Holds ops that become one llm.tiled, and ops of another group that it recomputes.
class TiledGroup {
public:
  explicit TiledGroup(const Ops &members, const Ops &repeated = Ops())
      : members(inOrder(members)), repeated(inOrder(repeated)) {}

  bool findPlace();
  void make(const ChunkRequest &chunk, int64_t granule);

private:
  bool isInside(Operation *op) const {
    return op && (llvm::is_contained(members, op) || llvm::is_contained(repeated, op));
  }
  SmallVector<Value> inputs() const;
  SmallVector<Value> outputs() const;
  bool hoist(Value input, Operation *place, Ops &moved) const;
  void annotate(llm::TiledOp tiled, ArrayRef<Value> outputs) const;

  SmallVector<Operation *> members, repeated;
  Operation *place = nullptr; // The group stands before it, or is it.
  SmallVector<Operation *> hoisted;
};
} // namespace

SmallVector<Value> TiledGroup::inputs() const {
  llvm::SetVector<Value> values;
  for (Operation *op : llvm::concat<Operation *const>(repeated, members))
    for (Value operand : op->getOperands())
      if (!isInside(operand.getDefiningOp()))
        values.insert(operand);
  return values.takeVector();
}

SmallVector<Value> TiledGroup::outputs() const {
  SmallVector<Value> values;
  for (Operation *op : members)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !isInside(user); }))
        values.push_back(result);
  return values;
}

/// Adds to `moved` what has to move before `at` so that `input` is there; returns whether it can.
bool TiledGroup::hoist(Value input, Operation *at, Ops &moved) const {
  Operation *source = input.getDefiningOp();
  if (!source || source->isBeforeInBlock(at) || moved.contains(source))
    return true;
  if (isInside(source) || !isPure(source) || !standTogether(source, members.front()))
    return false;
  for (Value operand : source->getOperands())
    if (!hoist(operand, at, moved))
      return false;
  moved.insert(source);
  return true;
}

/// All that the group reads is there before its first op, or can be: further down, an update may
/// already have overwritten a parameter. In the forward nothing is updated, and the group may also
/// stand where its last op is (where weights are gathered one by one).
bool TiledGroup::findPlace() {
  if (members.empty())
    return false;
  Ops moved;
  place = members.front();
  if (llvm::all_of(inputs(), [&](Value input) { return hoist(input, place, moved); })) {
    hoisted = inOrder(moved);
    return true;
  }
  place = members.back();
  return getPhase(place) == planning::Phase::Forward && llvm::all_of(outputs(), [&](Value output) {
           return llvm::all_of(output.getUsers(), [&](Operation *user) {
             return isInside(user) || place->isBeforeInBlock(user);
           });
         });
}

void TiledGroup::annotate(llm::TiledOp tiled, ArrayRef<Value> outputs) const {
  putWith(tiled, members.back());
  SmallVector<Attribute> names;
  for (Value output : outputs)
    if (auto name = output.getDefiningOp()->getAttrOfType<StringAttr>(LlmDialect::kName))
      names.push_back(name);
  if (names.size() != outputs.size())
    return;
  tiled->setAttr(LlmDialect::kName, names.front());
  if (names.size() > 1)
    tiled->setAttr(LlmDialect::kResultNames, ArrayAttr::get(tiled->getContext(), names));
}

/// Returns the chunk that is asked for: whole accumulation tiles, or all rows.
static int64_t chunkOf(const ChunkRequest &request, int64_t rows, int64_t granule) {
  if (request.kind != ChunkRequest::Kind::Rows || request.rows >= rows)
    return rows;
  return std::min<int64_t>(rows, alignTo(Count(request.rows), Count(granule)));
}

void TiledGroup::make(const ChunkRequest &chunk, int64_t granule) {
  for (Operation *op : hoisted)
    op->moveBefore(place);
  SmallVector<Value> read = inputs(), given = outputs();
  OpBuilder builder(place);
  SmallVector<Location> locations;
  for (Operation *op : members)
    locations.push_back(op->getLoc());
  int64_t rows = 0;
  for (Operation *op : llvm::concat<Operation *const>(repeated, members))
    if (auto linear = dyn_cast<llm::LinearOp>(op); linear && rows == 0)
      rows = llm::rowsOf(linear.getX().getType());
  auto tiled = llm::TiledOp::create(
      builder, builder.getFusedLoc(locations), ValueRange(given).getTypes(), read,
      chunkOf(chunk, rows, granule), granule, chunk.kind != ChunkRequest::Kind::Auto);
  Block &body = tiled.getBody().emplaceBlock();
  IRMapping inside;
  for (Value input : read)
    inside.map(input, body.addArgument(input.getType(), input.getLoc()));
  OpBuilder within = OpBuilder::atBlockEnd(&body);
  for (Operation *op : llvm::concat<Operation *const>(repeated, members))
    within.clone(*op, inside)->setDiscardableAttrs(DictionaryAttr::get(op->getContext()));
  SmallVector<Value> yielded;
  for (Value output : given)
    yielded.push_back(inside.lookup(output));
  llm::TiledYieldOp::create(within, tiled.getLoc(), yielded);
  annotate(tiled, given);
  for (auto [output, result] : llvm::zip_equal(given, tiled.getOutputs()))
    output.replaceUsesWithIf(result, [&](OpOperand &use) { return !isInside(use.getOwner()); });
}

//===----------------------------------------------------------------------===//
// A feed-forward and its gradients
//===----------------------------------------------------------------------===//

namespace {
/// Finds what belongs to the feed-forward that ends in `down`.
class FeedForward {
public:
  explicit FeedForward(llm::LinearOp down) : down(down) {}

  bool match();
  bool group(const ChunkRequest &chunk, int64_t granule,
             llvm::SmallPtrSetImpl<Operation *> &erased);

private:
  bool belongs(Operation *op) const { return op && llm::canBeTiled(op) && standTogether(op, down); }
  bool isOfGradients(Operation *op) const {
    return op && llm::canBeTiled(op) &&
           op->getAttr(LlmDialect::kBlock) == down->getAttr(LlmDialect::kBlock) &&
           op->getAttr(LlmDialect::kMicroBatch) == down->getAttr(LlmDialect::kMicroBatch) &&
           getPhase(op) != getPhase(down);
  }
  void addProducers(Value value);
  bool addOtherProducts();
  bool addReaders(Operation *op);
  bool addProducersOf(Operation *gradient);
  bool findGradients();

  llm::LinearOp down;
  Ops inner;          // What makes the wide values.
  Ops ends;           // Products that read them: `down`, and others.
  Ops gradients;      // What reads them in the backward, and makes and reads their gradients.
  Ops innerGradients; // The products among them that make the gradient of a wide value.
};
} // namespace

void FeedForward::addProducers(Value value) {
  Operation *source = value.getDefiningOp();
  if (!belongs(source) || llm::isSumOverRows(source) || !inner.insert(source) ||
      !llm::isElementwise(source))
    return;
  for (OpOperand &operand : source->getOpOperands())
    if (llm::readsRows(operand))
      addProducers(operand.get());
}

/// Adds the products of the forward that read a wide value next to `down`, as those of an adapter.
bool FeedForward::addOtherProducts() {
  for (Operation *op : inner)
    for (Operation *user : op->getUsers()) {
      if (inner.contains(user) || ends.contains(user) || getPhase(user) != getPhase(down))
        continue;
      if (!belongs(user) || !isa<llm::LinearOp>(user))
        return false;
      ends.insert(user);
    }
  return true;
}

/// Adds to the gradients what reads a wide value, or the gradient of one.
bool FeedForward::addReaders(Operation *op) {
  for (Operation *user : op->getUsers()) {
    if (inner.contains(user) || ends.contains(user) || gradients.contains(user))
      continue;
    if (!isOfGradients(user))
      return false;
    gradients.insert(user);
  }
  return true;
}

/// Adds products and elementwise ops whose every reader is among the gradients; returns whether
/// there was one.
bool FeedForward::addProducersOf(Operation *gradient) {
  bool changed = false;
  for (OpOperand &operand : gradient->getOpOperands()) {
    Operation *source = operand.get().getDefiningOp();
    if (!llm::readsRows(operand) || !isOfGradients(source) || llm::isSumOverRows(source) ||
        gradients.contains(source))
      continue;
    // The gradient of y is an operand: it is no wider than y.
    bool isWide = widthOf(operand.get()) > widthOf(down.getY());
    if (!isWide || !llvm::all_of(source->getUsers(),
                                 [&](Operation *user) { return gradients.contains(user); }))
      continue;
    gradients.insert(source);
    if (isa<llm::LinearOp>(source))
      innerGradients.insert(source);
    changed = true;
  }
  return changed;
}

/// Goes on until nothing is added: from wide values to their readers, from these to the gradients
/// of wide values, and to the readers of those.
bool FeedForward::findGradients() {
  for (Operation *op : inner)
    if (!addReaders(op))
      return false;
  for (bool changed = true; changed;) {
    changed = false;
    SmallVector<Operation *> known(gradients.begin(), gradients.end());
    for (Operation *op : known) {
      const bool isLast =
          llm::isSumOverRows(op) || (isa<llm::LinearOp>(op) && !innerGradients.contains(op));
      const size_t before = gradients.size();
      const bool isWide = !isLast && widthOf(op->getResult(0)) > widthOf(down.getY());
      if (isWide && !addReaders(op))
        return false;
      // The sum of what two products give for one x.
      for (Operation *user : op->getUsers()) {
        bool sumsUp =
            isa<llm::AddOp>(user) && isOfGradients(user) &&
            llvm::all_of(user->getOperands(), [&](Value operand) {
              return operand.getDefiningOp() && gradients.contains(operand.getDefiningOp());
            });
        if (sumsUp)
          gradients.insert(user);
      }
      changed |= addProducersOf(op) || gradients.size() > before;
    }
  }
  return true;
}

bool FeedForward::match() {
  if (!llm::canBeTiled(down))
    return false;
  ends.insert(down);
  addProducers(down.getX());
  const bool widens = llvm::any_of(inner, [&](Operation *op) {
    return isa<llm::LinearOp>(op) && widthOf(op->getResult(0)) > widthOf(down.getY());
  });
  return widens && addOtherProducts() && findGradients();
}

/// The gradients come first: they recompute the wide values from what is still there.
bool FeedForward::group(const ChunkRequest &chunk, int64_t granule,
                        llvm::SmallPtrSetImpl<Operation *> &erased) {
  Ops forward = inner;
  forward.insert_range(ends);
  TiledGroup first(forward), second(gradients, inner);
  const bool hasGradients = !gradients.empty();
  if (!first.findPlace() || (hasGradients && !second.findPlace()))
    return false;
  auto erase = [&](const Ops &ops) {
    SmallVector<Operation *> sorted = inOrder(ops);
    for (Operation *op : llvm::reverse(sorted)) {
      erased.insert(op);
      op->erase();
    }
  };
  if (hasGradients)
    second.make(chunk, granule);
  erase(gradients);
  first.make(chunk, granule);
  erase(forward);
  return true;
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

int64_t llmmem::groupFeedForwards(func::FuncOp step, const ChunkRequest &chunk, int64_t granule) {
  int64_t grouped = 0;
  Block &block = step.getBody().front();
  llvm::SmallPtrSet<Operation *, 32> erased;
  for (llm::LinearOp product : llvm::to_vector(block.getOps<llm::LinearOp>())) {
    if (erased.contains(product) || getPhase(product) == planning::Phase::Backward)
      continue;
    FeedForward found(product);
    if (found.match() && found.group(chunk, granule, erased))
      ++grouped;
  }
  return grouped;
}

/// Warns of what is asked for and has no effect.
static void warnOfNoEffect(func::FuncOp step, const ChunkRequest &request, int64_t grouped) {
  const bool hasForward = llvm::any_of(
      step.getOps(), [](Operation &op) { return getPhase(&op) == planning::Phase::Forward; });
  if (grouped == 0 && hasForward)
    emitWarning(step.getLoc())
        << "feed-forwards are to run in chunks of tokens (--mlp-chunk), and @" << step.getName()
        << " has none that can: mixtures of experts, weights in fewer bits, gate and up in one "
           "weight, and dropout inside of a feed-forward stay as they are "
           "(docs/Design/Architecture.md)";
  for (llm::TiledOp tiled : step.getOps<llm::TiledOp>())
    if (request.kind == ChunkRequest::Kind::Rows && request.rows > tiled.getNumRows()) {
      emitWarning(tiled.getLoc()) << "a chunk of " << request.rows
                                  << " tokens is asked for (--mlp-chunk), and " << tiled->getName()
                                  << " has " << tiled.getNumRows()
                                  << ": it runs whole, which --mlp-chunk=whole says, too";
      return;
    }
}

namespace {
struct GroupFeedForwardPass : StepPass<llmmem::impl::GroupFeedForwardBase<GroupFeedForwardPass>> {
  using StepPass::StepPass;
  LogicalResult runOnStep(func::FuncOp step) override {
    if (granule < 1)
      return step.emitError() << "granule is " << granule.getValue()
                              << ", expected at least 1 token";
    llvm::Expected<ChunkRequest> request = parseChunkRequest(chunk);
    if (!request)
      return step.emitError() << "chunk: " << llvm::toString(request.takeError());
    const int64_t grouped = groupFeedForwards(step, *request, granule);
    numGrouped += grouped;
    warnOfNoEffect(step, *request, grouped);
    if (grouped == 0)
      markAllAnalysesPreserved();
    return success();
  }
};
} // namespace
