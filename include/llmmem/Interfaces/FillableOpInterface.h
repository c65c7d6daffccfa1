//===- FillableOpInterface.h - Constants of one number -------------------===//

#ifndef LLMMEM_INTERFACES_FILLABLEOPINTERFACE_H
#define LLMMEM_INTERFACES_FILLABLEOPINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "llmmem/Interfaces/FillableOpInterface.h.inc"

#endif // LLMMEM_INTERFACES_FILLABLEOPINTERFACE_H
