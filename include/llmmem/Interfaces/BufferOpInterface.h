//===- BufferOpInterface.h ---------------------------------------------------===//

#ifndef LLMMEM_INTERFACES_BUFFEROPINTERFACE_H
#define LLMMEM_INTERFACES_BUFFEROPINTERFACE_H

#include "mlir/IR/OpDefinition.h"
#include <optional>

#include "llmmem/Interfaces/BufferOpInterface.h.inc"

#endif // LLMMEM_INTERFACES_BUFFEROPINTERFACE_H
