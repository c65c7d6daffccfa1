//===- Passes.td - From planned steps to kernels ---------------*- tablegen -*-===//

#ifndef LLMMEM_CONVERSION_PASSES
#define LLMMEM_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

#endif // LLMMEM_CONVERSION_PASSES
