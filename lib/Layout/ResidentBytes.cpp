//===- ResidentBytes.cpp - What a step holds from its start to its end -------===//

#include "llmmem/Layout/ResidentBytes.h"
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
  for (Type type : step.getArgumentTypes())
    (llm::isOnHost(type) ? host : device).add(bytesOfType(type));
  for (Operation &op : step.getBody().front())
    if (isResidentOp(&op))
      for (Value result : op.getResults())
        device.add(residentBytes(result));
}
