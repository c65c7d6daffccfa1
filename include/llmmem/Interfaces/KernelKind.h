//===- KernelKind.h - The name of an op's kernel ---------------------------===//

#ifndef LLMMEM_INTERFACES_KERNELKIND_H
#define LLMMEM_INTERFACES_KERNELKIND_H

#include "mlir/IR/Operation.h"
#include <string>

namespace llmmem {

/// The name under which a profile counts an op's kernel and a device table prices it: `linear`; of
/// a group, what it is made of: `silu+mul`.
std::string kernelKind(mlir::Operation *op);

} // namespace llmmem

#endif // LLMMEM_INTERFACES_KERNELKIND_H
