//===- Expectations.cpp - What data decides in a kernel, on average --------===//

#include "llmmem/Codegen/Emitter/Expectations.h"
#include "llmmem/Dialect/LlmDialect.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

void llmmem::expectIterations(Operation *op, double iterations) {
  op->setAttr(LlmDialect::kExpectedIterations,
              FloatAttr::get(Float64Type::get(op->getContext()), iterations));
}

double llmmem::expectedIterations(Operation *op) {
  auto iterations = op->getAttrOfType<FloatAttr>(LlmDialect::kExpectedIterations);
  return iterations ? iterations.getValueAsDouble() : 1.0;
}

void llmmem::expectShare(Value buffer, double share) {
  auto argument = dyn_cast_or_null<BlockArgument>(buffer);
  auto host = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  if (host)
    host.setArgAttr(argument.getArgNumber(), LlmDialect::kExpectedShare,
                    FloatAttr::get(Float64Type::get(host.getContext()), share));
}

double llmmem::expectedShare(func::FuncOp host, unsigned number) {
  auto share = host.getArgAttrOfType<FloatAttr>(number, LlmDialect::kExpectedShare);
  return share ? share.getValueAsDouble() : 1.0;
}
