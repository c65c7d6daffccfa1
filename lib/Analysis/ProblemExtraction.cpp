//===- ProblemExtraction.cpp - From a step to what the planner is asked ----===//

#include "llmmem/Analysis/ProblemExtraction.h"
#include "OverwriteGuards.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Analysis/StateCopies.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/EmptyOpInterface.h"
#include "llmmem/Layout/Barriers.h"
#include "llmmem/Layout/InPlace.h"
#include "llmmem/Layout/ResidentBytes.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace llmmem;
using planning::OpIndex;
using planning::ValueIndex;

namespace {
class Extraction {
public:
  Extraction(func::FuncOp step, const StepStorage &storage, const DeviceModel &device,
             ExtractionOptions options)
      : step(step), body(step.getBody().front()), storage(storage), device(device),
        options(options) {}

  LogicalResult run(ExtractedProblem &result);

private:
  LogicalResult addArguments();
  LogicalResult addConstant(Operation &op);
  LogicalResult addOp(Operation &op);
  LogicalResult addResults(Operation &op, planning::Op &entry);
  void addReads(Operation &op, planning::Op &entry);
  void addInPlace(Operation &op, planning::Op &entry);
  void orderAfter(OpIndex later, OpIndex earlier);
  void orderAfterInText(OpIndex later, OpIndex earlier);
  void readToken(OpIndex later, OpIndex earlier, bool orderOnly);
  void addOrderTokens();
  BlockArgument overwritten(OpResult result);
  void orderEffects();
  void orderAfterBarriers();
  void orderExchanges();
  void orderOnHost();
  void guardUpdates();
  void guardStated();
  void addKeeps();
  void addPadding();
  ValueIndex addValue(Value value, int64_t bytes, std::string name);

  func::FuncOp step;
  Block &body;
  const StepStorage &storage;
  const DeviceModel &device;
  ExtractionOptions options;
  ExtractedProblem out;
  llvm::DenseMap<Operation *, OpIndex> numberOf; // of barriers
  // These map an op to the order tokens that it writes: of time, and of the order alone.
  llvm::DenseMap<OpIndex, ValueIndex> tokenOf, textTokenOf;
};
} // namespace

ValueIndex Extraction::addValue(Value value, int64_t bytes, std::string name) {
  ValueIndex index = out.problem.values.size();
  out.problem.values.push_back({index, bytes, /*resident=*/false, std::move(name)});
  out.values.push_back(value);
  if (value)
    out.indexOf[value] = index;
  return index;
}

LogicalResult Extraction::addArguments() {
  for (BlockArgument argument : body.getArguments()) {
    FailureOr<int64_t> bytes = getCheckedBytes(argument);
    if (failed(bytes))
      return failure();
    bool onHost = llm::isOnHost(argument.getType());
    ValueIndex index = addValue(argument, onHost ? 0 : *bytes, getName(argument));
    out.problem.values[index].resident = true;
  }
  return success();
}

void Extraction::addReads(Operation &op, planning::Op &entry) {
  llvm::SmallSetVector<ValueIndex, 8> reads;
  for (Value operand : op.getOperands())
    reads.insert(out.indexOf.lookup(storage.getRoot(operand)));
  entry.reads.assign(reads.begin(), reads.end());
}

LogicalResult Extraction::addResults(Operation &op, planning::Op &entry) {
  for (OpResult result : op.getResults()) {
    FailureOr<int64_t> bytes = getCheckedBytes(result);
    if (failed(bytes))
      return failure();
    if (storage.getRoot(result) != result)
      continue; // as what a loop carries unchanged
    bool inArgument = static_cast<bool>(storage.getArgument(result));
    // An op that overwrites an argument cannot run twice.
    entry.recompute &= !inArgument;
    bool isElsewhere = inArgument || llm::isOnHost(result.getType());
    entry.writes.push_back(addValue(result, isElsewhere ? 0 : *bytes, getName(result)));
  }
  return success();
}

void Extraction::addInPlace(Operation &op, planning::Op &entry) {
  auto rootOf = [&](Value value) { return storage.getRoot(value); };
  for (auto [result, source] : inPlaceCandidates(&op, rootOf)) {
    if (!storage.hasOwnBytes(result) || storage.getArgument(source) || storage.isConstant(source))
      continue;
    ValueIndex write = out.indexOf.lookup(result), read = out.indexOf.lookup(source);
    if (out.problem.values[write].bytes <= out.problem.values[read].bytes)
      entry.inPlace.push_back({write, read});
  }
}

