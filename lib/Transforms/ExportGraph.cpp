//===- ExportGraph.cpp - A planned graph in the words of its own dialect ---===//

#include "llmmem/Transforms/ExportGraph.h"
#include "llmmem/Analysis/Step.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Layout/Barriers.h"
#include "llmmem/Transforms/HostPlacements.h"
#include "llmmem/Transforms/Passes.h"
#include "llmmem/Transforms/RegionCaptures.h"
#include "mlir/IR/Builders.h"

namespace llmmem {
#define GEN_PASS_DEF_EXPORTGRAPH
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

namespace {
/// Puts all that is held where a run of clones begins, and what the clones read, through one
/// barrier: the barrier cannot be passed until all of it is there, nothing after it can begin
/// before, and what comes out of it is equal to nothing else. With barriers around the clones' own
/// operands alone XLA ran other ops early, and held twice as much for GPT-2 124M.
class BarrierWriter {
public:
  BarrierWriter(Block &body, StringRef name) : body(body), name(name) {}

  int64_t run() {
    // Views come just before their readers. After the barrier, they need not be written out.
    SmallVector<Operation *> run;
    bool hasClones = false;
    for (Operation &op : llvm::make_early_inc_range(body)) {
      bool isClone = op.hasAttr(LlmDialect::kCloneOf);
      if (isClone || isFreeViewOp(&op)) {
        run.push_back(&op);
        hasClones |= isClone;
        continue;
      }
      if (hasClones)
        writeBarrier(run);
      run.clear();
      hasClones = false;
      if (!isResidentOp(&op))
        before = &op;
    }
    return barriers;
  }

private:
  void writeBarrier(ArrayRef<Operation *> clones) {
    llvm::DenseSet<Operation *> inside(clones.begin(), clones.end());
    llvm::SetVector<Value> reads;
    for (Operation *clone : clones)
      for (Value operand : clone->getOperands())
        if (!operand.getDefiningOp() || !inside.contains(operand.getDefiningOp()))
          reads.insert(operand);
    if (reads.empty())
      return;
    llvm::SetVector<Value> values = reads;
    if (before && before->getNumResults() > 0)
      values.insert(before->getResult(0));
    addHeld(clones.front(), values);
    OpBuilder builder(clones.front());
    OperationState state(clones.front()->getLoc(), name);
    state.addOperands(values.getArrayRef());
    state.addTypes(TypeRange(values.getArrayRef()));
    Operation *barrier = builder.create(state);
    for (auto [value, result] : llvm::zip(values, barrier->getResults()))
      for (Operation *clone : clones)
        clone->replaceUsesOfWith(value, result);
    // Every reader of a value after the barrier reads what comes out of it, lest the value comes
    // later.
    for (auto [value, result] : llvm::zip(values, barrier->getResults()))
      if (value.getDefiningOp())
        Value(value).replaceUsesWithIf(result, [&](OpOperand &use) {
          return use.getOwner()->getBlock() == &body && barrier->isBeforeInBlock(use.getOwner());
        });
    ++barriers;
  }

  /// Adds what is written on the device before `at` and read there or later.
  void addHeld(Operation *at, llvm::SetVector<Value> &values) {
    auto isReadLater = [&](Value value) {
      return llvm::any_of(value.getUsers(), [&](Operation *user) {
        Operation *reader = body.findAncestorOpInBlock(*user);
        return reader && !reader->isBeforeInBlock(at);
      });
    };
    for (Operation &op : llvm::make_range(body.begin(), Block::iterator(at)))
      if (!isFreeViewOp(&op) && !isResidentOp(&op))
        for (Value result : op.getResults())
          if (isReadLater(result) && !llm::isOnHost(result.getType()))
            values.insert(result);
  }

  Block &body;
  StringRef name;
  Operation *before = nullptr; // the last op that is no clone
  int64_t barriers = 0;
};
} // namespace

static bool isOurs(StringRef name) {
  return name.starts_with("llm.") || name.starts_with("llmmem.");
}

static void stripArguments(func::FuncOp function) {
  for (unsigned number = 0; number < function.getNumArguments(); ++number)
    for (NamedAttribute attribute :
         SmallVector<NamedAttribute>(mlir::function_interface_impl::getArgAttrs(function, number)))
      if (isOurs(attribute.getName()))
        function.removeArgAttr(number, attribute.getName());
}

void llmmem::stripAnnotations(ModuleOp module) {
  module->walk([](Operation *op) {
    for (NamedAttribute attribute : SmallVector<NamedAttribute>(op->getDiscardableAttrs()))
      if (isOurs(attribute.getName()))
        op->removeDiscardableAttr(attribute.getName());
    if (auto function = dyn_cast<func::FuncOp>(op))
      stripArguments(function);
  });
}

/// Returns the barrier of the dialect that the step is written in; empty where it has none. What
/// Shardy says about shardings stands in programs of StableHLO.
static std::string barrierOf(func::FuncOp step) {
  for (Operation &op : step.getBody().front())
    for (auto [dialect, home] : {std::pair<StringRef, StringRef>("stablehlo", "stablehlo"),
                                 {"mhlo", "mhlo"},
                                 {"sdy", "stablehlo"}})
      if (op.getName().getDialectNamespace() == dialect)
        return (home + ".optimization_barrier").str();
  return "";
}

FailureOr<int64_t> llmmem::exportGraph(ModuleOp module) {
  func::FuncOp step = findStep(module);
  if (!step)
    return emitNoStep(module);
  std::string barrier = barrierOf(step);
  if (barrier.empty() && !step.getBody().front().without_terminator().empty())
    return step->emitError("has no op of stablehlo or mhlo, whose barriers keep recomputations "
                           "where they stand; export what was planned from such a graph");
  int64_t barriers = BarrierWriter(step.getBody().front(), barrier).run();
  returnCaptures(module);
  writeHostPlacements(module);
  stripAnnotations(module);
  return barriers;
}

namespace {
struct ExportGraphPass : llmmem::impl::ExportGraphBase<ExportGraphPass> {
  using Base::Base;
  void runOnOperation() override {
    FailureOr<int64_t> barriers = exportGraph(getOperation());
    if (failed(barriers))
      return signalPassFailure();
    numBarriers += *barriers;
  }
};
} // namespace
