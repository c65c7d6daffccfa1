//===- OpInterfaces.cpp - The interfaces that need little code of their own -===//

#include "llmmem/Interfaces/AccumulatingOpInterface.h"
#include "llmmem/Interfaces/ChunkedOpInterface.h"
#include "llmmem/Interfaces/DifferentiableOpInterface.h"
#include "llmmem/Interfaces/EmptyOpInterface.h"
#include "llmmem/Interfaces/FillableOpInterface.h"
#include "llmmem/Interfaces/GroupableOpInterface.h"
#include "llmmem/Interfaces/RandomOpInterface.h"
#include "llmmem/Interfaces/UpdateOpInterface.h"

using namespace mlir;

LogicalResult llmmem::detail::expectGradient(Operation *op, Value gradient) {
  if (gradient)
    return success();
  return op->emitOpError("builds no gradient; implement buildGradient or buildVJP");
}

bool llmmem::isEmptyValue(Value value) {
  return value.getDefiningOp<EmptyOpInterface>() != nullptr;
}

SmallVector<Operation *> llmmem::randomOps(Operation *op) {
  SmallVector<Operation *> random;
  op->walk<WalkOrder::PreOrder>([&](RandomOpInterface inner) { random.push_back(inner); });
  return random;
}

#include "llmmem/Interfaces/AccumulatingOpInterface.cpp.inc"
#include "llmmem/Interfaces/ChunkedOpInterface.cpp.inc"
#include "llmmem/Interfaces/DifferentiableOpInterface.cpp.inc"
#include "llmmem/Interfaces/EmptyOpInterface.cpp.inc"
#include "llmmem/Interfaces/FillableOpInterface.cpp.inc"
#include "llmmem/Interfaces/GroupableOpInterface.cpp.inc"
#include "llmmem/Interfaces/RandomOpInterface.cpp.inc"
#include "llmmem/Interfaces/UpdateOpInterface.cpp.inc"
