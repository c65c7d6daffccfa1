//===- RegionCaptures.cpp - What regions read from around them, as operands ===//

#include "llmmem/Transforms/RegionCaptures.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace llmmem;

static constexpr llvm::StringLiteral kCaptures = "llmmem.captures";

static bool isInside(OpOperand &use, Region &region) {
  return region.isAncestor(use.getOwner()->getParentRegion());
}

static void passCaptures(Operation *op) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  if (captured.empty() ||
      !llvm::all_of(op->getRegions(), [](Region &it) { return it.empty() || it.hasOneBlock(); }))
    return;
  for (Region &region : op->getRegions())
    for (Value value : captured)
      if (!region.empty()) {
        Value given = region.addArgument(value.getType(), value.getLoc());
        value.replaceUsesWithIf(given, [&](OpOperand &use) { return isInside(use, region); });
      }
  op->insertOperands(op->getNumOperands(), captured.getArrayRef());
  op->setAttr(kCaptures, IntegerAttr::get(IntegerType::get(op->getContext(), 64),
                                          static_cast<int64_t>(captured.size())));
}

void llmmem::passCaptures(func::FuncOp step) {
  // Inner ops come first: what they read is then read by the region around them.
  step.walk([](Operation *op) {
    if (!op->isRegistered() && op->getNumRegions() > 0)
      ::passCaptures(op);
  });
}

void llmmem::returnCaptures(ModuleOp module) {
  module.walk<WalkOrder::PreOrder>([](Operation *op) {
    auto count = op->getAttrOfType<IntegerAttr>(kCaptures);
    if (!count)
      return;
    unsigned number = count.getInt(), first = op->getNumOperands() - number;
    for (Region &region : op->getRegions())
      if (!region.empty()) {
        Block &block = region.front();
        unsigned begin = block.getNumArguments() - number;
        for (unsigned place = 0; place < number; ++place)
          block.getArgument(begin + place).replaceAllUsesWith(op->getOperand(first + place));
        block.eraseArguments(begin, number);
      }
    op->eraseOperands(first, number);
    op->removeAttr(kCaptures);
  });
}
