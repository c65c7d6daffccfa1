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

/// The op of a model that many ops share.
struct AnyOp : mlir::OpState {
  explicit AnyOp(mlir::Operation *op) : OpState(op) {}
  static bool classof(const mlir::Operation *) { return true; }
};

/// The product of `factors`, or -1 where it does not fit: the caller of a model then says so.
int64_t product(llvm::ArrayRef<int64_t> factors);

/// Elements of a statically shaped tensor; 0 of any other type.
int64_t elementsOf(mlir::Type type);

/// Whether an op on one number of each operand computes with floats: conversions, constants and
/// whole numbers are not counted.
bool countsAsFlop(mlir::Operation *op);

/// Whether element i of `operand` lies where element i of a tensor at the same bytes would: it is
/// no part of a larger value.
bool coversItsBytes(mlir::Value operand);

/// Whether an op that overwrites the bytes of `operand` reads them as another operand, too.
bool isReadTwice(mlir::OpOperand &operand);

/// The operands of the type of `result`, of an op that reads element i of all operands of that
/// shape, and then writes element i.
llvm::SmallVector<unsigned> elementwiseOperands(mlir::OpResult result);

/// Attaches `Models` to each op of a dialect that `isMeant`.
template <typename... Models>
void attachWhere(mlir::MLIRContext *context, llvm::StringRef dialect,
                 llvm::function_ref<bool(mlir::RegisteredOperationName)> isMeant) {
  // Not getRegisteredOperationsByDialect, which in MLIR 22 misses dialects: its search compares
  // names by whether they differ.
  for (mlir::RegisteredOperationName name : context->getRegisteredOperations())
    if (name.getDialectNamespace() == dialect && isMeant(name))
      name.attachInterface<Models...>();
}

} // namespace llmmem::upstream

#endif // LLMMEM_LIB_UPSTREAM_MODELS_H