/// Returns whether the rest of the forward reads a result of `op` and `op` itself reads core
/// attention: the matmul with the values. Selective recomputation keeps what it gives (Korthikanti
/// et al. 2022 count it in the 34Th that stay); fused attention has no part but itself, and is
/// recomputed whole.
static bool endsCoreAttention(Operation &op) {
  auto isCore = [](Operation *other) {
    return other && other->hasAttr(llm::LlmDialect::kCoreAttention);
  };
  return llvm::any_of(op.getOperands(),
                      [&](Value operand) { return isCore(operand.getDefiningOp()); }) &&
         llvm::any_of(op.getUsers(), [&](Operation *user) {
           return getPhase(user) == planning::Phase::Forward && !isCore(user);
         });
}

/// A region that captures nothing is the op's own affair (the body of a kernel, or of linalg's
/// ops), and its cost is the op's. What it captured would be read without being an operand;
/// constants are there anyway.
static LogicalResult checkRegions(Operation &op, const StepStorage &storage) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op.getRegions(), captured);
  captured.remove_if([&](Value value) { return storage.isConstant(value); });
  if (captured.empty())
    return success();
  InFlightDiagnostic error =
      op.emitError() << "has a region that reads '" << getName(captured.front())
                     << "' from outside, which no plan would keep for it; make it an operand";
  error.attachNote(captured.front().getLoc()) << "the value is made here";
  return failure();
}

/// A constant is there from the start, as an argument is.
LogicalResult Extraction::addConstant(Operation &op) {
  for (OpResult result : op.getResults()) {
    FailureOr<int64_t> bytes = getCheckedBytes(result);
    if (failed(bytes))
      return failure();
    ValueIndex index = addValue(result, isEmptyValue(result) ? 0 : *bytes, getName(result));
    out.problem.values[index].resident = true;
  }
  return success();
}

/// Returns whether a second run of `op` finds the host's memory as the first one did. What a copy
/// reads on the host may be overwritten, which the problem of the device does not see. A parameter
/// is overwritten only by its update, after which nothing that reads it runs again
/// (`guardUpdates`).
static bool findsHostUnchanged(Operation &op) {
  if (llm::runsOnHost(&op))
    return false;
  if (!llm::isHostCopy(&op))
    return true;
  auto argument =
      isa<llm::CopyToDeviceOp>(op) ? dyn_cast<BlockArgument>(op.getOperand(0)) : nullptr;
  return argument && getRole(argument) == llm::Role::Param;
}

/// Returns whether a plan may run `op` a second time, as far as the op alone decides. Collectives
/// may (a parameter is gathered again instead of being held); exchanges of pipeline stages,
/// barriers and ops with effects may not. Where arguments are overwritten, more ops run once: those
/// that overwrite (`addResults`), and those that would read afterwards (`guardUpdates`,
/// `guardStated`).
static bool mayRunAgain(Operation &op) {
  return isRecomputable(&op) && !meetsOtherStages(&op) && !isBarrierOp(&op) &&
         findsHostUnchanged(op);
}

LogicalResult Extraction::addOp(Operation &op) {
  if (isResidentOp(&op))
    return addConstant(op);
  if (failed(checkRegions(op, storage)))
    return failure();
  if (isFreeViewOp(&op)) {
    for (OpResult result : op.getResults())
      if (failed(getCheckedBytes(result)))
        return failure();
    return success();
  }
  FailureOr<OpCost> cost = getCost(&op, device);
  if (failed(cost))
    return failure();
  planning::Op entry;
  entry.id = out.ops.size();
  entry.cost = isOnHostInEveryPlan(&op) ? 0 : cost->ns;
  entry.workspace = cost->workspace;
  entry.recompute = mayRunAgain(op);
  entry.block = getBlock(&op);
  entry.phase = getPhase(&op);
  entry.microBatch = getMicroBatch(&op);
  entry.name = op.getName().getStringRef().str();
  if (options.overlap && llm::isStartable(&op))
    entry.resource = planning::Resource::Link;
  addReads(op, entry);
  if (failed(addResults(op, entry)))
    return failure();
  addInPlace(op, entry);
  if (entry.phase == planning::Phase::Forward && op.hasAttr(llm::LlmDialect::kCoreAttention) &&
      !endsCoreAttention(op))
    out.coreAttention.push_back(out.ops.size());
  if (isBarrierOp(&op))
    numberOf[&op] = out.ops.size();
  out.ops.push_back(&op);
  out.problem.ops.push_back(std::move(entry));
  return success();
}

/// Lets no order of the ops run `later` before `earlier` has ended.
void Extraction::orderAfter(OpIndex later, OpIndex earlier) {
  readToken(later, earlier, /*orderOnly=*/false);
}

