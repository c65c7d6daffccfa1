//===- Workspaces.cpp - Scratch bytes that an op needs while it runs --------===//

#include "llmmem/Layout/Workspaces.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/CostOpInterface.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

bool llmmem::pricesItself(Operation *op) {
  return isa<CostOpInterface>(op) && !op->hasAttr(LlmDialect::kCostFrom);
}

int64_t llmmem::workspaceBytes(Operation *op) {
  if (pricesItself(op))
    return cast<CostOpInterface>(op).getWorkspaceBytes();
  auto written = op->getAttrOfType<llm::CostAttr>(LlmDialect::kCost);
  return written ? written.getWorkspace() : 0;
}
