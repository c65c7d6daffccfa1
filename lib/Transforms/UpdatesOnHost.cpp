//===- UpdatesOnHost.cpp - Updates that run on the host ---------------------===//
//
// Updates run in the order in which their gradients are made. Each gradient leaves right after the
// op that makes it. Its update comes after the device-to-host copy of the next gradient, and the
// host-to-device copy of its parameter comes after that of the one that follows. So one gradient
// leaves while another is made, and one parameter is updated while the one before comes back. The
// host-to-device copy, which overwrites what the step reads, stands no earlier than the update
// stood; nor does an update of a parameter that lies on the host.
//
//===----------------------------------------------------------------------===//

#include "UpdatesOnHost.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include <deque>

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

void llmmem::describeHostCopy(Operation *copy, StringRef name, int64_t ns) {
  Builder builder(copy->getContext());
  copy->setAttr(LlmDialect::kName, builder.getStringAttr(name));
  copy->setAttr(LlmDialect::kCost, llm::CostAttr::get(builder.getContext(), /*flops=*/0,
                                                      bytesOfType(copy->getResultTypes()[0]), ns,
                                                      /*workspace=*/0));
}

namespace {
RankedTensorType onHost(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               llm::HostAttr::get(type.getContext()));
}

bool isScalar(Value value) { return cast<RankedTensorType>(value.getType()).getRank() == 0; }

class UpdateMover {
public:
  UpdateMover(func::FuncOp step, const planning::HostLink &link,
              function_ref<bool(BlockArgument)> isMoved)
      : step(step), body(step.getBody().front()), link(link), isMoved(isMoved),
        builder(step.getContext()) {}

