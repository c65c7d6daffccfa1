//===- ConvolutionOps.h - Short convolutions along a sequence ------------===//
//
// ConvolutionOps.td says what they mean. They have a header of their own because few sources name
// them.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_CONVOLUTIONOPS_H
#define LLMMEM_DIALECT_CONVOLUTIONOPS_H

#include "llmmem/Dialect/LlmOps.h"

#define GET_OP_CLASSES
#include "llmmem/Dialect/ConvolutionOps.h.inc"

#endif // LLMMEM_DIALECT_CONVOLUTIONOPS_H
