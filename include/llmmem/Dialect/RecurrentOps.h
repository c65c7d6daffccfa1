//===- RecurrentOps.h - States that are carried along a sequence ---------===//
//
// RecurrentOps.td says what they mean. They have a header of their own because few sources name
// them.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_RECURRENTOPS_H
#define LLMMEM_DIALECT_RECURRENTOPS_H

#include "llmmem/Dialect/LlmOps.h"

#define GET_OP_CLASSES
#include "llmmem/Dialect/RecurrentOps.h.inc"

#endif // LLMMEM_DIALECT_RECURRENTOPS_H
