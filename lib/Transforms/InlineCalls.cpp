//===- InlineCalls.cpp - Calls become what they call -----------------------===//

#include "llmmem/Analysis/Step.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Transforms/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace llmmem {
#define GEN_PASS_DEF_INLINECALLS
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

namespace {
class CallInliner {
public:
  explicit CallInliner(ModuleOp module) : module(module) {}

  /// Callees come first, so that each body is copied as it ends up.
  LogicalResult inlineInto(func::FuncOp function) {
    callers.push_back(function);
    SmallVector<func::CallOp> calls;
    function.walk([&](func::CallOp call) { calls.push_back(call); });
    for (func::CallOp call : calls)
      if (failed(inlineCall(call)))
        return failure();
    callers.pop_back();
    done.insert(function);
    return success();
  }

  void eraseUncalled() {
    llvm::DenseSet<StringAttr> called;
    module.walk([&](func::CallOp call) { called.insert(call.getCalleeAttr().getAttr()); });
    for (func::FuncOp function : inlined)
      if (function.isPrivate() && !called.contains(function.getSymNameAttr()))
        function.erase();
  }

private:
  LogicalResult inlineCall(func::CallOp call) {
    auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
    if (!callee || !callee.getBody().hasOneBlock())
      return call.emitError() << "calls '" << call.getCallee()
                              << "', which has no body of one block to put in its place";
    if (llvm::is_contained(callers, callee))
      return call.emitError() << "calls '" << call.getCallee()
                              << "', which calls itself; a plan needs straight-line code";
    if (!done.contains(callee) && failed(inlineInto(callee)))
      return failure();
    if (callee.getFunctionType() != call.getCalleeType())
      return call.emitError() << "calls '" << call.getCallee() << "' with other types than it has";
    copyBody(call, callee);
    inlined.insert(callee);
    return success();
  }

  static void copyBody(func::CallOp call, func::FuncOp callee) {
    IRMapping mapping;
    mapping.map(callee.getArguments(), call.getOperands());
    OpBuilder builder(call);
    Block &body = callee.getBody().front();
    for (Operation &op : body.without_terminator()) {
      Operation *copy = builder.clone(op, mapping);
      copy->walk([&](Operation *inner) {
        inner->setLoc(CallSiteLoc::get(inner->getLoc(), call.getLoc()));
      });
    }
    for (auto [result, value] : llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    call.erase();
  }

  ModuleOp module;
  SmallVector<func::FuncOp> callers;
  llvm::DenseSet<Operation *> done;
  llvm::SetVector<func::FuncOp> inlined;
};
} // namespace

/// Puts the body of every function that `step` calls, also from inside of regions, in the place of
/// the call, and erases private functions without callers. Attributes of a call are
/// lost, locations say where it was. Unlike MLIR's inliner it asks nothing of the ops around, so
/// they may be unregistered and have regions. Fails, after a diagnostic at the call, on recursion
/// and on what has no body of one block; the module may then have calls left.
static LogicalResult inlineCalls(func::FuncOp step) {
  CallInliner inliner(step->getParentOfType<ModuleOp>());
  if (failed(inliner.inlineInto(step)))
    return failure();
  inliner.eraseUncalled();
  return success();
}

/// Says that the module has no function `entry`, and which it has.
static LogicalResult failNoEntry(ModuleOp module, StringRef entry) {
  InFlightDiagnostic error = emitError(module.getLoc())
                             << "has no function '" << entry << "' to plan; it has ";
  size_t shown = 0;
  for (auto function : module.getOps<func::FuncOp>())
    if (shown++ < 8)
      error << (shown > 1 ? ", " : "") << "'" << function.getName() << "'";
  return error << (shown == 0 ? "none" : "");
}

namespace {
struct InlineCallsPass : llmmem::impl::InlineCallsBase<InlineCallsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!entry.empty()) {
      if (!module.lookupSymbol<func::FuncOp>(entry)) {
        (void)failNoEntry(module, entry);
        return signalPassFailure();
      }
      module->setAttr(llm::LlmDialect::kEntry, StringAttr::get(&getContext(), entry));
    }
    func::FuncOp step = findStep(module);
    if (step && failed(inlineCalls(step)))
      signalPassFailure();
  }
};
} // namespace
