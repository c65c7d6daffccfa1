//===- AttentionColumns.h - Attention where a product wrote it -------------===//

#ifndef LLMMEM_LIB_TRANSFORMS_ATTENTIONCOLUMNS_H
#define LLMMEM_LIB_TRANSFORMS_ATTENTIONCOLUMNS_H

#include "llmmem/Transforms/GroupKernels.h"

namespace llmmem {

/// Makes a kernel of each attention, or gradient of one, and the splits that it reads heads from
/// and the concat that its gradients go into. A split that others read too stays.
GroupingCounts groupAttention(mlir::Block &block);

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_ATTENTIONCOLUMNS_H
