//===- DifferentiableOpInterface.h - Vector-Jacobian products ------------===//

#ifndef LLMMEM_INTERFACES_DIFFERENTIABLEOPINTERFACE_H
#define LLMMEM_INTERFACES_DIFFERENTIABLEOPINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "llmmem/Interfaces/DifferentiableOpInterface.h.inc"

#endif // LLMMEM_INTERFACES_DIFFERENTIABLEOPINTERFACE_H
