//===- ArenaBufferizer.h - Decides on tensors, then writes memrefs ---------===//

#ifndef LLMMEM_LIB_BUFFERIZATION_ARENABUFFERIZER_H
#define LLMMEM_LIB_BUFFERIZATION_ARENABUFFERIZER_H

#include "llmmem/Layout/LoopLayout.h"
#include "llmmem/Layout/Places.h"
#include "llmmem/Layout/StepStorage.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include <memory>

namespace llmmem {

struct ArenaLoopPlan;

/// Says what becomes of one op, decided while all values are still tensors.
struct ArenaOpPlan {
  mlir::Operation *op;
  bool copiesPart = false;
  llvm::SmallVector<Place> results = {};         // Those with bytes of their own.
  llvm::SmallVector<bool> copiesInits = {};      // Says whether the contents of a destination are
                                                 // copied first.
  std::shared_ptr<ArenaLoopPlan> loop = nullptr; // Set for a loop.
};

/// Describes the body of a loop, and the ends of its iterations. `results` and `copiesInits` of the
/// loop have an entry for each value that it carries.
struct ArenaLoopPlan {
  llvm::SmallVector<ArenaOpPlan> body;
  llvm::SmallVector<LoopLayout::Copy> copies;
  llvm::SmallVector<bool> isUnchanged;
  int64_t scratch = 0; // Where its scratch bytes begin in the arena.
};

class ArenaBufferizer {
public:
  ArenaBufferizer(mlir::func::FuncOp step, const StepStorage &storage, int64_t arenaBytes)
      : step(step), body(step.getBody().front()), storage(storage), rewriter(step.getContext()),
        arenaBytes(arenaBytes) {}

  llvm::LogicalResult decide();
  llvm::LogicalResult rewrite();

private:
  mlir::Value rootOf(mlir::Value value) const;
  Place placeOf(mlir::Value value) const;
  bool isEmpty(mlir::Operation &op) const;
  llvm::LogicalResult decide(mlir::Operation &op, llvm::SmallVectorImpl<ArenaOpPlan> &into);
  void convertArguments();
  llvm::LogicalResult rewrite(const ArenaOpPlan &plan);
  llvm::LogicalResult copyPart(const ArenaOpPlan &plan);
  llvm::LogicalResult toMemrefs(mlir::Operation *op);
  llvm::LogicalResult convertReturn();
  llvm::LogicalResult checkNothingIsLeft();
  mlir::Value viewOf(Place place, mlir::Type tensor, mlir::Location location);
  llvm::LogicalResult copyTo(mlir::Value tensor, mlir::Value buffer);

  // Handle loops.
  llvm::LogicalResult decideLoop(mlir::scf::ForOp loop, ArenaOpPlan &plan);
  llvm::FailureOr<int64_t> scratchOf(mlir::scf::ForOp loop, const LoopLayout &layout);
  void placeBody(mlir::scf::ForOp loop, const LoopLayout &layout, const ArenaOpPlan &plan);
  llvm::LogicalResult rewriteLoop(const ArenaOpPlan &plan);
  llvm::LogicalResult endRound(mlir::scf::ForOp loop, const ArenaOpPlan &plan,
                               llvm::ArrayRef<mlir::Value> homes);

  llvm::FailureOr<mlir::Value> bufferOf(mlir::Value tensor) {
    return mlir::bufferization::getBuffer(rewriter, tensor, options, state);
  }
  mlir::Value asTensor(mlir::Value buffer, mlir::Type tensor) {
    return mlir::bufferization::ToTensorOp::create(rewriter, buffer.getLoc(), tensor, buffer,
                                                   /*restrict=*/true, /*writable=*/true);
  }

  mlir::func::FuncOp step;
  mlir::Block &body;
  const StepStorage &storage; // It refers to the tensors, so it is asked before the first is gone.
  mlir::IRRewriter rewriter;
  int64_t arenaBytes;
  mlir::bufferization::BufferizationOptions options;
  mlir::bufferization::BufferizationState state;
  llvm::SmallVector<ArenaOpPlan> plans;
  // Describe values in bodies of loops, which no plan of the step names.
  llvm::DenseMap<mlir::Value, mlir::Value> viewed; // What it views.
  llvm::DenseMap<mlir::Value, Place> inner;
  llvm::DenseMap<mlir::Operation *, int64_t> innerScratch;
};

} // namespace llmmem

#endif // LLMMEM_LIB_BUFFERIZATION_ARENABUFFERIZER_H
