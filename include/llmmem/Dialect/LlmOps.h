//===- LlmOps.h - The ops of the dialect -----------------------------------===//

#ifndef LLMMEM_DIALECT_LLMOPS_H
#define LLMMEM_DIALECT_LLMOPS_H

#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Interfaces/AccumulatingOpInterface.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/ChunkedOpInterface.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Interfaces/DifferentiableOpInterface.h"
#include "llmmem/Interfaces/GroupableOpInterface.h"
#include "llmmem/Interfaces/RandomOpInterface.h"
#include "llmmem/Interfaces/ShardingOpInterface.h"
#include "llmmem/Interfaces/UpdateOpInterface.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace llmmem::llm {

/// Represents what exchanges between devices read and write, as memory effects, so that they keep
/// their order.
struct NetworkResource : mlir::SideEffects::Resource::Base<NetworkResource> {
  llvm::StringRef getName() final { return "llm.network"; }
};

/// Returns the element type of the statistics and losses of an op on `elementType`: f64 for f64,
/// else f32.
mlir::FloatType wideTypeFor(mlir::Type elementType);

/// Returns the `llm.mesh` of the function around `op`; null where there is none.
MeshAttr meshOf(mlir::Operation *op);

/// Returns the number of ranks of a group of `op`, which is under a mesh that has these axes.
int64_t groupSizeOf(mlir::Operation *op, mlir::ArrayAttr axes);

/// Returns whether `op` sends to other ranks: it is a collective, or an op that contains one.
bool isSending(mlir::Operation *op);

/// Returns whether `op` is a collective that may be started: one over more than this rank.
bool isStartable(mlir::Operation *op);

/// Returns whether `op` was started, so that an llm.wait waits for it.
bool isStarted(mlir::Operation *op);

/// Started ops run one after another within a queue, and concurrently with those of other queues.
enum class StartQueue { Network, ToHost, ToDevice, Host };
inline constexpr size_t kStartQueues = 4;

/// Returns the queue of a Startable op: that of collectives, of copies in one direction, or of what
/// runs on the host.
StartQueue queueOf(mlir::Operation *op);

/// Returns whether a value of this type lies in the host's memory.
bool isOnHost(mlir::Type type);

/// Returns whether `op` copies between the device and the host.
bool isHostCopy(mlir::Operation *op);

/// Returns whether `op` runs on the host, as an update does whose operands and results lie there.
bool runsOnHost(mlir::Operation *op);

/// Returns the value whose bits `value` has, through any number of copies between the device and
/// the host and their waits; itself where no copy made it.
mlir::Value copiedFrom(mlir::Value value);

/// Verifies ops that use the device alone.
llvm::LogicalResult verifyOnDevice(mlir::Operation *op);

/// Marks ops that neither read nor write values of the host's memory.
template <typename ConcreteOp>
struct OnDevice : mlir::OpTrait::TraitBase<ConcreteOp, OnDevice> {
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifyOnDevice(op); }
};

/// Verifies ops that run on the device or on the host.
llvm::LogicalResult verifyInOneMemory(mlir::Operation *op);

/// Marks ops that run where all of their operands and results lie.
template <typename ConcreteOp>
struct InOneMemory : mlir::OpTrait::TraitBase<ConcreteOp, InOneMemory> {
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifyInOneMemory(op); }
};

/// Verifies Startable ops.
llvm::LogicalResult verifyStart(mlir::Operation *op);

/// Marks ops that may carry `llm.started`.
template <typename ConcreteOp>
struct Startable : mlir::OpTrait::TraitBase<ConcreteOp, Startable> {
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifyStart(op); }
};

} // namespace llmmem::llm

#define GET_OP_CLASSES
#include "llmmem/Dialect/LlmOps.h.inc"

#endif // LLMMEM_DIALECT_LLMOPS_H
