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

/// What exchanges between devices read and write, as memory effects go: they keep their order.
struct NetworkResource : mlir::SideEffects::Resource::Base<NetworkResource> {
  llvm::StringRef getName() final { return "llm.network"; }
};

/// The element type that statistics and losses of an op on `elementType` have: f64 beside f64, else
/// f32.
mlir::FloatType wideTypeFor(mlir::Type elementType);

/// `llm.mesh` of the function around `op`; null where there is none.
MeshAttr meshOf(mlir::Operation *op);

/// Ranks of a group of `op`, which stands under a mesh that has these axes.
int64_t groupSizeOf(mlir::Operation *op, mlir::ArrayAttr axes);

/// Whether `op` sends to other ranks: a collective, or an op that has one inside.
bool isSending(mlir::Operation *op);

/// Whether `op` is a collective that may be started: one over more than this rank.
bool isStartable(mlir::Operation *op);

/// Whether `op` was started, and is waited for by an llm.wait.
bool isStarted(mlir::Operation *op);

/// What is started runs one after another within a queue, and beside what is in the others.
enum class StartQueue { Network, Up, Down, Host };
inline constexpr size_t kStartQueues = 4;

/// The queue of a Startable op: that of collectives, of copies in one direction, or of what runs on
/// the host.
StartQueue queueOf(mlir::Operation *op);

/// Whether a value of this type lies in the host's memory.
bool isOnHost(mlir::Type type);

/// Whether `op` copies between the device and the host.
bool isHostCopy(mlir::Operation *op);

/// Whether `op` runs on the host, as an update whose operands and results lie there does.
bool runsOnHost(mlir::Operation *op);

/// The value whose bits `value` has, through any number of copies between the device and the host
/// and their waits; itself where no copy made it.
mlir::Value copiedFrom(mlir::Value value);

/// The verifier of ops that touch the device alone.
llvm::LogicalResult verifyOnDevice(mlir::Operation *op);

/// A trait of ops that neither read nor write values of the host's memory.
template <typename ConcreteOp>
struct OnDevice : mlir::OpTrait::TraitBase<ConcreteOp, OnDevice> {
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifyOnDevice(op); }
};

/// The verifier of ops that run on the device or on the host.
llvm::LogicalResult verifyInOneMemory(mlir::Operation *op);

/// A trait of ops that run where all of their operands and results lie.
template <typename ConcreteOp>
struct InOneMemory : mlir::OpTrait::TraitBase<ConcreteOp, InOneMemory> {
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifyInOneMemory(op); }
};

/// The verifier of Startable ops.
llvm::LogicalResult verifyStart(mlir::Operation *op);

/// A trait of ops that may carry `llm.started`.
template <typename ConcreteOp>
struct Startable : mlir::OpTrait::TraitBase<ConcreteOp, Startable> {
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifyStart(op); }
};

} // namespace llmmem::llm

#define GET_OP_CLASSES
#include "llmmem/Dialect/LlmOps.h.inc"

#endif // LLMMEM_DIALECT_LLMOPS_H
