//===- HostPlacements.cpp - What a graph of XLA sends to the host -----------===//

#include "llmmem/Transforms/HostPlacements.h"
#include "llmmem/Analysis/StateCopies.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmmem;

// Next to the name, these hold what a call was.
static constexpr llvm::StringLiteral kAttributes = "llmmem.call_attributes",
                                     kProperties = "llmmem.call_properties";

/// Returns where a custom call puts its operand, as XLA names it; empty for other ops.
static StringRef placementOf(Operation *op) {
  auto target = op->getAttrOfType<StringAttr>("call_target_name");
  auto hints = op->getAttrOfType<DictionaryAttr>("mhlo.frontend_attributes");
  if (!target || target.getValue() != "annotate_device_placement" || !hints ||
      op->getNumOperands() != 1 || op->getNumResults() != 1)
    return {};
  auto place = hints.getAs<StringAttr>("_xla_buffer_placement");
  return place ? place.getValue() : StringRef();
}

static bool isToHost(Operation *op) { return placementOf(op).ends_with("pinned_host"); }
static bool isToDevice(Operation *op) { return placementOf(op) == "device"; }

template <typename CopyOp>
static Value replaceByCopy(Operation *call, Value operand, Type type) {
  OpBuilder builder(call);
  auto copy = CopyOp::create(builder, call->getLoc(), type, operand, Value());
  copy->setAttr(kAttributes, call->getDiscardableAttrDictionary());
  if (Attribute properties = call->getPropertiesAsAttribute())
    copy->setAttr(kProperties, properties);
  copy->setAttr(kOwnCopy, builder.getStringAttr(call->getName().getStringRef()));
  return copy->getResult(0);
}

void llmmem::readHostPlacements(func::FuncOp step) {
  for (Operation &op : llvm::make_early_inc_range(step.getBody().front())) {
    auto type = op.getNumResults() == 1 ? dyn_cast<RankedTensorType>(op.getResult(0).getType())
                                        : RankedTensorType();
    if (!type || !isToHost(&op) || op.use_empty() || !llvm::all_of(op.getUsers(), isToDevice))
      continue;
    auto onHost = RankedTensorType::get(type.getShape(), type.getElementType(),
                                        llm::HostAttr::get(op.getContext()));
    Value host = replaceByCopy<llm::CopyToHostOp>(&op, op.getOperand(0), onHost);
    for (Operation *back : llvm::make_early_inc_range(op.getUsers())) {
      back->replaceAllUsesWith(
          ValueRange(replaceByCopy<llm::CopyToDeviceOp>(back, host, back->getResult(0).getType())));
      back->erase();
    }
    op.erase();
  }
}

void llmmem::writeHostPlacements(ModuleOp module) {
  SmallVector<Operation *> copies;
  module.walk([&](Operation *op) {
    if (op->hasAttr(kOwnCopy))
      copies.push_back(op);
  });
  for (Operation *copy : copies) {
    auto tensor = cast<RankedTensorType>(copy->getResult(0).getType());
    OpBuilder builder(copy);
    OperationState state(copy->getLoc(), copy->getAttrOfType<StringAttr>(kOwnCopy).getValue());
    state.addOperands(copy->getOperand(0));
    state.addTypes(RankedTensorType::get(tensor.getShape(), tensor.getElementType()));
    state.addAttributes(copy->getAttrOfType<DictionaryAttr>(kAttributes).getValue());
    state.propertiesAttr = copy->getAttr(kProperties);
    copy->replaceAllUsesWith(builder.create(state)->getResults());
    copy->erase();
  }
}
