//===- UpdateOpInterface.h - What an optimizer's update is -----------------===//

#ifndef LLMMEM_INTERFACES_UPDATEOPINTERFACE_H
#define LLMMEM_INTERFACES_UPDATEOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

#include "llmmem/Interfaces/UpdateOpInterface.h.inc"

#endif // LLMMEM_INTERFACES_UPDATEOPINTERFACE_H