/// Lets no order of the ops have `later` before `earlier`; where one of them runs on the link, both
/// may run at the same time.
void Extraction::orderAfterInText(OpIndex later, OpIndex earlier) {
  readToken(later, earlier, /*orderOnly=*/options.overlap);
}

void Extraction::readToken(OpIndex later, OpIndex earlier, bool orderOnly) {
  auto [it, inserted] = (orderOnly ? textTokenOf : tokenOf).try_emplace(earlier, 0);
  if (inserted) {
    it->second = addValue(Value(), 0, "order");
    out.problem.values.back().orderOnly = orderOnly;
    out.problem.ops[earlier].writes.push_back(it->second);
  }
  std::vector<ValueIndex> &reads = out.problem.ops[later].reads;
  if (!llvm::is_contained(reads, it->second))
    reads.push_back(it->second);
}

/// Returns the argument that `result` is written over; a barrier lets one pass, and writes nothing.
BlockArgument Extraction::overwritten(OpResult result) {
  return isBarrierOp(result.getOwner()) ? BlockArgument() : storage.getArgument(result);
}

void Extraction::addOrderTokens() {
  // Maps each argument that is overwritten to its earlier readers, in program order.
  llvm::DenseMap<ValueIndex, SmallVector<OpIndex>> readers;
  for (OpIndex index = 0; index < static_cast<OpIndex>(out.ops.size()); ++index) {
    llvm::SmallSetVector<OpIndex, 8> before;
    for (OpResult result : out.ops[index]->getResults())
      if (BlockArgument argument = overwritten(result))
        for (OpIndex reader : readers[out.indexOf.lookup(argument)])
          before.insert(reader);
    for (OpIndex reader : before)
      orderAfter(index, reader);
    for (ValueIndex read : out.problem.ops[index].reads)
      if (out.values[read])
        if (BlockArgument argument = storage.getArgument(out.values[read]))
          readers[out.indexOf.lookup(argument)].push_back(index);
  }
}

/// An update overwrites a parameter that a clone might read again. `differentiate` puts each update
/// after every op that reads what depends on its parameter. So no forward op needs to run again
/// after it, as long as the backward ops that come before it do not come later: each update waits
/// for those since the update before, and for that update. Where gradients are transient they do
/// not run again either, so that no update needs its gradient recomputed after another
/// update.
void Extraction::guardUpdates() {
  auto phaseIs = [&](OpIndex index, planning::Phase phase) {
    return out.problem.ops[index].phase == phase;
  };
  auto overwrites = [&](OpIndex index) {
    return !out.ops[index]->hasAttr(llm::LlmDialect::kInArgument) &&
           llvm::any_of(out.ops[index]->getResults(),
                        [&](OpResult result) { return overwritten(result) != nullptr; });
  };
  OpIndex count = out.ops.size();
  bool hasUpdates = false, readsTransient = false;
  SmallVector<OpIndex> waitedFor; // backward ops since the last update, and that update
  for (OpIndex index = 0; index < count; ++index) {
    if (phaseIs(index, planning::Phase::Backward))
      waitedFor.push_back(index);
    if (!phaseIs(index, planning::Phase::Update))
      continue;
    // The update itself may overwrite nothing: of what lies on the host its copy does.
    readsTransient |= llvm::any_of(out.problem.ops[index].reads, [&](ValueIndex read) {
      Operation *writer = out.values[read] ? out.values[read].getDefiningOp() : nullptr;
      return writer && out.problem.values[read].bytes > 0 &&
             getPhase(writer) == planning::Phase::Backward;
    });
    if (!overwrites(index))
      continue;
    for (OpIndex before : waitedFor)
      orderAfter(index, before);
    waitedFor.assign(1, index);
    hasUpdates = true;
  }
  for (OpIndex index = 0; index < count; ++index) {
    planning::Op &op = out.problem.ops[index];
    // A value that is returned would be recomputed last, after every update.
    bool isReturned = llvm::any_of(
        op.writes, [&](ValueIndex value) { return llvm::is_contained(out.problem.keep, value); });
    if ((hasUpdates && isReturned) ||
        (hasUpdates && readsTransient && op.phase == planning::Phase::Backward))
      op.recompute = false;
  }
}

/// Keeps what changes or reads more than its operands in its place among its like.
void Extraction::orderEffects() {
  std::optional<OpIndex> last;
  for (OpIndex index = 0; index < static_cast<OpIndex>(out.ops.size()); ++index) {
    Operation *op = out.ops[index];
    // A loop has the effects of its body.
    bool isKnown =
        isa<BufferOpInterface>(op) && !op->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
    if (isKnown || isFreeOfEffects(op))
      continue;
    if (last)
      orderAfter(index, *last);
    last = index;
  }
}

