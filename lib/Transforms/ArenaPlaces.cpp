//===- ArenaPlaces.cpp - Offsets, written onto the ops ----------------------===//

#include "ArenaPlaces.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Layout/ResidentBytes.h"
#include "llmmem/Layout/StepLiveness.h"
#include "llmmem/Layout/Workspaces.h"
#include "llmmem/Support/ByteSize.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

namespace {
/// Counts one memory of a step: what is resident there, and the arena as far as it is known to
/// reach.
class Arena {
public:
  explicit Arena(Count resident) : resident(resident) {}

  /// Fails, after a diagnostic at `op`, where what is resident and the arena pass 2^63 bytes.
  LogicalResult add(Operation *op, int64_t offset, int64_t bytes) {
    Count end = Count(offset) + bytes;
    if ((resident + end).isTooMany())
      return op->emitError() << "has a place of " << bytes << " bytes at byte " << offset
                             << " of the arena; expected fewer than 2^63 together with the "
                                "resident bytes: plan the model again";
    arena = std::max<int64_t>(arena, end);
    return success();
  }

  int64_t bytes() const { return arena; }

  /// Fails, after a diagnostic at `step`, where the attribute `budget` is exceeded.
  LogicalResult checkBudget(func::FuncOp step, StringRef budget, StringRef whose) const {
    auto limit = step->getAttrOfType<IntegerAttr>(budget);
    const int64_t total = resident + arena;
    if (!limit || total <= limit.getInt())
      return success();
    return step.emitError() << "needs " << formatByteSize(total)
                            << " of resident buffers and arena, more than the budget" << whose
                            << " of " << formatByteSize(limit.getInt());
  }

private:
  Count resident;
  int64_t arena = 0;
};

class ArenaWriter {
public:
  ArenaWriter(func::FuncOp step, const StepStorage &storage, const ArenaPlaces &places)
      : ArenaWriter(step, storage, places, StepResidents(step)) {}

  LogicalResult run() {
    for (Operation &op : step.getBody().front().without_terminator())
      if (failed(writeOffsets(op)) || failed(writeWorkspace(op)))
        return failure();
    if (failed(device.checkBudget(step, LlmDialect::kBudget, "")) ||
        failed(host.checkBudget(step, LlmDialect::kHostBudget, " of the host")))
      return failure();
    Builder builder(step.getContext());
    step->setAttr(LlmDialect::kArena, builder.getI64IntegerAttr(device.bytes()));
    if (host.bytes() > 0)
      step->setAttr(LlmDialect::kHostArena, builder.getI64IntegerAttr(host.bytes()));
    else
      step->removeAttr(LlmDialect::kHostArena); // of an earlier plan
    // An analysis from before the offsets would be stale.
    step->setAttr(LlmDialect::kPeak, builder.getI64IntegerAttr(StepLiveness(step, storage).peak));
    return success();
  }

private:
  ArenaWriter(func::FuncOp step, const StepStorage &storage, const ArenaPlaces &places,
              const StepResidents &residents)
      : step(step), storage(storage), places(places), device(residents.device.allocated),
        host(residents.host.allocated) {}

  LogicalResult writeOffsets(Operation &op) {
    SmallVector<int64_t> offsets;
    for (OpResult result : op.getResults()) {
      bool outside = storage.getArgument(result) || storage.isConstant(result);
      offsets.push_back(outside ? -1 : places.values.lookup(storage.getRoot(result)));
      // A view may show more than there is, as a broadcast does.
      if (outside || storage.getRoot(result) != result)
        continue;
      Arena &arena = llm::isOnHost(result.getType()) ? host : device;
      if (failed(arena.add(&op, offsets.back(), bytesOfType(result.getType()))))
        return failure();
    }
    op.setAttr(LlmDialect::kOffsets, DenseI64ArrayAttr::get(op.getContext(), offsets));
    return success();
  }

  LogicalResult writeWorkspace(Operation &op) {
    auto place = places.workspaces.find(&op);
    if (place == places.workspaces.end())
      return success();
    const int64_t offset = place->second, bytes = workspaceBytes(&op);
    op.setAttr(LlmDialect::kWorkspace, DenseI64ArrayAttr::get(op.getContext(), {offset, bytes}));
    return device.add(&op, offset, bytes);
  }

  func::FuncOp step;
  const StepStorage &storage;
  const ArenaPlaces &places;
  Arena device, host;
};
} // namespace

LogicalResult llmmem::writeArena(func::FuncOp step, const StepStorage &storage,
                                 const ArenaPlaces &places) {
  return ArenaWriter(step, storage, places).run();
}
