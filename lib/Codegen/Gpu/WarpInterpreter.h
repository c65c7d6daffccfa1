//===- WarpInterpreter.h - The integers of a kernel, for a warp at once ----===//
//
// Follows the control flow and the integers of a kernel for the 32 threads of a warp together, as
// far as they do not depend on data: what threads access at one time is then known. Numbers are not
// followed.
//
//   WarpInterpreter warp(grid, block, [&](Operation &op, const WarpInterpreter &at) {
//     ... at.lookup(index) has the value of `index` in each lane that runs `op` ...
//   });
//   warp.run(kernel, /*blockId=*/{0, 0, 0}, /*warp=*/1);
//
// Of a loop that runs many times, the first iteration and the last two are followed (the last six
// where tensor maps copy), and one that stands for those between. Nothing else is left out.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_WARPINTERPRETER_H
#define LLMMEM_LIB_CODEGEN_GPU_WARPINTERPRETER_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include <array>

namespace llmmem {

class WarpInterpreter {
public:
  static constexpr int64_t kLanes = 32;
  using Triple = std::array<int64_t, 3>;
  /// A bit for each lane.
  using Lanes = uint32_t;
  /// An integer in each lane.
  using Numbers = std::array<int64_t, kLanes>;
  using Known = std::optional<Numbers>;
  using Visit = std::function<void(mlir::Operation &op, const WarpInterpreter &at)>;

  WarpInterpreter(Triple grid, Triple block, Visit visit)
      : grid(grid), block(block), visit(std::move(visit)) {}

  /// Calls `visit` for each op that the warp runs, in order. Places that a loop of the host
  /// computes are those of its first turn, 0: others differ by whole rows.
  void run(mlir::gpu::GPUFuncOp kernel, Triple blockId, int64_t warp);

  /// The value in each active lane; nothing if it depends on data.
  Known lookup(mlir::Value value) const { return values.lookup(value); }
  /// The lanes that run the current op.
  Lanes active() const { return lanes; }
  /// How often it runs for each time that it is visited.
  double times() const { return weight; }
  /// Whether data decided what ran so far.
  bool dependsOnData() const { return isEstimate; }

private:
  void run(mlir::Block &code);
  void run(mlir::Operation &op);
  void runLoop(mlir::LoopLikeOpInterface loop);
  void runIterations(mlir::LoopLikeOpInterface loop, const Numbers &lower, const Numbers &upper,
                     int64_t step);
  void runUnknownLoop(mlir::LoopLikeOpInterface loop);
  void runIf(mlir::scf::IfOp branch);
  void runUnknownIf(mlir::scf::IfOp branch);
  Known evaluate(mlir::Operation &op) const;
  Known inferFrom(mlir::InferIntRangeInterface op) const;
  Known lookup(llvm::ArrayRef<mlir::OpFoldResult> bound) const;
  void hand(mlir::ValueRange from, mlir::ValueRange to);
  /// Only in the active lanes.
  void assign(mlir::Value value, Known number);

  Triple grid, block, blockId = {};
  int64_t firstThread = 0, lastIterations = 2;
  Visit visit;
  llvm::DenseMap<mlir::Value, Known> values;
  Lanes lanes = 0;
  double weight = 1;
  bool isEstimate = false;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_WARPINTERPRETER_H
