//===- StepPlaces.cpp - Where the bytes of each value of a step lie --------===//

#include "llmmem/Layout/StepPlaces.h"
#include "llmmem/Alignment.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Layout/StepStorage.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

FailureOr<StepPlaces> StepPlaces::read(func::FuncOp step) {
  StepPlaces plan;
  if (!llvm::hasSingleElement(step.getBody()))
    return step.emitError("a step is straight-line code: expected a function of one block");
  auto arena = step->getAttrOfType<IntegerAttr>(LlmDialect::kArena);
  if (!arena || arena.getInt() < 0)
    return step.emitError("is not planned: it has no '")
           << LlmDialect::kArena
           << "'; plan it with 'llmmem-opt --checkpoint-policy=none model.mlir -o step.mlir'";
  plan.arena = arena.getInt();
  if (auto host = step->getAttrOfType<IntegerAttr>(LlmDialect::kHostArena))
    plan.hostArena = host.getInt();
  if (failed(plan.readDonations(step)))
    return failure();
  // The planner's reading of donations and of views: an op may be allowed to overwrite several
  // arguments, of which a plan means the one that is given back as its result.
  const StepStorage storage(step);
  if (!storage.isValid())
    return failure();
  for (BlockArgument argument : step.getArguments())
    plan.places[argument] = Place{argument.getArgNumber(), 0};
  for (Operation &op : step.getBody().front().without_terminator())
    if (failed(plan.placeResults(op, storage)) || failed(plan.checkWorkspace(op)))
      return failure();
  return plan;
}

LogicalResult StepPlaces::readDonations(func::FuncOp step) {
  donations.resize(step.getNumResults());
  for (BlockArgument argument : step.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto donated = step.getArgAttrOfType<IntegerAttr>(number, LlmDialect::kDonated);
    if (!donated)
      continue;
    int64_t result = donated.getInt();
    if (result < 0 || result >= static_cast<int64_t>(donations.size()) || donations[result] ||
        step.getResultTypes()[result] != argument.getType())
      return step.emitError("argument ")
             << number << " is donated to result " << result
             << ", which does not exist, has another type, or has a donor already";
    donations[result] = number;
  }
  return success();
}

LogicalResult StepPlaces::placeResults(Operation &op, const StepStorage &storage) {
  auto offsets = op.getAttrOfType<DenseI64ArrayAttr>(LlmDialect::kOffsets);
  if (!offsets || offsets.size() != op.getNumResults())
    return op.emitOpError("is not planned: expected one '")
           << LlmDialect::kOffsets << "' for each result; plan the model with "
           << "'llmmem-opt --checkpoint-policy=none model.mlir -o step.mlir'";
  for (OpResult result : op.getOpResults()) {
    int64_t offset = offsets[result.getResultNumber()];
    if (failed(offset == -1 ? placeInArgument(result, storage) : placeInArena(result, offset)))
      return failure();
  }
  return success();
}

LogicalResult StepPlaces::placeInArena(OpResult result, int64_t offset) {
  int64_t bytes = bytesOfType(result.getType());
  bool onHost = llm::isOnHost(result.getType());
  int64_t end = onHost ? hostArena : arena;
  if (offset < 0 || offset > end || bytes > end - offset)
    return result.getOwner()->emitOpError("places result ")
           << result.getResultNumber() << " at bytes " << offset << " to "
           << static_cast<uint64_t>(offset) + bytes << " of an arena of " << end
           << (onHost ? " on the host" : "");
  if (offset % kVectorAlignment != 0)
    return result.getOwner()->emitOpError("places a result at byte ")
           << offset << ", expected a multiple of " << kVectorAlignment;
  Place place{std::nullopt, offset, onHost};
  std::optional<unsigned> viewed = viewedOperand(result);
  if (viewed && !(placeOf(result.getOwner()->getOperand(*viewed)) == place))
    return result.getOwner()->emitOpError("is a view, but its offset is not that of its source");
  places[result] = place;
  return success();
}

LogicalResult StepPlaces::placeInArgument(OpResult result, const StepStorage &storage) {
  if (BlockArgument argument = storage.getArgument(result)) {
    places[result] = Place{argument.getArgNumber()};
    return success();
  }
  return result.getOwner()->emitOpError("says that the bytes of result ")
         << result.getResultNumber()
         << " are an argument's (offset -1), but no operand that it may alias or replace "
         << "in place lies in an argument, or in none that is donated to it";
}

LogicalResult StepPlaces::checkWorkspace(Operation &op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  int64_t needed = cost ? cost.getWorkspaceBytes() : 0;
  if (needed == 0)
    return success();
  std::optional<Workspace> workspace = plannedWorkspace(&op);
  if (workspace && workspace->offset >= 0 && workspace->offset % kVectorAlignment == 0 &&
      workspace->bytes >= needed && workspace->offset <= arena &&
      workspace->bytes <= arena - workspace->offset)
    return success();
  return op.emitOpError("needs a workspace of ")
         << needed << " bytes inside the arena: expected '" << LlmDialect::kWorkspace
         << " = array<i64: offset, bytes>'";
}
