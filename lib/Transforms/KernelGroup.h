//===- KernelGroup.h - Ops on their way into one kernel --------------------===//

#ifndef LLMMEM_LIB_TRANSFORMS_KERNELGROUP_H
#define LLMMEM_LIB_TRANSFORMS_KERNELGROUP_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>

namespace llmmem {

/// Returns whether `op` is elementwise or a row reduction.
bool isGroupable(mlir::Operation *op);
/// Returns whether `op` is elementwise and may be recomputed at every read.
bool isCheapElementwise(mlir::Operation *op);
/// Returns whether `op` splits columns or concatenates them.
bool isColumns(mlir::Operation *op);
/// Returns whether `operand` has an element for each element of `op`'s first result.
bool isElementOperand(mlir::Value operand, mlir::Operation *op);
/// Returns whether the first result of `producer` has an element for each element of `reader`'s
/// first result, and the two may share a kernel.
bool canFeed(mlir::Operation *producer, mlir::Operation *reader);
/// Returns whether one kernel may hold both. Kernels never mix phases or blocks: the planner and
/// the reports count by them.
bool standTogether(mlir::Operation *a, mlir::Operation *b);
/// Gives `op` the phase, the block and the micro-batch of `other`, so that they stand together.
void putWith(mlir::Operation *op, mlir::Operation *other);

/// Holds ops that become one kernel, in program order; the kernel stands where the first of them
/// stood.
class KernelGroup {
public:
  explicit KernelGroup(mlir::Operation *op) : ops{op} {}

  llvm::ArrayRef<mlir::Operation *> members() const { return ops; }
  bool contains(mlir::Operation *op) const { return llvm::is_contained(ops, op); }
  /// Returns what the kernel reads, in the order of its first uses.
  llvm::SmallVector<mlir::Value> inputs() const;
  /// Returns what is read outside, in program order.
  llvm::SmallVector<mlir::Value> outputs() const;
  /// Returns the member that is a row reduction, or null.
  mlir::Operation *rowOp() const;
  /// Returns whether `op`'s elements reach the row op: they are then computed once for each of its
  /// sums.
  bool feedsRows(mlir::Operation *op) const;

  /// Returns `this` and `other` together, in program order.
  KernelGroup with(const KernelGroup &other) const;
  /// Returns whether all that the kernel reads is there before its first member, and nothing that
  /// it gives is read before its last: then nothing lives longer than without the kernel.
  bool keepsLifetimes() const;

private:
  llvm::SmallVector<mlir::Operation *> ops;
};

/// Holds the groups of a block; at first each op is one.
class KernelGroups {
public:
  explicit KernelGroups(mlir::Block &block);

  const KernelGroup &groupOf(mlir::Operation *op) const { return *groups.at(op); }
  /// Puts the group of `producer` into that of `reader`, which reads it and is the only one to;
  /// returns false where that may not be.
  bool mergeProducer(mlir::Operation *producer, mlir::Operation *reader);
  /// Joins two elementwise groups that have an operand in common.
  bool mergeSibling(mlir::Operation *first, mlir::Operation *second);
  /// Returns the groups in program order.
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
