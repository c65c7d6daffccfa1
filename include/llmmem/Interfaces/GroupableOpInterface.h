//===- GroupableOpInterface.h - Who may share a kernel -------------------===//

#ifndef LLMMEM_INTERFACES_GROUPABLEOPINTERFACE_H
#define LLMMEM_INTERFACES_GROUPABLEOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

namespace llmmem {

/// Says how an op traverses its elements.
enum class Traversal { Elementwise, RowReduction, Matmul, ColumnReduction, Attention, Columns };

} // namespace llmmem

#include "llmmem/Interfaces/GroupableOpInterface.h.inc"

#endif // LLMMEM_INTERFACES_GROUPABLEOPINTERFACE_H
