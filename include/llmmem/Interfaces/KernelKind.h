//===- KernelKind.h - When two ops have the same kernel --------------------===//
//
// `KernelIdentity` is the one definition of equal kernels. It is asked at two granularities:
//
//   code    ops share machine code where their identities are equal in all parts
//   price   ops share a price where their identities are equal but for what `priceKey` leaves out:
//           which results of a group are read, in which order they are handed out, the scratch
//           bytes, and whether a library computes it. So equal code has equal prices. Attention
//           has one price wherever its rows begin.
//
// Annotations of passes are in neither: an op and its recomputation have one kernel.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_INTERFACES_KERNELKIND_H
#define LLMMEM_INTERFACES_KERNELKIND_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include <string>

namespace llmmem {

/// Returns the name under which a profile counts an op's kernel and a device table prices it:
/// `linear`; of a group, what it is made of: `silu+mul`. Attention on columns of other tensors is
/// `attention`: nothing else is computed.
std::string kernelKind(mlir::Operation *op);
/// Returns the matmul in a group that has one, else null.
mlir::Operation *matmulIn(mlir::Operation *op);
/// Returns the attention, or gradient of one, in a group that has one, else null.
mlir::Operation *attentionIn(mlir::Operation *op);

/// Holds what decides the kernel of an op.
class KernelIdentity {
public:
  static KernelIdentity of(mlir::Operation *op);

  /// Returns all of it. Equal attributes mean equal machine code.
  mlir::Attribute codeKey() const;

  /// Returns what people read in profiles and device tables: kind, types of operands and results
  /// (equal neighbours once, with their number), inherent attributes, and the body of a group.
  ///
  ///   linear(4x64xf32, 192x64xf32, 192xf32) -> 4x192xf32
  ///   add+layer_norm(4x64xf32 * 2, 64xf32 * 2) -> 4x64xf32, 4xf32 * 2 [add 0 1; layer_norm 4 2 3
  ///   {eps = 1.0e-05}]
  std::string priceKey() const;

private:
  /// Describes an op by what it does: its inherent attributes without the number of a random
  /// stream, which is an argument of the kernel.
  struct Part {
    mlir::OperationName name;
    mlir::DictionaryAttr attributes;
    mlir::FunctionType types;
    /// Holds, in a group, the numbers of what it reads. The group's operands come first, then
    /// results in order.
    llvm::SmallVector<int64_t> reads;
  };

  explicit KernelIdentity(Part whole) : whole(std::move(whole)) {}
  static Part partOf(mlir::Operation *op);
  static mlir::Attribute keyOf(const Part &part);
  bool isGroup() const { return !body.empty(); }

  std::string kind;
  Part whole;
  llvm::SmallVector<Part> body; // the terminator last; empty where the op is no group
  /// Says for each result of a group whether it is read: one without readers is not written.
  llvm::SmallVector<bool> isRead;
  /// Counts a library's workspace, too.
  int64_t workspaceBytes = 0;
  bool isForLibrary = false;
};

/// Returns `KernelIdentity::of(op).priceKey()`; of a group with attention, the attention's.
std::string kernelKey(mlir::Operation *op);

} // namespace llmmem

#endif // LLMMEM_INTERFACES_KERNELKIND_H
