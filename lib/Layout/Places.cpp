//===- Places.cpp - Where a planned step puts its bytes ---------------------===//

#include "llmmem/Layout/Places.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

bool llmmem::anyMeet(ArrayRef<ByteRange> some, ArrayRef<ByteRange> others) {
  return llvm::any_of(some, [&](const ByteRange &one) {
    return llvm::any_of(others, [&](const ByteRange &other) { return one.meets(other); });
  });
}

bool llmmem::hasOffsets(Operation *op) {
  auto offsets = op->getAttrOfType<DenseI64ArrayAttr>(LlmDialect::kOffsets);
  return offsets && offsets.size() == static_cast<int64_t>(op->getNumResults());
}

std::optional<int64_t> llmmem::plannedOffset(OpResult result) {
  auto offsets = result.getOwner()->getAttrOfType<DenseI64ArrayAttr>(LlmDialect::kOffsets);
  if (!offsets || offsets.size() <= static_cast<int64_t>(result.getResultNumber()))
    return std::nullopt;
  return offsets[result.getResultNumber()];
}

std::optional<Workspace> llmmem::plannedWorkspace(Operation *op) {
  auto workspace = op->getAttrOfType<DenseI64ArrayAttr>(LlmDialect::kWorkspace);
  if (!workspace || workspace.size() != 2)
    return std::nullopt;
  return Workspace{workspace[0], workspace[1]};
}

Place llmmem::plannedPlace(Value value, const StepStorage &storage) {
  if (BlockArgument argument = storage.getArgument(value))
    return {argument.getArgNumber()};
  auto root = cast<OpResult>(storage.getRoot(value));
  return {std::nullopt, plannedOffset(root).value_or(-1), llm::isOnHost(root.getType())};
}

ByteRange llmmem::rangeOf(Value root, const Place &place) {
  return {place.argument, place.offset, place.offset + bytesOfType(root.getType()), place.onHost};
}
