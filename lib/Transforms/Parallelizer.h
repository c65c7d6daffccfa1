//===- Parallelizer.h - The walk that splits a forward over ranks ----------===//

#ifndef LLMMEM_LIB_TRANSFORMS_PARALLELIZER_H
#define LLMMEM_LIB_TRANSFORMS_PARALLELIZER_H

#include "ParallelizeOperands.h"
#include "llmmem/Transforms/Parallelize.h"

namespace llmmem {

void removeFrom(Axes &axes, llvm::ArrayRef<mlir::StringAttr> others);

/// Holds the axes of a mesh by what they split. Those that it does not have are null.
struct AxesByUse {
  explicit AxesByUse(llm::MeshAttr mesh)
      : tensor(find(mesh, kTensorParallelAxis)), experts(find(mesh, kExpertParallelAxis)),
        context(find(mesh, kContextParallelAxis)) {
    for (mlir::StringAttr axis : {find(mesh, kDataParallelAxis), experts})
      if (axis)
        batch.push_back(axis);
    copies = batch;
    if (context)
      copies.push_back(context);
  }

  mlir::StringAttr tensor, experts, context;
  Axes batch;  // Outermost first.
  Axes copies; // Their ranks have copies of parameters, and sum their gradients.

private:
  static mlir::StringAttr find(llm::MeshAttr mesh, llvm::StringRef name) {
    auto axis = mlir::StringAttr::get(mesh.getContext(), name);
    return mesh.findAxis(name) ? axis : mlir::StringAttr();
  }
};

/// Splits arguments and everything that follows from them.
class Parallelizer {
public:
  Parallelizer(mlir::func::FuncOp loss, const ParallelStrategy &strategy)
      : loss(loss), body(loss.getBody().front()), strategy(strategy), shardings(loss),
        meshAxes(shardings.getMesh()), choice(shardings, meshAxes.tensor, strategy.inference),
        reader(shardings, ofParameters, meshAxes.context, strategy.inference) {}

  llvm::LogicalResult run();

private:
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
  AxesByUse meshAxes;
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
