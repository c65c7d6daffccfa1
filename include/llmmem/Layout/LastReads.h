//===- LastReads.h - How long values are held in the order of a block --------===//

#ifndef LLMMEM_LAYOUT_LASTREADS_H
#define LLMMEM_LAYOUT_LASTREADS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace llmmem {

/// Returns the last op of `block`, its terminator included, that reads each value. `rootOf` gives
/// the value whose bytes a value has, or null for a value whose lifetime does not matter. `readsOf`
/// gives the values that an op reads: what a copy reads is read until its wait, and a view reads
/// nothing where its readers do.
///
/// Example: of `%v = reshape %x; %y = silu %v; return %y` with the roots of views, the last op that
/// reads %x is the silu.
llvm::DenseMap<mlir::Value, mlir::Operation *>
findLastReads(mlir::Block &block, llvm::function_ref<mlir::Value(mlir::Value)> rootOf,
              llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Operation &)> readsOf);

} // namespace llmmem

#endif // LLMMEM_LAYOUT_LASTREADS_H
