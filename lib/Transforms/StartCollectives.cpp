//===- StartCollectives.cpp - What runs with other ops ---------------------===//

#include "llmmem/Transforms/StartCollectives.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Layout/Places.h"
#include "llmmem/Layout/StepLiveness.h"
#include "llmmem/Transforms/Passes.h"
#include "llmmem/Transforms/StepPass.h"
#include "mlir/IR/Builders.h"
#include <array>
#include <deque>

namespace llmmem {
#define GEN_PASS_DEF_STARTCOLLECTIVES
#define GEN_PASS_DEF_STARTHOSTCOPIES
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

namespace {
/// Is a collective or copy whose wait has not come yet.
struct Flight {
  Operation *start;
  SmallVector<ByteRange> bytes;   // read, written and workspace
  SmallVector<Operation *> views; // of its result; they move after the wait
};

/// Starts the ops that `isToStart` names.
class Starter {
public:
  Starter(func::FuncOp step, const StepStorage &storage, bool (*isToStart)(Operation *))
      : body(step.getBody().front()), storage(storage), isToStart(isToStart) {}

  int64_t run() {
    int64_t starts = 0;
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
      if (isViewOp(&op)) {
        addView(op);
        continue;
      }
      bool isStart = isToStart(&op);
      for (Flights &flights : queues)
        waitBefore(&op, flights, countConflicts(op, isStart, flights));
      if (!isStart)
        continue;
      moveUp(op);
      op.setAttr(LlmDialect::kStarted, UnitAttr::get(op.getContext()));
      queueOf(op).push_back({&op, bytesOf(op), {}});
      ++starts;
    }
    for (Flights &flights : queues)
      waitBefore(body.getTerminator(), flights, flights.size());
    return starts;
  }

private:
  using Flights = std::deque<Flight>;

  Flights &queueOf(Operation &start) { return queues[static_cast<size_t>(llm::queueOf(&start))]; }

  ByteRange bytesOf(Value value) const {
    return rangeOf(storage.getRoot(value), plannedPlace(value, storage));
  }

  SmallVector<ByteRange> bytesWrittenBy(Operation &op) const {
    SmallVector<ByteRange> bytes;
    for (Value result : op.getResults())
      bytes.push_back(bytesOf(result));
    if (std::optional<Workspace> workspace = plannedWorkspace(&op))
      bytes.push_back({std::nullopt, workspace->offset, workspace->offset + workspace->bytes});
    return bytes;
  }

  SmallVector<ByteRange> bytesOf(Operation &op) const {
    SmallVector<ByteRange> bytes = bytesWrittenBy(op);
    for (Value operand : op.getOperands())
      bytes.push_back(bytesOf(operand));
    return bytes;
  }

  void addView(Operation &view) {
    for (Flights &flights : queues)
      for (Flight &flight : flights)
        for (Value operand : view.getOperands())
          if (storage.getRoot(operand).getDefiningOp() == flight.start) {
            flight.views.push_back(&view);
            return;
          }
  }

  /// Moves `op` before all ops that do not make what it reads and use no bytes that it writes:
  /// these are the second and the third condition of the makespan. Starts of a queue keep their
  /// order, and what waits for another queue stays after its wait.
  void moveUp(Operation &op) const {
    SmallVector<ByteRange> written = bytesWrittenBy(op);
    auto stops = [&](Operation *before) {
      bool isSameQueue = llm::isStarted(before) && llm::queueOf(before) == llm::queueOf(&op);
      if (isSameQueue || llvm::any_of(op.getOperands(), [&](Value operand) {
            return operand.getDefiningOp() == before;
          }))
        return true;
      if (auto wait = dyn_cast<llm::WaitOp>(before))
        return llm::queueOf(wait.getStart()) != llm::queueOf(&op) &&
               anyMeet(bytesOf(*wait.getStart()), written);
      return !isViewOp(before) && anyMeet(bytesOf(*before), written);
    };
    Operation *place = &op;
    while (place->getPrevNode() && !stops(place->getPrevNode()))
      place = place->getPrevNode();
    if (place != &op)
      op.moveBefore(place);
  }

  /// Returns how many of the flights of a queue, from the first on, must be over before `op` runs.
  size_t countConflicts(Operation &op, bool isStart, const Flights &flights) {
    SmallVector<ByteRange> written = bytesWrittenBy(op);
    bool runsAfter = isStart && &queueOf(op) == &flights;
    auto conflicts = [&](const Flight &flight) {
      bool reads = llvm::any_of(op.getOperands(), [&](Value operand) {
        // A start reads what another start of its queue gives; a view of it comes after the wait.
        return storage.getRoot(operand).getDefiningOp() == flight.start &&
               !(runsAfter && operand.getDefiningOp() == flight.start);
      });
      return reads || (!runsAfter && anyMeet(flight.bytes, written));
    };
    size_t count = flights.size();
    while (count > 0 && !conflicts(flights[count - 1]))
      --count;
    return count;
  }

