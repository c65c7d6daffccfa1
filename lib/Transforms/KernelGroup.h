//===- KernelGroup.h - Ops on their way into one kernel --------------------===//

#ifndef LLMMEM_LIB_TRANSFORMS_KERNELGROUP_H
#define LLMMEM_LIB_TRANSFORMS_KERNELGROUP_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>

namespace llmmem {

/// Whether `op` is elementwise or a row reduction.
bool isGroupable(mlir::Operation *op);
/// Whether `op` is elementwise and may be computed again at every read.
bool isCheapElementwise(mlir::Operation *op);
/// Whether `op` takes columns apart or puts them side by side.
bool isColumns(mlir::Operation *op);
/// Whether `operand` has an element for each element of `op`'s first result.
bool isElementOperand(mlir::Value operand, mlir::Operation *op);
/// Whether the first result of `producer` has an element for each element of `reader`'s first
/// result, and the two may share a kernel.
bool canFeed(mlir::Operation *producer, mlir::Operation *reader);
/// Kernels never mix phases or blocks: the planner and the reports count by them.
bool standTogether(mlir::Operation *a, mlir::Operation *b);

/// Ops that become one kernel, in program order; the kernel stands where the first of them stood.
class KernelGroup {
public:
  explicit KernelGroup(mlir::Operation *op) : ops{op} {}

  llvm::ArrayRef<mlir::Operation *> members() const { return ops; }
  bool contains(mlir::Operation *op) const { return llvm::is_contained(ops, op); }
  /// What the kernel reads, in the order of its first uses.
  llvm::SmallVector<mlir::Value> inputs() const;
  /// What is read outside, in program order.
  llvm::SmallVector<mlir::Value> outputs() const;
  /// The member that is a row reduction, or null.
  mlir::Operation *rowOp() const;
  /// Whether `op`'s elements reach the row op: they are then computed once for each of its sums.
  bool feedsRows(mlir::Operation *op) const;

  /// `this` and `other` together, in program order.
  KernelGroup with(const KernelGroup &other) const;
  /// Whether all that the kernel reads is there before its first member, and nothing that it gives
  /// is read before its last: then nothing lives longer than without the kernel.
  bool keepsLifetimes() const;

private:
  llvm::SmallVector<mlir::Operation *> ops;
};

/// The groups of a block; at first each op is one.
class KernelGroups {
public:
  explicit KernelGroups(mlir::Block &block);

  const KernelGroup &groupOf(mlir::Operation *op) const { return *groups.at(op); }
  /// Puts the group of `producer` into that of `reader`, which reads it and is the only one to;
  /// false where that may not be.
  bool mergeProducer(mlir::Operation *producer, mlir::Operation *reader);
  /// Puts two elementwise groups together that have an operand in common.
  bool mergeSibling(mlir::Operation *first, mlir::Operation *second);
  /// In program order.
  llvm::SmallVector<KernelGroup> withSeveralMembers() const;

private:
  bool merge(mlir::Operation *a, mlir::Operation *b);

  mlir::Block &block;
  llvm::DenseMap<mlir::Operation *, std::shared_ptr<KernelGroup>> groups;
};

/// Puts an `llm.kernel` in the place of the ops of `group`, where the first of them stood. Members
/// that are kernels themselves give it their ops.
mlir::Operation *makeKernel(const KernelGroup &group);

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_KERNELGROUP_H
