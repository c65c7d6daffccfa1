//===- TargetInterface.h - What targets say about ops of the dialect -------===//
//
// The ops say what they mean. Targets say what a matmul library computes in one call, and how a
// target's kernel lays out its scratch bytes. They answer through this interface of the dialect,
// which `registerTargets` (Targets/Targets.h) attaches. A plan is for all targets at once: bytes
// are those of the target that needs most, so one planned step runs on each.
//
// In a context without targets no library computes groups, and a loss head holds only what its
// meaning needs.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_TARGETINTERFACE_H
#define LLMMEM_DIALECT_TARGETINTERFACE_H

#include "llmmem/Dialect/LlmOps.h"
#include "mlir/IR/DialectInterface.h"

namespace llmmem::llm {

struct LibraryCall {
  /// Holds the sum over rows that it computes together with the matmul; null where it computes
  /// none.
  SumRowsOp sum;
};

class TargetInterface : public mlir::DialectInterface::Base<TargetInterface> {
public:
  explicit TargetInterface(mlir::Dialect *dialect) : Base(dialect) {}

  /// Returns how a matmul library computes `kernel`; none where no library does so in one call.
  virtual std::optional<LibraryCall> getLibraryCall(KernelOp kernel) const = 0;

  /// Returns the scratch bytes of a loss head without a library.
  virtual int64_t getLossHeadWorkspaceBytes(LossHeadOp head) const = 0;

  /// Returns the scratch bytes of a weight's gradient whose sum several blocks of a GPU share.
  virtual int64_t getSumPartsBytes(LinearWeightGradOp op) const = 0;

  /// Returns the scratch bytes of latent rows that several blocks share.
  virtual int64_t getLatentPartsBytes(LatentAttentionOp op) const = 0;

  /// Returns the kernel that adds the parts of such a sum, after the one that CostOpInterface
  /// counts; none where one block computes the whole sum.
  virtual std::optional<KernelCost> getSumPartsKernel(mlir::Operation *op) const = 0;
};

/// Returns what the targets of `op`'s context say; null where none are registered.
const TargetInterface *getTargets(mlir::Operation *op);

} // namespace llmmem::llm

#endif // LLMMEM_DIALECT_TARGETINTERFACE_H
