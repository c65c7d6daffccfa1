//===- MissingProducts.h - What a device's library cannot multiply ---------===//

#ifndef LLMMEM_LIB_EXECUTION_MISSINGPRODUCTS_H
#define LLMMEM_LIB_EXECUTION_MISSINGPRODUCTS_H

#include "llmmem/Execution/CudaDevice.h"
#include "mlir/IR/BuiltinOps.h"

namespace llmmem {

/// Finds the forms of matmuls for which the library of `device` has no algorithm, among those that
/// host code of `lowered` calls it for. Adds them to `forms` (of `llm.missing_products`), and the
/// reasons to `reasons`. Returns true where there are any.
bool findMissingProducts(mlir::ModuleOp lowered, const CudaDevice &device,
                         llvm::SmallVectorImpl<mlir::Attribute> &forms,
                         std::vector<std::string> &reasons);

} // namespace llmmem

#endif // LLMMEM_LIB_EXECUTION_MISSINGPRODUCTS_H
