//===- StateOnHost.cpp - Optimizer state that lives on the host -------------===//

#include "llmmem/Transforms/StateOnHost.h"
#include "OffloadDecisions.h"
#include "UpdatesOnHost.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Transforms/Passes.h"
#include "llmmem/Transforms/StepPass.h"
#include "mlir/IR/Builders.h"

namespace llmmem {
#define GEN_PASS_DEF_MOVESTATETOHOST
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

namespace {
/// Holds ops that read an argument, all from one copy of it.
using Visit = SmallVector<Operation *, 4>;

class StateMover {
public:
  StateMover(func::FuncOp step, const planning::HostLink &link, HostRoles roles)
      : step(step), body(step.getBody().front()), link(link), roles(roles),
        builder(step.getContext()) {}

  FailureOr<int64_t> run() {
    if (roles.updates && failed(moveUpdatesToHost(step, link, [&](BlockArgument argument) {
          return isMoved(argument);
        })))
      return failure();
    SmallVector<BlockArgument> moved;
    for (BlockArgument argument : body.getArguments())
      if (isMoved(argument))
        moved.push_back(argument);
    findReaders(moved);
    for (BlockArgument argument : moved)
      if (!llm::isOnHost(argument.getType()) && // state of updates that run there
          failed(move(argument, cast<RankedTensorType>(argument.getType()))))
        return failure();
    step.setFunctionType(
        builder.getFunctionType(body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
    return moved.size();
  }

private:
  /// Returns whether the argument moves; a parameter does where its copies take longer for their
  /// bytes than for being copies.
  bool isMoved(BlockArgument argument) const {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || type.getRank() == 0)
      return false;
    std::optional<llm::Role> role = getRole(argument);
    if (role == llm::Role::OptimizerState)
      return roles.optimizerState;
    return role == llm::Role::Param && roles.parameters &&
           planning::timeOfCopy(bytesOfType(type), link.down, /*latency=*/0) >= link.latency;
  }

  /// Returns the readers in the order of the text.
  SmallVector<Operation *> readersOf(BlockArgument argument) {
    llvm::SmallSetVector<Operation *, 4> found;
    for (Operation *user : argument.getUsers())
      if (user != body.getTerminator() && !llm::runsOnHost(user))
        found.insert(user);
    SmallVector<Operation *> readers = found.takeVector();
    llvm::sort(readers, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    return readers;
  }

  /// State comes once, for its update. A parameter comes for each op, but once for neighbours of
  /// one phase among those that read what lies on the host.
  SmallVector<Visit> visitsOf(BlockArgument argument) {
    SmallVector<Visit> visits;
    bool isState = getRole(argument) == llm::Role::OptimizerState;
    auto joinsLast = [&](Operation *reader) {
      Operation *last = visits.empty() ? nullptr : visits.back().back();
      return last && (isState ||
                      (comesBefore.lookup(reader) == last && getPhase(reader) == getPhase(last)));
    };
    for (Operation *reader : readersOf(argument)) {
      if (!joinsLast(reader))
        visits.emplace_back();
      visits.back().push_back(reader);
    }
    return visits;
  }

  /// Finds what reads something that moves, in the order of the text; of state its update alone.
  void findReaders(ArrayRef<BlockArgument> moved) {
    llvm::SmallPtrSet<Operation *, 16> reading;
    for (BlockArgument argument : moved) {
      SmallVector<Operation *> readers = readersOf(argument);
      if (getRole(argument) == llm::Role::OptimizerState && !readers.empty())
        readers.truncate(1);
      reading.insert_range(readers);
    }
    Operation *last = nullptr;
    for (Operation &op : body)
      if (reading.contains(&op))
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
    if (argument.use_empty()) { // the update after the micro-batches reads it
      argument.setType(onHost);
      return success();
    }
    if (!returned && getRole(argument) == llm::Role::OptimizerState)
      return step.emitError() << "argument " << argument.getArgNumber()
                              << " is state that no result replaces, which cannot lie on the host; "
                                 "differentiate the model anew";
    for (const Visit &visit : visitsOf(argument))
      copyToDevice(argument, type, visit);
    argument.setType(onHost);
    if (returned)
      copyToHost(argument, onHost, *returned);
    return success();
  }

  /// Creates the copy before the reader that precedes the first one of the visit, so that the bytes
  /// of both are apart and one comes while the other is read. No copy of the backward is in the
  /// forward.
  void copyToDevice(BlockArgument argument, RankedTensorType type, const Visit &visit) {
    Operation *first = visit.front(), *before = comesBefore.lookup(first);
    bool isOfOnePhase = before && getPhase(before) == getPhase(first);
    builder.setInsertionPoint(isOfOnePhase ? before : first);
    auto down = llm::CopyToDeviceOp::create(builder, first->getLoc(), type, argument,
                                            /*destination=*/Value());
    describe(down, argument, *first,
             planning::timeOfCopy(bytesOfType(type), link.down, link.latency));
    argument.replaceUsesWithIf(
        down.getY(), [&](OpOperand &use) { return llvm::is_contained(visit, use.getOwner()); });
  }

  /// Creates the copy after the op that makes the new value. State that nothing changes stays where
  /// it is.
  void copyToHost(BlockArgument argument, Type onHost, OpOperand &returned) {
    Operation *writer = returned.get().getDefiningOp();
    if (!writer || llm::isOnHost(returned.get().getType())) // an update there has made it
      return;
    builder.setInsertionPointAfter(writer);
    auto up =
        llm::CopyToHostOp::create(builder, writer->getLoc(), onHost, returned.get(), argument);
    describe(up, argument, *writer,
             planning::timeOfCopy(bytesOfType(onHost), link.up, link.latency));
    returned.set(up.getHost());
  }

  void describe(Operation *copy, BlockArgument argument, Operation &user, int64_t ns) {
    describeHostCopy(copy, getName(argument), ns);
    if (getRole(argument) == llm::Role::OptimizerState) {
      llm::writePhase(copy, llm::Phase::Update);
      return;
    }
    for (StringRef shared : {LlmDialect::kPhase, LlmDialect::kBlock})
      if (Attribute known = user.getAttr(shared))
        copy->setAttr(shared, known);
  }

  func::FuncOp step;
  Block &body;
  const planning::HostLink link;
  const HostRoles roles;
  OpBuilder builder;
  llvm::DenseMap<Operation *, Operation *> comesBefore; // readers; null before the first
};
} // namespace

FailureOr<int64_t> llmmem::moveStateToHost(func::FuncOp step, const planning::HostLink &link,
                                           HostRoles roles) {
  if (step->hasAttr(LlmDialect::kArena))
    return step.emitError("is planned already; move its state before it is planned");
  return StateMover(step, link, roles).run();
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
    FailureOr<int64_t> moved = moveStateToHost(step, *way, {optimizer, parameters, updates});
    numMoved = moved.value_or(0);
    return moved;
  }
};
} // namespace
