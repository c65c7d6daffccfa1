//===- ChunkedOpInterface.h - Ops that work in chunks --------------------===//

#ifndef LLMMEM_INTERFACES_CHUNKEDOPINTERFACE_H
#define LLMMEM_INTERFACES_CHUNKEDOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

#include "llmmem/Interfaces/ChunkedOpInterface.h.inc"

#endif // LLMMEM_INTERFACES_CHUNKEDOPINTERFACE_H
