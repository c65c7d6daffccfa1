//===- StepPlaces.h - Where the bytes of each value of a step lie ----------===//

#ifndef LLMMEM_LAYOUT_STEPPLACES_H
#define LLMMEM_LAYOUT_STEPPLACES_H

#include "llmmem/Layout/Places.h"

namespace llmmem {

/// Reads the plan that a step carries: `llm.offsets`, `llm.workspace`, `llm.arena`,
/// `llm.host_arena`, `llm.donated`.
///
/// Example: with %p an argument that result 1 is donated to,
/// clang-format off
///   %y = llm.gelu %x {llm.offsets = array<i64: 256>}             lies at byte 256 of the arena
///   %p1 = llm.sgd %p, ... {llm.offsets = array<i64: -1>}         lies where %p lies
/// clang-format on
class StepPlaces {
public:
  /// Fails after a located diagnostic if the plan is missing or exceeds the arena.
  static mlir::FailureOr<StepPlaces> read(mlir::func::FuncOp step);

  Place placeOf(mlir::Value value) const { return places.lookup(value); }
  int64_t arenaBytes() const { return arena; }
  int64_t hostArenaBytes() const { return hostArena; }
  /// Returns the argument that result `number` of the step is donated to.
  std::optional<unsigned> donatedArgument(unsigned number) const { return donations[number]; }

private:
  llvm::LogicalResult readDonations(mlir::func::FuncOp step);
  llvm::LogicalResult placeResults(mlir::Operation &op, const StepStorage &storage);
  llvm::LogicalResult placeInArena(mlir::OpResult result, int64_t offset);
  llvm::LogicalResult placeInArgument(mlir::OpResult result, const StepStorage &storage);
  llvm::LogicalResult checkWorkspace(mlir::Operation &op);

  llvm::DenseMap<mlir::Value, Place> places;
  llvm::SmallVector<std::optional<unsigned>> donations;
  int64_t arena = 0, hostArena = 0;
};

} // namespace llmmem

#endif // LLMMEM_LAYOUT_STEPPLACES_H
