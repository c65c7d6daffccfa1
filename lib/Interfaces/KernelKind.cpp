//===- KernelKind.cpp - The name of an op's kernel -------------------------===//

#include "llmmem/Interfaces/KernelKind.h"

using namespace mlir;

std::string llmmem::kernelKind(Operation *op) {
  std::string kind;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.front().without_terminator())
      kind += (kind.empty() ? "" : "+") + inner.getName().stripDialect().str();
  return kind.empty() ? op->getName().stripDialect().str() : kind;
}
