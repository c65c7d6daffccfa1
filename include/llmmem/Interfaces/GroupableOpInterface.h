//===- GroupableOpInterface.h ------------------------------------------------===//

#ifndef LLMMEM_INTERFACES_GROUPABLEOPINTERFACE_H
#define LLMMEM_INTERFACES_GROUPABLEOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

namespace llmmem {

/// How an op goes over its elements.
enum class Traversal { Elements, Rows, Product, Columns };

} // namespace llmmem

#include "llmmem/Interfaces/GroupableOpInterface.h.inc"

#endif // LLMMEM_INTERFACES_GROUPABLEOPINTERFACE_H
