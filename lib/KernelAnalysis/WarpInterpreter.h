//===- WarpInterpreter.h - The integers of a kernel, for a warp at once ----===//
//
// Follows the control flow and the integers of a kernel for the 32 threads of a warp together, as
// far as they do not depend on data, which tells what threads access at one time. Floating-point
// numbers are not followed.
//
//   WarpInterpreter warp(kernel, grid, block, [&](Operation &op, const WarpInterpreter &at) {
//     ... at.lookup(index) has the value of `index` in each lane that runs `op` ...
//   });
//   warp.run(/*blockId=*/{0, 0, 0}, /*warp=*/1);
//
// For a loop that runs many times, it follows the first iteration and the last two (the last six
// where tensor maps copy), and one that represents those between. Nothing else is left out.
//
// A `Scope` follows every iteration, but only what some values are computed from.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_KERNELANALYSIS_WARPINTERPRETER_H
#define LLMMEM_LIB_KERNELANALYSIS_WARPINTERPRETER_H

#include "WarpProgram.h"

namespace llmmem {

class WarpInterpreter {
public:
  static constexpr int64_t kLanes = LaneIntegers::kLanes;
  using Triple = WarpProgram::Triple;
  using Scope = WarpProgram::Scope;
  using Lanes = llmmem::Lanes;
  /// Represents an integer in each lane.
  using Numbers = std::array<int64_t, kLanes>;
  using Known = std::optional<Numbers>;
  using Visit = std::function<void(mlir::Operation &op, const WarpInterpreter &at)>;

  /// Without a scope, buffers begin at 0, and places that a loop of the host computes are those of
  /// its first iteration, 0, because others differ by whole rows.
  WarpInterpreter(mlir::gpu::GPUFuncOp kernel, Triple grid, Triple block, Visit visit,
                  const std::optional<Scope> &scope = std::nullopt);

  /// Calls `visit` for each op that the warp runs, in order.
  void run(Triple blockId, int64_t warp);

  /// Returns the value in each active lane; nothing if it depends on data in one. Other lanes have
  /// the number of an active one.
  Known lookup(mlir::Value value) const;
  /// Returns the same with what is known in each lane.
  const LaneIntegers &integers(mlir::Value value) const;
  /// Return the lanes that run the current op, and those of the warp.
  Lanes active() const { return lanes; }
  Lanes allLanes() const { return lanesOfWarp; }
  /// Returns how often it runs for each time that it is visited.
  double times() const { return weight; }
  /// Returns whether data decided what ran so far.
  bool dependsOnData() const { return isEstimate; }
  /// Returns the number of ops that threads ran so far, including those that were not followed.
  int64_t opsRun() const { return ops; }

private:
  using Step = WarpProgram::Step;
  using Code = WarpProgram::Code;

  void run(const Code &code);
  void run(const Step &step);
  void runLoop(const Step &step);
  void runIterations(const Step &step, const LaneIntegers &lower, const LaneIntegers &upper,
                     const LaneIntegers &stride);
  void runOnce(const Step &step);
  void runIf(const Step &step);
  void runUnknownIf(const Step &step);
  void runUnknownRegions(const Step &step);
  void hand(const WarpProgram::Handing &handing);
  LaneIntegers at(const WarpProgram::Bound &bound) const;
  llvm::SmallVector<std::pair<int64_t, double>> chosenIterations(mlir::LoopLikeOpInterface loop,
                                                                 int64_t count) const;

  WarpProgram program;
  Triple block;
  Visit visit;
  /// Holds, by slot, what is known in the current op.
  std::vector<LaneIntegers> values;

  Lanes lanes = 0, lanesOfWarp = 0;
  double weight = 1;
  int64_t ops = 0;
  bool isEstimate = false;
};

} // namespace llmmem

#endif // LLMMEM_LIB_KERNELANALYSIS_WARPINTERPRETER_H
