//===- ParallelizeOperands.h - What ranks exchange to read an op ----------===//

#ifndef LLMMEM_LIB_TRANSFORMS_PARALLELIZEOPERANDS_H
#define LLMMEM_LIB_TRANSFORMS_PARALLELIZEOPERANDS_H

#include "ValueShardings.h"

namespace llmmem {

/// Makes of an op's operands what the op can read. All later readers read the same value.
class OperandReader {
public:
  /// `ofParameters` holds parameters, and what follows from them alone; what is made of these is
  /// added to it. `contextAxis` splits sequences, and is null where nothing does.
  OperandReader(ValueShardings &shardings, llvm::DenseSet<mlir::Value> &ofParameters,
                mlir::StringAttr contextAxis, bool inference)
      : shardings(shardings), ofParameters(ofParameters), contextAxis(contextAxis),
        inference(inference) {}

  /// Gives an op positions over cp instead of heads, where it cannot go on with heads. Comes before
  /// parameters that follow what it reads are split.
  llvm::LogicalResult readPositions(mlir::Operation *op);
  /// Prepares the operands of an op that reads something split. Fails after a located diagnostic.
  llvm::LogicalResult readSplit(mlir::Operation *op);
  llvm::LogicalResult readAsOwn(mlir::Operation *op);
  bool canTakePart(const ValueSharding &state, const Axes &axes) const;

private:
  llvm::LogicalResult readWholeDimensions(mlir::Operation *op);
  llvm::LogicalResult readOnOneFactor(mlir::Operation *op);
  llvm::LogicalResult readParts(mlir::Operation *op);
  llvm::FailureOr<mlir::Value> partOf(mlir::Operation *reader, mlir::Value value,
                                      unsigned dimension, const Axes &axes);
  mlir::Value gathered(mlir::Operation *reader, mlir::Value value, unsigned dimension,
                       const Axes &axes);
  mlir::Value exchanged(mlir::Operation *reader, mlir::Value value, unsigned from, unsigned to,
                        const Axes &axes);
  mlir::Value replicaOf(mlir::Operation *reader, mlir::Value value, const Axes &axes);

  ValueShardings &shardings;
  llvm::DenseSet<mlir::Value> &ofParameters;
  mlir::StringAttr contextAxis;
  bool inference;
  llvm::DenseMap<std::tuple<mlir::Value, unsigned, mlir::ArrayAttr>, mlir::Value> gathers;
  llvm::DenseMap<std::tuple<mlir::Value, unsigned, unsigned, mlir::ArrayAttr>, mlir::Value>
      exchanges;
  llvm::DenseMap<std::tuple<mlir::Value, unsigned, mlir::ArrayAttr>, mlir::Value> partsOfWhole;
  llvm::DenseMap<std::pair<mlir::Value, mlir::ArrayAttr>, mlir::Value> replicas;
};

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_PARALLELIZEOPERANDS_H