/// An op that reads what comes out of a barrier runs after it.
void Extraction::orderAfterBarriers() {
  for (OpIndex index = 0; index < static_cast<OpIndex>(out.ops.size()); ++index)
    for (Value operand : out.ops[index]->getOperands())
      if (Operation *barrier = barrierBefore(operand))
        orderAfter(index, numberOf.lookup(barrier));
}

/// What other compilers overwrite, and when, is not known as `differentiate` knows it: it follows
/// from the reads.
void Extraction::guardStated() {
  SmallVector<Overwrite> overwrites;
  for (OpIndex index = 0; index < static_cast<OpIndex>(out.ops.size()); ++index)
    if (out.ops[index]->hasAttr(llm::LlmDialect::kInArgument))
      for (OpResult result : out.ops[index]->getResults())
        if (BlockArgument argument = storage.getArgument(result))
          overwrites.push_back({index, out.indexOf.lookup(argument)});
  if (overwrites.empty())
    return;
  OverwriteGuards guards = guardOverwrites(out.problem, overwrites);
  for (OpIndex index : guards.once)
    out.problem.ops[index].recompute = false;
  for (auto [later, earlier] : guards.order)
    orderAfter(later, earlier);
}

/// Stages of a pipeline meet in the order that their schedule has them meet, each with what it has
/// computed until then: no op passes such a place, in either direction. That is of the order alone:
/// what is exchanged may be on its way while other ops run.
void Extraction::orderExchanges() {
  std::optional<OpIndex> last;
  SmallVector<OpIndex> since;
  for (OpIndex index = 0; index < static_cast<OpIndex>(out.ops.size()); ++index) {
    if (last)
      orderAfterInText(index, *last);
    if (!meetsOtherStages(out.ops[index])) {
      since.push_back(index);
      continue;
    }
    for (OpIndex before : since)
      orderAfterInText(index, before);
    since.clear();
    last = index;
  }
}

/// What an update on the host reads and writes there lies in the host's arena, whose bytes are
/// given before any plan is made (Transforms/OffloadDecisions.h). So the ops that touch them keep
/// their order.
void Extraction::orderOnHost() {
  auto touchesArena = [&](Operation *op) {
    auto isHeld = [&](Value value) {
      return llm::isOnHost(value.getType()) && !storage.getArgument(value);
    };
    return isOnHostInEveryPlan(op) &&
           (llvm::any_of(op->getOperands(), isHeld) || llvm::any_of(op->getResults(), isHeld));
  };
  std::optional<OpIndex> last;
  for (OpIndex index = 0; index < static_cast<OpIndex>(out.ops.size()); ++index) {
    if (!touchesArena(out.ops[index]))
      continue;
    if (last)
      orderAfter(index, *last);
    last = index;
  }
}

void Extraction::addKeeps() {
  llvm::SmallSetVector<ValueIndex, 8> keeps;
  for (Value operand : body.getTerminator()->getOperands())
    if (!storage.getArgument(operand) && !storage.isConstant(operand))
      keeps.insert(out.indexOf.lookup(storage.getRoot(operand)));
  out.problem.keep.assign(keeps.begin(), keeps.end());
}

/// The code that runs the step gives each argument and constant a buffer of whole multiples of the
/// alignment (StepMemory, DeviceBuffers).
void Extraction::addPadding() {
  out.residentPadding = StepResidents(step).device.padding();
  if (out.residentPadding == 0)
    return;
  ValueIndex index = addValue(Value(), out.residentPadding, "resident padding");
  out.problem.values[index].resident = true;
}

LogicalResult Extraction::run(ExtractedProblem &result) {
  out.problem.alignment = kArenaAlignment;
  if (failed(addArguments()))
    return failure();
  for (Operation &op : body.without_terminator())
    if (failed(addOp(op)))
      return failure();
  addKeeps();
  guardStated();
  addOrderTokens();
  orderEffects();
  orderAfterBarriers();
  orderExchanges();
  orderOnHost();
  guardUpdates();
  addPadding();
  if (std::optional<std::string> error = planning::validateProblem(out.problem))
    return step.emitError() << "cannot be planned: " << *error;
  result = std::move(out);
  return success();
}

FailureOr<ExtractedProblem> llmmem::extractProblem(func::FuncOp step, const StepStorage &storage,
                                                   const DeviceModel &device,
                                                   ExtractionOptions options) {
  ExtractedProblem result;
  if (failed(Extraction(step, storage, device, options).run(result)))
    return failure();
  return result;
}
