//===- AccumulatingOpInterface.h - Sums that go on in place --------------===//

#ifndef LLMMEM_INTERFACES_ACCUMULATINGOPINTERFACE_H
#define LLMMEM_INTERFACES_ACCUMULATINGOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

#include "llmmem/Interfaces/AccumulatingOpInterface.h.inc"

#endif // LLMMEM_INTERFACES_ACCUMULATINGOPINTERFACE_H