  static void waitBefore(Operation *op, Flights &flights, size_t count) {
    OpBuilder builder(op);
    for (; count > 0; --count) {
      waitFor(builder, flights.front());
      flights.pop_front();
    }
  }

  static void waitFor(OpBuilder &builder, const Flight &flight) {
    Operation *start = flight.start;
    auto wait =
        llm::WaitOp::create(builder, start->getLoc(), start->getResultTypes(), start->getResults());
    for (StringRef name : {LlmDialect::kOffsets, LlmDialect::kName, LlmDialect::kResultNames,
                           LlmDialect::kPhase, LlmDialect::kBlock})
      if (Attribute attribute = start->getAttr(name))
        wait->setAttr(name, attribute);
    for (Operation *view : flight.views)
      view->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
    for (auto [result, there] : llvm::zip_equal(start->getResults(), wait.getY()))
      result.replaceUsesWithIf(there, [&](OpOperand &use) {
        return use.getOwner() != wait && !use.getOwner()->isBeforeInBlock(wait);
      });
  }

  Block &body;
  const StepStorage &storage;
  bool (*isToStart)(Operation *);
  std::array<Flights, llm::kStartQueues> queues;
};
} // namespace

/// An op that starts earlier holds its result longer: the peak of the program, and of its entry
/// among the choices of epilogues, is that of the new order.
static void updatePeak(func::FuncOp step, const StepStorage &storage) {
  if (!step->hasAttr(LlmDialect::kPeak))
    return;
  Builder builder(step.getContext());
  IntegerAttr peak = builder.getI64IntegerAttr(StepLiveness(step, storage).peak);
  step->setAttr(LlmDialect::kPeak, peak);
  auto entries = step->getAttrOfType<ArrayAttr>(LlmDialect::kEpilogues);
  if (!entries)
    return;
  SmallVector<Attribute> updated;
  for (Attribute entry : entries) {
    NamedAttrList fields(cast<DictionaryAttr>(entry));
    if (fields.get("taken") && fields.get("peak"))
      fields.set("peak", peak);
    updated.push_back(fields.getDictionary(step.getContext()));
  }
  step->setAttr(LlmDialect::kEpilogues, builder.getArrayAttr(updated));
}

static FailureOr<int64_t> start(func::FuncOp step, const StepStorage &storage,
                                bool (*isToStart)(Operation *)) {
  if (!step->hasAttr(LlmDialect::kArena))
    return step.emitError() << "has no '" << LlmDialect::kArena
                            << "'; run apply-checkpoints, or plan-arena for a step without a plan";
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (llm::isStarted(&op))
      return op.emitError("is started already");
    if (!op.hasAttr(LlmDialect::kOffsets))
      return op.emitError() << "has no '" << LlmDialect::kOffsets
                            << "'; run apply-checkpoints, or plan-arena for a step without a plan";
  }
  int64_t starts = Starter(step, storage, isToStart).run();
  // The waits are views that the storage does not know.
  updatePeak(step, StepStorage(step));
  return starts;
}

FailureOr<int64_t> llmmem::startCollectives(func::FuncOp step, const StepStorage &storage) {
  return start(step, storage, llm::isStartable);
}

FailureOr<int64_t> llmmem::startHostCopies(func::FuncOp step, const StepStorage &storage) {
  return start(step, storage,
               [](Operation *op) { return llm::isHostCopy(op) || llm::runsOnHost(op); });
}

namespace {
/// Runs one of the two functions above on the step.
template <typename Base, FailureOr<int64_t> (*start)(func::FuncOp, const StepStorage &)>
struct StartPass : StepPass<Base> {
  using StepPass<Base>::StepPass;
  LogicalResult runOnStep(func::FuncOp step) override {
    const StepStorage *storage = this->getStorage();
    if (!storage)
      return failure();
    FailureOr<int64_t> starts = start(step, *storage);
    this->numStarts = starts.value_or(0);
    return starts;
  }
};
struct StartCollectivesPass
    : StartPass<llmmem::impl::StartCollectivesBase<StartCollectivesPass>, startCollectives> {
  using StartPass::StartPass;
};
struct StartHostCopiesPass
    : StartPass<llmmem::impl::StartHostCopiesBase<StartHostCopiesPass>, startHostCopies> {
  using StartPass::StartPass;
};
} // namespace
