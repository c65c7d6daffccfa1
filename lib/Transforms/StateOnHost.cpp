//===- StateOnHost.cpp - Optimizer state that lives on the host -------------===//

#include "llmmem/Transforms/StateOnHost.h"
#include "HostCopies.h"
#include "StepPass.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace llmmem {
#define GEN_PASS_DEF_MOVESTATETOHOST
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

namespace {
class StateMover {
public:
  StateMover(func::FuncOp step, const planning::HostLink &link)
      : step(step), body(step.getBody().front()), link(link), builder(step.getContext()) {}

  FailureOr<int64_t> run() {
    SmallVector<BlockArgument> states;
    for (BlockArgument argument : body.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (getRole(argument) == llm::Role::OptimizerState && type && type.getRank() > 0)
        states.push_back(argument);
    }
    findReaders(states);
    for (BlockArgument state : states)
      if (failed(move(state, cast<RankedTensorType>(state.getType()))))
        return failure();
    step.setFunctionType(
        builder.getFunctionType(body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
    return states.size();
  }

private:
  Operation *firstReader(BlockArgument state) {
    Operation *first = nullptr;
    for (Operation *user : state.getUsers())
      if (user != body.getTerminator() && (!first || user->isBeforeInBlock(first)))
        first = user;
    return first;
  }

  /// The updates, in the order of the text.
  void findReaders(ArrayRef<BlockArgument> states) {
    llvm::SmallPtrSet<Operation *, 16> first;
    for (BlockArgument state : states)
      if (Operation *reader = firstReader(state))
        first.insert(reader);
    for (Operation &op : body)
      if (first.contains(&op))
        comesBefore[&op] = std::exchange(last, &op);
  }

  LogicalResult move(BlockArgument argument, RankedTensorType type) {
    auto donated =
        step.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), LlmDialect::kDonated);
    OpOperand *returned = donated && donated.getInt() < static_cast<int64_t>(step.getNumResults())
                              ? &body.getTerminator()->getOpOperand(donated.getInt())
                              : nullptr;
    auto onHost = RankedTensorType::get(type.getShape(), type.getElementType(),
                                        llm::HostAttr::get(builder.getContext()));
    if (argument.use_empty()) { // the update behind the micro-batches reads it
      argument.setType(onHost);
      return success();
    }
    if (!returned)
      return step.emitError() << "argument " << argument.getArgNumber()
                              << " is state that no result replaces, which cannot lie on the host; "
                                 "differentiate the model anew";
    bringDown(argument, type);
    argument.setType(onHost);
    takeUp(argument, onHost, *returned);
    return success();
  }

  /// In front of the update before the first that reads it, so that the bytes of both are apart and
  /// one comes while the other is updated.
  void bringDown(BlockArgument argument, RankedTensorType type) {
    Operation *first = firstReader(argument);
    if (!first)
      return;
    Operation *before = comesBefore.lookup(first);
    builder.setInsertionPoint(before ? before : first);
    auto down = llm::CopyDownOp::create(builder, first->getLoc(), type, argument);
    describe(down, argument, planning::timeOfCopy(bytesOfType(type), link.down, link.latency));
    argument.replaceUsesWithIf(down.getY(), [&](OpOperand &use) {
      return use.getOwner() != down && use.getOwner() != body.getTerminator();
    });
  }

  /// Behind the op that makes the new value. State that nothing changes stays where it is.
  void takeUp(BlockArgument argument, Type onHost, OpOperand &returned) {
    Operation *writer = returned.get().getDefiningOp();
    if (!writer)
      return;
    builder.setInsertionPointAfter(writer);
    auto up = llm::CopyUpOp::create(builder, writer->getLoc(), onHost, returned.get(), argument);
    describe(up, argument, planning::timeOfCopy(bytesOfType(onHost), link.up, link.latency));
    returned.set(up.getHost());
  }

  void describe(Operation *copy, BlockArgument argument, int64_t ns) {
    copy->setAttr(LlmDialect::kName, builder.getStringAttr(getName(argument)));
    copy->setAttr(LlmDialect::kCost,
                  llm::CostAttr::get(builder.getContext(), /*flops=*/0,
                                     bytesOfType(argument.getType()), ns, /*workspace=*/0));
    llm::writePhase(copy, llm::Phase::Update);
  }

  func::FuncOp step;
  Block &body;
  const planning::HostLink link;
  OpBuilder builder;
  llvm::DenseMap<Operation *, Operation *> comesBefore; // updates; null before the first
  Operation *last = nullptr;
};
} // namespace

FailureOr<int64_t> llmmem::moveStateToHost(func::FuncOp step, const planning::HostLink &link) {
  if (step->hasAttr(LlmDialect::kArena))
    return step.emitError("is planned already; move its state before it is planned");
  return StateMover(step, link).run();
}

namespace {
struct MoveStateToHostPass : StepPass<llmmem::impl::MoveStateToHostBase<MoveStateToHostPass>> {
  using StepPass::StepPass;
  LogicalResult runOnStep(func::FuncOp step) override {
    const DeviceModel *table = getDevice(device);
    if (!table)
      return failure();
    std::optional<planning::HostLink> given;
    if (!link.empty()) {
      Result<planning::HostLink> parsed = planning::parseHostLink(link.getValue());
      if (!parsed)
        return step.emitError() << "link: " << parsed.error();
      given = *parsed;
    }
    std::optional<int64_t> latency;
    if (linkLatency >= 0)
      latency = linkLatency;
    std::optional<planning::HostLink> way = linkToHost(given, latency, *table);
    if (!way)
      return emitNoLink(step, *table);
    FailureOr<int64_t> moved = moveStateToHost(step, *way);
    numMoved = moved.value_or(0);
    return moved;
  }
};
} // namespace
