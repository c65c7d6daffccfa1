//===- Parallelizer.h - The walk that splits a forward over ranks ----------===//

#ifndef LLMMEM_LIB_TRANSFORMS_PARALLELIZER_H
#define LLMMEM_LIB_TRANSFORMS_PARALLELIZER_H

#include "ParallelizeOperands.h"
#include "llmmem/Transforms/Parallelize.h"

namespace llmmem {

void removeFrom(Axes &axes, llvm::ArrayRef<mlir::StringAttr> others);

/// Splits arguments and everything that follows from them.
class Parallelizer {
public:
  Parallelizer(mlir::func::FuncOp loss, const ParallelStrategy &strategy)
      : loss(loss), body(loss.getBody().front()), strategy(strategy), shardings(loss),
        dataAxes(findDataAxes()), tensorAxis(findAxis(kTensorParallelAxis)),
        expertAxis(findAxis(kExpertParallelAxis)), contextAxis(findAxis(kContextParallelAxis)),
        choice(shardings, tensorAxis, strategy.inference),
        reader(shardings, ofParameters, contextAxis, strategy.inference) {
    copyAxes = dataAxes;
    if (contextAxis)
      copyAxes.push_back(contextAxis);
  }

  llvm::LogicalResult run();

private:
  mlir::StringAttr findAxis(llvm::StringRef name) {
    auto axis = mlir::StringAttr::get(loss.getContext(), name);
    return shardings.getMesh().findAxis(name) ? axis : mlir::StringAttr();
  }

  /// Returns the axes that split the batch, outermost first.
  Axes findDataAxes() {
    Axes axes;
    for (llvm::StringRef name : {kDataParallelAxis, kExpertParallelAxis})
      if (mlir::StringAttr axis = findAxis(name))
        axes.push_back(axis);
    return axes;
  }

  llvm::LogicalResult startArgument(mlir::BlockArgument argument);
  llvm::LogicalResult splitInput(mlir::BlockArgument argument);
  llvm::LogicalResult splitSequence(mlir::BlockArgument argument, ValueSharding &state);
  Axes copyAxesOf(mlir::BlockArgument parameter) const;
  llvm::LogicalResult checkParts(mlir::BlockArgument argument);
  void finishParameter(mlir::BlockArgument argument);
  void finishCache(mlir::BlockArgument argument);
  void gatherParameters();
  void gatherTogether(llvm::ArrayRef<mlir::BlockArgument> arguments);

  llvm::FailureOr<mlir::Operation *> visit(mlir::Operation *op);
  llvm::LogicalResult visitWhole(mlir::Operation *op);
  llvm::LogicalResult visitSplit(mlir::Operation *op, ShardingOpInterface rule);
  llvm::LogicalResult setResult(mlir::OpResult result, ValueSharding state);
  llvm::FailureOr<mlir::Value> joinParts(mlir::OpResult result, ValueSharding &state,
                                         const Sharding *given);
  llvm::FailureOr<mlir::Value> sumOverRanks(mlir::OpBuilder &builder, mlir::OpResult result,
                                            ValueSharding &state, const Sharding *given);
  std::optional<unsigned> dimensionToScatter(mlir::OpResult result, const ValueSharding &state,
                                             const Sharding *given) const;
  llvm::LogicalResult convert(mlir::Value value, ValueSharding state, const Sharding &given);
  llvm::LogicalResult checkLoss();
  llvm::LogicalResult checkExperts();
  llvm::FailureOr<mlir::Value> wholeOfParts(mlir::Value value);
  llvm::LogicalResult gatherResults();
  void annotate(mlir::BlockArgument argument, llvm::StringRef name, mlir::Attribute attribute) {
    loss.setArgAttr(argument.getArgNumber(), name, attribute);
  }

  mlir::func::FuncOp loss;
  mlir::Block &body;
  const ParallelStrategy &strategy;
  ValueShardings shardings;
  Axes dataAxes;
  mlir::StringAttr tensorAxis, expertAxis, contextAxis; // null where the mesh has none
  /// Holds the axes whose ranks have copies of parameters, and sum their gradients.
  Axes copyAxes;
  ParameterChoice choice;
  /// Holds parameters, and what follows from them alone.
  llvm::DenseSet<mlir::Value> ofParameters;
  OperandReader reader;
  /// Holds parameters that ZeRO splits.
  llvm::SmallVector<mlir::BlockArgument> inParts;
};

/// Fails, after a located diagnostic, where `size` elements do not divide over the ranks of an
/// axis.
llvm::LogicalResult expectDivides(mlir::Value value, unsigned dimension, int64_t size,
                                  mlir::StringAttr axis, int64_t ranks);
void addTo(Axes &axes, llvm::ArrayRef<mlir::StringAttr> more);
/// Gives an op of `parallelize` a name, and the block of its reader or its operand.
void annotateOp(mlir::Operation *op, const llvm::Twine &name, mlir::Operation *neighbour);

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_PARALLELIZER_H
