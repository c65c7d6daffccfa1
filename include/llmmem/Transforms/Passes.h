//===- Passes.h - The transforms, as passes --------------------------------===//

#ifndef LLMMEM_TRANSFORMS_PASSES_H
#define LLMMEM_TRANSFORMS_PASSES_H

#include "llmmem/Transforms/DescribeOps.h"
#include "llmmem/Transforms/Epilogues.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace llmmem {

#define GEN_PASS_DECL
#include "llmmem/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "llmmem/Transforms/Passes.h.inc"

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_PASSES_H