  LogicalResult run() {
    SmallVector<Operation *> updates;
    for (Operation &op : body) {
      placeOf.try_emplace(&op, placeOf.size());
      if (isa<UpdateOpInterface>(op))
        updates.push_back(&op);
    }
    for (Operation *update : updates)
      if (failed(check(*update)))
        return failure();
    moved.insert_range(updates);
    llvm::stable_sort(updates,
                      [&](Operation *a, Operation *b) { return readyAt(*a) < readyAt(*b); });
    for (Operation *update : updates)
      move(*update);
    runPending(body.getTerminator());
    runPending(body.getTerminator());
    for (Operation *part : unread)
      if (part->use_empty() && isMemoryEffectFree(part))
        part->erase();
    moveIdleScalars(!updates.empty());
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // What may run there
  //===--------------------------------------------------------------------===//

  LogicalResult check(Operation &update) {
    if (!update.hasTrait<llm::InOneMemory>())
      return update.emitOpError("reads whole rows, which no kernel of the host does; train with "
                                "adamw, sgd or lion, or leave --update-on=host out");
    if (update.hasAttr("server"))
      return update.emitOpError("is a server's, which updates on its device; leave "
                                "--data-parallel=server or --update-on=host out");
    auto op = cast<UpdateOpInterface>(update);
    for (Value operand : update.getOperands())
      if (operand != op.getUpdatedParam() && operand != op.getUpdatingGradient() &&
          !isScalar(operand) && failed(checkState(update, operand)))
        return failure();
    for (Value state : ValueRange(update.getResults()).drop_front())
      if (failed(checkReaders(state, update)))
        return failure();
    return success();
  }

  LogicalResult checkState(Operation &update, Value state) {
    if (!isa<BlockArgument>(state))
      return update.emitOpError("has state that is no argument of the step, which cannot lie on "
                                "the host; differentiate the model anew");
    return checkReaders(state, update);
  }

  LogicalResult checkReaders(Value state, Operation &update) {
    for (Operation *user : state.getUsers())
      if (user != &update && user != body.getTerminator())
        return user->emitOpError("reads state of the optimizer, which --update-on=host leaves on "
                                 "the host; leave that out");
    return success();
  }

  //===--------------------------------------------------------------------===//
  // One update
  //===--------------------------------------------------------------------===//

  bool liesThere(Value param) const {
    auto argument = dyn_cast<BlockArgument>(param);
    return argument && isMoved(argument);
  }

  bool isReturned(Operation &update) const {
    return llvm::all_of(update.getResult(0).getUsers(),
                        [&](Operation *user) { return user == body.getTerminator(); });
  }

  /// Returns the place after which the update may run: that of the last op that makes its gradient
  /// or a number that it reads, or its own.
  size_t readyAt(Operation &update) const {
    auto op = cast<UpdateOpInterface>(update);
    std::optional<size_t> ready; // none where it reads arguments alone
    for (Value operand : update.getOperands())
      if (Operation *writer = operand.getDefiningOp(); writer && operand != op.getUpdatedParam())
        ready = std::max(ready.value_or(0), placeOf.lookup(writer));
    const bool waits = !ready || liesThere(op.getUpdatedParam()) || !isReturned(update);
    return waits ? placeOf.lookup(&update) : *ready;
  }

  void move(Operation &update) {
    auto op = cast<UpdateOpInterface>(update);
    Value param = op.getUpdatedParam(), gradient = op.getUpdatingGradient();
    const bool isThere = liesThere(param), hasMaster = bool(op.getMasterCopy());
    const bool returned = isReturned(update), isEarly = readyAt(update) < placeOf.lookup(&update);
    Value gradientThere = copyToHost(gradient, update, update, nameOfGradient(gradient, param));
    Operation *place = isEarly ? insertionPointAfter(gradientThere, update) : &update;
    Value paramThere = isThere     ? param // its type follows when all of its readers are known
                       : hasMaster ? gradientThere // what is not read
                                   : copyToHost(param, *place, update, getName(param));
    runPending(place);
    for (OpOperand &operand : update.getOpOperands()) {
      if (operand.get() == param)
        operand.set(paramThere);
      else if (operand.get() == gradient)
        operand.set(gradientThere);
      else if (isScalar(operand.get()))
        operand.set(scalarThere(operand.get()));
      else
        operand.get().setType(onHost(operand.get()));
    }
    if (Operation *part = param.getDefiningOp()) // of a parameter that ranks have whole
      unread.insert(part);
    for (Value result : update.getResults())
      result.setType(onHost(result));
    previous = {&update, llm::CopyToDeviceOp(), placeOf.lookup(&update)};
    if (!isThere || !returned)
      previous.down = copyToDevice(update, getName(param),
                                   returned ? cast<BlockArgument>(param) : BlockArgument());
    if (!returned) // what reads the new parameter stands here
      previous = {};
  }

  /// Returns the op that follows what an update reads, and what has its place already.
  Operation *insertionPointAfter(Value gradientThere, Operation &update) {
    Operation *last = gradientThere.getDefiningOp();
    for (Value operand : update.getOperands())
      if (isScalar(operand) && operand.getDefiningOp())
        if (Operation *up = scalarThere(operand).getDefiningOp(); last->isBeforeInBlock(up))
          last = up;
    Operation *place = last->getNextNode();
    if (lastPlace && place->isBeforeInBlock(lastPlace))
      place = lastPlace;
    while (place == previous.update || place == previous.down ||
           llvm::any_of(older, [&](const Pending &it) { return place == it.down; }))
      place = place->getNextNode();
    return place;
  }

  static std::string nameOfGradient(Value gradient, Value param) {
    return isa<BlockArgument>(gradient) ? getName(gradient) : getName(param) + ".gradient";
  }

  /// Creates the copy after the writer, or before `place` where the value is an argument.
  Value copyToHost(Value value, Operation &place, Operation &update, const Twine &name) {
    if (Operation *writer = value.getDefiningOp())
      builder.setInsertionPointAfter(writer);
    else
      builder.setInsertionPoint(&place);
    auto up = llm::CopyToHostOp::create(builder, update.getLoc(), onHost(value), value,
                                        /*destination=*/Value());
    describe(up, name.str(), update, link.up);
    return up.getHost();
  }

  void describe(Operation *copy, StringRef name, Operation &update, int64_t rate) {
    describeHostCopy(
        copy, name,
        planning::timeOfCopy(bytesOfType(copy->getResultTypes()[0]), rate, link.latency));
    llm::writePhase(copy, llm::Phase::Update);
    if (Attribute block = update.getAttr(LlmDialect::kBlock))
      copy->setAttr(LlmDialect::kBlock, block);
  }

  /// A number that only updates read lies on the host throughout; any other is copied to it once
  /// for all.
  Value scalarThere(Value scalar) {
    Value &known = scalars[scalar];
    if (known)
      return known;
    auto argument = dyn_cast<BlockArgument>(scalar);
    if (argument &&
        llvm::all_of(argument.getUsers(), [&](Operation *user) { return moved.contains(user); })) {
      argument.setType(onHost(argument));
      return known = argument;
    }
    OpBuilder::InsertionGuard guard(builder);
    argument ? builder.setInsertionPointToStart(&body)
             : builder.setInsertionPointAfterValue(scalar);
    auto up = llm::CopyToHostOp::create(builder, scalar.getLoc(), onHost(scalar), scalar,
                                        /*destination=*/Value());
    describeHostCopy(up, getName(scalar),
                     planning::timeOfCopy(bytesOfType(scalar.getType()), link.up, link.latency));
    llm::writePhase(up, llm::Phase::Update);
    return known = up.getHost();
  }

  /// Copies into the bytes of `destination`, where one is given.
  llm::CopyToDeviceOp copyToDevice(Operation &update, StringRef name, BlockArgument destination) {
    Value there = update.getResult(0);
    builder.setInsertionPointAfter(&update);
    auto type = cast<RankedTensorType>(there.getType());
    auto down = llm::CopyToDeviceOp::create(
        builder, update.getLoc(), RankedTensorType::get(type.getShape(), type.getElementType()),
        there, destination);
    describe(down, name, update, link.down);
    there.replaceAllUsesExcept(down.getY(), down);
    return down;
  }

  //===--------------------------------------------------------------------===//
  // Places
  //===--------------------------------------------------------------------===//

  /// Moves the pending update before `place`, and after it the copies to the device of those
  /// before that.
  void runPending(Operation *place) {
    if (previous.update)
      previous.update->moveBefore(place);
    while (!older.empty() && older.front().place <= placeAt(place)) {
      older.front().down->moveBefore(place);
      older.pop_front();
    }
    if (previous.down)
      older.push_back(previous);
    previous = {};
    lastPlace = place;
  }

  /// Returns the place that `op` had, or that of the next op that is no copy.
  size_t placeAt(Operation *op) const {
    while (!placeOf.contains(op))
      op = op->getNextNode();
    return placeOf.lookup(op);
  }

  /// Moves what the update after the micro-batches reads, in the function of those.
  void moveIdleScalars(bool hasUpdates) {
    for (BlockArgument argument : body.getArguments())
      if (!hasUpdates && argument.use_empty() && getRole(argument) == llm::Role::Input &&
          isa<RankedTensorType>(argument.getType()) && isScalar(argument))
        argument.setType(onHost(argument));
  }

  func::FuncOp step;
  Block &body;
  const planning::HostLink link;
  function_ref<bool(BlockArgument)> isMoved;
  OpBuilder builder;
  llvm::DenseMap<Value, Value> scalars; // on the host
  llvm::SmallPtrSet<Operation *, 16> moved;
  llvm::SetVector<Operation *> unread;
  llvm::DenseMap<Operation *, size_t> placeOf; // of each op of the step as it was
  struct Pending {
    Operation *update = nullptr; // still where it stood
    llm::CopyToDeviceOp down;
    size_t place = 0; // of the update
  };
  Pending previous;
  std::deque<Pending> older;      // whose updates stand where they run
  Operation *lastPlace = nullptr; // in front of which these stand
};
} // namespace

LogicalResult llmmem::moveUpdatesToHost(func::FuncOp step, const planning::HostLink &link,
                                        function_ref<bool(BlockArgument)> isMoved) {
  return UpdateMover(step, link, isMoved).run();
}
