//===- KernelKind.h - The name of an op's kernel ---------------------------===//

#ifndef LLMMEM_INTERFACES_KERNELKIND_H
#define LLMMEM_INTERFACES_KERNELKIND_H

#include "mlir/IR/Operation.h"
#include <string>

namespace llmmem {

/// The name under which a profile counts an op's kernel and a device table prices it: `linear`; of
/// a group, what it is made of: `silu+mul`.
std::string kernelKind(mlir::Operation *op);
/// The product in a group that has one, else null.
mlir::Operation *productIn(mlir::Operation *op);

/// What decides the kernel of an op: its kind, the types of operands and results (equal neighbours
/// once, with their number), and attributes that are its own, not notes of passes. Ops with equal
/// keys share a kernel, and so a price.
///
///   linear(4x64xf32, 192x64xf32, 192xf32) -> 4x192xf32
///   add+layer_norm(4x64xf32 * 2, 64xf32 * 2) -> 4x64xf32, 4xf32 * 2 [add 0 1; layer_norm 4 2 3
///   {eps = 1.0e-05}]
std::string kernelKey(mlir::Operation *op);

} // namespace llmmem

#endif // LLMMEM_INTERFACES_KERNELKIND_H
