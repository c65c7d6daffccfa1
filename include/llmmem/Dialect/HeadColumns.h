//===- HeadColumns.h - Where the rows of attention's heads lie -------------===//
//
// In an `llm.kernel`, queries, keys and values may be columns of one operand, and their gradients
// columns of one result. For example, in
//
//   %q, %k, %v = llm.split %x : (tensor<8x1024x2304xbf16>) -> (tensor<8x1024x768xbf16>, ...)
//
// %k lies in %x from element 768 on, with 2304 elements from one row to the next.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_HEADCOLUMNS_H
#define LLMMEM_DIALECT_HEADCOLUMNS_H

#include "mlir/IR/Value.h"

namespace llmmem::llm {

/// Describes columns of a tensor.
struct HeadColumns {
  mlir::Value whole;
  /// Count the elements before the first row, and from one row to the next. A tensor that is no
  /// part of another has the pitch 0.
  int64_t begin = 0, pitch = 0;
};

/// Returns whether attention, or its gradient, reads rows of heads at `use`: not statistics, sinks,
/// positions or a seed.
bool readsHeads(mlir::OpOperand &use);
/// Returns whether `value` is rows of heads that attention or its gradient writes.
bool areHeads(mlir::Value value);

/// Returns what attention reads at `operand`: itself, or columns of what is split into it.
HeadColumns columnsRead(mlir::Value operand);
/// Returns what it writes: `result` itself, or columns of what it is concatenated into.
HeadColumns columnsWritten(mlir::OpResult result);

} // namespace llmmem::llm

#endif // LLMMEM_DIALECT_HEADCOLUMNS_H
