//===- EmptyOpInterface.h ---------------------------------------------------===//

#ifndef LLMMEM_INTERFACES_EMPTYOPINTERFACE_H
#define LLMMEM_INTERFACES_EMPTYOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

#include "llmmem/Interfaces/EmptyOpInterface.h.inc"

namespace llmmem {

/// Whether nobody has written into `value` yet.
bool isEmptyValue(mlir::Value value);

/// Bytes that a result of a resident op (`isResidentOp`) holds throughout: 0 of an empty one.
int64_t residentBytes(mlir::Value constant);

} // namespace llmmem

#endif // LLMMEM_INTERFACES_EMPTYOPINTERFACE_H
