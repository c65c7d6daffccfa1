//===- LlmDialect.h - The dialect and its attributes -----------------------===//

#ifndef LLMMEM_DIALECT_LLMDIALECT_H
#define LLMMEM_DIALECT_LLMDIALECT_H

#include "llmmem/Alignment.h"
#include "llmmem/Dialect/Annotation.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"

#include "llmmem/Dialect/LlmEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "llmmem/Dialect/LlmAttributes.h.inc"

// Its helpers for annotations name the attributes above.
#include "llmmem/Dialect/LlmDialect.h.inc"

#endif // LLMMEM_DIALECT_LLMDIALECT_H
