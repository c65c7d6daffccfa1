//===- Models.h - One function a dialect, and what they share --------------===//

#ifndef LLMMEM_LIB_UPSTREAM_MODELS_H
#define LLMMEM_LIB_UPSTREAM_MODELS_H

#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OpDefinition.h"

namespace llmmem::upstream {

void registerLinalg(mlir::DialectRegistry &registry);
void registerTensor(mlir::DialectRegistry &registry);
void registerElementwise(mlir::DialectRegistry &registry);
void registerTosa(mlir::DialectRegistry &registry);
void registerLoops(mlir::DialectRegistry &registry);

/// Represents the op of a model that many ops share.
struct AnyOp : mlir::OpState {
  explicit AnyOp(mlir::Operation *op) : OpState(op) {}
  static bool classof(const mlir::Operation *) { return true; }
};

/// Returns the product of `factors`, or -1 where it does not fit: the caller of a model then
/// reports it.
int64_t product(llvm::ArrayRef<int64_t> factors);

/// Returns the elements of a statically shaped tensor; 0 for any other type.
int64_t elementsOf(mlir::Type type);

/// Returns whether an op on one number of each operand computes with floats. Conversions, constants
/// and integers are not counted.
bool countsAsFlop(mlir::Operation *op);

/// Returns whether `value` views a part of something larger, so that its rows are not contiguous.
bool isPart(mlir::Value value);

/// Returns whether element i has the same place in a buffer of either element type. Two elements of
/// four bits share a byte.
bool haveEqualPlaces(mlir::Type a, mlir::Type b);

/// Returns whether element i of `operand` lies where element i of a tensor at the same bytes would:
/// it is no part of a larger value.
bool coversItsBytes(mlir::Value operand);

/// Returns whether an op that overwrites the bytes of `operand` reads them as another operand, too.
bool isReadTwice(mlir::OpOperand &operand);

/// Returns the operands of the type of `result`, for an op that reads element i of all operands of
/// that shape, and then writes element i.
llvm::SmallVector<unsigned> elementwiseOperands(mlir::OpResult result);

/// Attaches `Models` to each op of a dialect for which `isMeant` holds.
template <typename... Models>
void attachWhere(mlir::MLIRContext *context, llvm::StringRef dialect,
                 llvm::function_ref<bool(mlir::RegisteredOperationName)> isMeant) {
  // getRegisteredOperationsByDialect misses dialects in MLIR 22, because its search compares names
  // by whether they differ.
  for (mlir::RegisteredOperationName name : context->getRegisteredOperations())
    if (name.getDialectNamespace() == dialect && isMeant(name))
      name.attachInterface<Models...>();
}

} // namespace llmmem::upstream

#endif // LLMMEM_LIB_UPSTREAM_MODELS_H
