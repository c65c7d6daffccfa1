//===- AdoptStep.cpp - What a graph of another compiler does not say -------===//

#include "llmmem/Transforms/AdoptStep.h"
#include "StepAncestors.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Transforms/Passes.h"
#include "llmmem/Transforms/StepPass.h"
#include "mlir/IR/Builders.h"

namespace llmmem {
#define GEN_PASS_DEF_ADOPTSTEP
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

llvm::DenseSet<Operation *> llmmem::findAncestors(Value value) {
  llvm::DenseSet<Operation *> found;
  SmallVector<Operation *> left;
  auto visit = [&](Value read) {
    if (Operation *writer = read.getDefiningOp(); writer && found.insert(writer).second)
      left.push_back(writer);
  };
  visit(value);
  while (!left.empty())
    for (Value operand : left.pop_back_val()->getOperands())
      visit(operand);
  return found;
}

//===----------------------------------------------------------------------===//
// Loss
//===----------------------------------------------------------------------===//

static bool isScalarOfFloat(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return isa<FloatType>(type) ||
         (tensor && tensor.getNumElements() == 1 && isa<FloatType>(tensor.getElementType()));
}

FailureOr<int64_t> llmmem::findLoss(func::FuncOp step, int64_t wanted) {
  Operation *results = step.getBody().front().getTerminator();
  if (auto said = step->getAttrOfType<IntegerAttr>(LlmDialect::kLoss); said && wanted < 0)
    wanted = said.getInt();
  if (wanted >= 0) {
    if (wanted >= results->getNumOperands())
      return results->emitError() << "gives " << results->getNumOperands()
                                  << " results, and result " << wanted << " is to be the loss";
    if (!isScalarOfFloat(results->getOperand(wanted).getType()))
      return results->emitError() << "result " << wanted << " is to be the loss, and has type "
                                  << results->getOperand(wanted).getType()
                                  << "; expected one floating-point number";
    return wanted;
  }
  // What takes an argument's place is no loss, but a count or a rate.
  llvm::DenseSet<int64_t> aliased;
  for (unsigned number = 0; number < step.getNumArguments(); ++number)
    if (auto alias = step.getArgAttrOfType<IntegerAttr>(number, "tf.aliasing_output"))
      aliased.insert(alias.getInt());
  SmallVector<int64_t> scalars;
  for (auto [number, value] : llvm::enumerate(results->getOperands()))
    if (isScalarOfFloat(value.getType()) && value.getDefiningOp() && !aliased.contains(number))
      scalars.push_back(number);
  return scalars.size() == 1 ? scalars.front() : -1;
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

void llmmem::findRoles(func::FuncOp step, int64_t loss) {
  Block &body = step.getBody().front();
  Operation *results = body.getTerminator();
  llvm::DenseSet<Operation *> lossNeeds;
  if (loss >= 0)
    lossNeeds = findAncestors(results->getOperand(loss));
  // Results and arguments go in the same order, so the first of equal type is the counterpart.
  llvm::DenseSet<int64_t> taken;
  auto hasCounterpart = [&](BlockArgument argument) {
    if (step.getArgAttr(argument.getArgNumber(), LlmDialect::kDonated))
      return true;
    for (auto [number, value] : llvm::enumerate(results->getOperands()))
      if (static_cast<int64_t>(number) != loss && value.getType() == argument.getType() &&
          taken.insert(number).second)
        return true;
    return false;
  };
  for (BlockArgument argument : body.getArguments())
    if (auto donated =
            step.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), LlmDialect::kDonated))
      taken.insert(donated.getInt());
  for (BlockArgument argument : body.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (step.getArgAttr(number, LlmDialect::kRole) || loss < 0)
      continue;
    bool isForLoss = llvm::any_of(argument.getUsers(),
                                  [&](Operation *user) { return lossNeeds.contains(user); });
    llm::Role role = !hasCounterpart(argument) ? llm::Role::Input
                     : isForLoss               ? llm::Role::Param
                                               : llm::Role::OptimizerState;
    step.setArgAttr(number, LlmDialect::kRole,
                    StringAttr::get(step.getContext(), llm::stringifyRole(role)));
  }
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

/// Returns forward or backward where JAX's name of the place says so.
static std::optional<llm::Phase> phaseOf(Location location) {
  std::string text;
  llvm::raw_string_ostream(text) << location;
  if (StringRef(text).contains("transpose(jvp("))
    return llm::Phase::Backward;
  return StringRef(text).contains("jvp(") ? std::optional(llm::Phase::Forward) : std::nullopt;
}

void llmmem::findPhases(func::FuncOp step, int64_t loss) {
  Block &body = step.getBody().front();
  if (loss < 0)
    return;
  Value made = body.getTerminator()->getOperand(loss);
  llvm::DenseSet<Operation *> forward = findAncestors(made);
  for (Operation &op : body.without_terminator()) {
    if (op.hasAttr(LlmDialect::kPhase))
      continue;
    // An op that comes before the loss and that only the backward reads was made together with the
    // forward: it is a derivative of one of its ops.
    bool isBefore = made.getDefiningOp() && op.isBeforeInBlock(made.getDefiningOp());
    llm::Phase byGraph =
        forward.contains(&op) || isBefore ? llm::Phase::Forward : llm::Phase::Backward;
    llm::writePhase(&op, forward.contains(&op) ? byGraph : phaseOf(op.getLoc()).value_or(byGraph));
  }
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

/// An op that overwrites an argument runs after all that depends on it (OverwriteGuards.h), and the
/// order of the text must be one in which the step can run.
static void moveOverwritesToEnd(func::FuncOp step) {
  Operation *before = step.getBody().front().getTerminator();
  llvm::DenseSet<Operation *> moved{before};
  SmallVector<Operation *> overwrites;
  for (Operation &op : llvm::reverse(step.getBody().front()))
    if (op.hasAttr(LlmDialect::kInArgument))
      overwrites.push_back(&op);
  for (Operation *op : overwrites) {
    if (!llvm::all_of(op->getUsers(), [&](Operation *user) { return moved.contains(user); }))
      continue;
    op->moveBefore(before);
    before = op;
    moved.insert(op);
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Erases ops without readers, which are no part of the step unless they have effects: frameworks
/// leave it to their compiler to drop them (JAX writes the gradient of a maximum that it then
/// stops). Returns the number of erased ops.
static int64_t dropUnread(func::FuncOp step) {
  int64_t dropped = 0;
  SmallVector<Operation *> ops;
  for (Operation &op : step.getBody().front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops)) // readers first
    if (op->use_empty() && isRecomputable(op)) {
      op->erase();
      ++dropped;
    }
  return dropped;
}

/// Says what was found, at the op that makes the loss: the function's place is its whole signature.
static void sayWhatWasFound(func::FuncOp step, int64_t loss, int64_t donated) {
  Operation *results = step.getBody().front().getTerminator();
  if (loss < 0) {
    results->emitRemark(
        "no result is one floating-point number alone, so no loss was found and all "
        "ops are one phase; --loss=N names it");
    return;
  }
  Operation *writer = results->getOperand(loss).getDefiningOp();
  (writer ? writer : results)->emitRemark()
      << "result " << loss << " is taken for the loss (--loss=N says otherwise); " << donated
      << " arguments are overwritten by their results";
}

/// Returns whether another compiler made the function: an op is none of llmmem's.
static bool isForeign(func::FuncOp step) {
  return llvm::any_of(step.getBody().front().without_terminator(), [](Operation &op) {
    return !isa_and_present<LlmDialect>(op.getDialect()) && !isResidentOp(&op);
  });
}

namespace {
struct AdoptStepPass : StepPass<llmmem::impl::AdoptStepBase<AdoptStepPass>> {
  using StepPass::StepPass;
  LogicalResult runOnStep(func::FuncOp step) override {
    if (!isForeign(step))
      return success();
    FailureOr<int64_t> found = findLoss(step, loss);
    if (failed(found))
      return failure();
    const int64_t dropped = dropUnread(step);
    const int64_t donated = findDonations(step, *found);
    moveOverwritesToEnd(step);
    findRoles(step, *found);
    findPhases(step, *found);
    if (*found >= 0)
      step->setAttr(LlmDialect::kLoss, Builder(&getContext()).getI64IntegerAttr(*found));
    sayWhatWasFound(step, *found, donated);
    if (dropped > 0)
      step.getBody().front().getTerminator()->emitRemark()
          << dropped << " ops whose results nobody reads are left out";
    return success();
  }
};
} // namespace
