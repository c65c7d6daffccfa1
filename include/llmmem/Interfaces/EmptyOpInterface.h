//===- EmptyOpInterface.h - Values without contents ----------------------===//

#ifndef LLMMEM_INTERFACES_EMPTYOPINTERFACE_H
#define LLMMEM_INTERFACES_EMPTYOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

#include "llmmem/Interfaces/EmptyOpInterface.h.inc"

namespace llmmem {

/// Returns whether no op has written into `value` yet.
bool isEmptyValue(mlir::Value value);

} // namespace llmmem

#endif // LLMMEM_INTERFACES_EMPTYOPINTERFACE_H
