//===- ResidentBytes.cpp - What a step holds from its start to its end -------===//

#include "llmmem/Layout/ResidentBytes.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/Bytes.h"

using namespace mlir;
using namespace llmmem;

void ResidentBytes::add(Count bytes) {
  own += bytes;
  allocated += alignTo(bytes, kArenaAlignment);
}

StepResidents::StepResidents(func::FuncOp step) {
  for (llm::Role role : {llm::Role::Param, llm::Role::Gradient, llm::Role::OptimizerState,
                         llm::Role::Input, llm::Role::Seed})
    byRole[llm::stringifyRole(role).str()] = 0;
  for (auto [number, type] : llvm::enumerate(step.getArgumentTypes())) {
    const Count bytes = bytesOfType(type);
    (llm::isOnHost(type) ? host : device).add(bytes);
    if (llm::isOnHost(type))
      continue;
    if (step.getArgAttr(number, llm::LlmDialect::kServer))
      server.add(bytes);
    const llm::Role role = llm::readRole(step, number).value_or(llm::Role::Input);
    byRole[llm::stringifyRole(role).str()] += bytes;
  }
  for (Operation &op : step.getBody().front())
    if (isResidentOp(&op))
      for (Value result : op.getResults()) {
        device.add(residentBytes(result));
        byRole["constant"] += residentBytes(result);
      }
}
