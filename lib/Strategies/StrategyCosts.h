//===- StrategyCosts.h - Time and bytes of one strategy --------------------===//

#ifndef LLMMEM_LIB_STRATEGIES_STRATEGYCOSTS_H
#define LLMMEM_LIB_STRATEGIES_STRATEGYCOSTS_H

#include "llmmem/Planning/Pipeline/TimedSchedule.h"
#include "llmmem/Strategies/StrategySearch.h"

namespace llmmem {

/// Describes the devices of a stage. Ranks of one program run at the pace of the slowest of them,
/// under the memory of the smallest.
struct StageDevices {
  size_t kind = 0; // Whose table it is.
  int64_t budget = 0;
};

class StrategyCosts {
public:
  StrategyCosts(mlir::ModuleOp few, const ModelFacts &facts, const SearchRequest &request)
      : few(few), facts(facts), blocks(facts.blocks), request(request) {}

  /// Returns a bound on the time that is the same for many strategies: their matmuls. An error is a
  /// refusal.
  llvm::Expected<int64_t> boundByProducts(const Strategy &strategy);
  /// Computes the bounds of the rank's ops.
  llvm::Error bound(StrategyOutcome &outcome);
  /// `model` gives no less: each op once, at its price. This is proved of the model alone, because
  /// a plan may hide more of its collectives. For stages it is `outcome.timeBound`.
  llvm::Expected<int64_t> leastModelled(const StrategyOutcome &outcome);
  /// Computes time and bytes with recomputation.
  llvm::Error model(StrategyOutcome &outcome);
  /// Returns the approximate number of ops of the whole step.
  int64_t countOps(const Strategy &strategy);
  /// Returns the ops of the shortest step of those that were made.
  int64_t leastOps() const;
  /// Returns a proved bound: the average of what all devices must hold.
  llvm::Expected<int64_t> bytesOfAny();

  int64_t numShapes() const { return static_cast<int64_t>(models.size()); }
  int64_t leastBudget() const { return devicesOf(0, request.devices).budget; }
  /// Returns the memory of the device that has the most.
  int64_t mostBudget() const;

private:
  struct Entry {
    std::unique_ptr<RankModel> model; // Null where the passes refuse.
    std::string refusal;
  };
  llvm::Expected<RankModel *> modelOf(const RankShape &shape, size_t kind);
  StageDevices devicesOf(int64_t firstRank, int64_t ranks) const;
  StageDevices devicesOfStage(const Strategy &strategy, int64_t stage) const {
    return devicesOf(stage * strategy.ranksOfStage(), strategy.ranksOfStage());
  }
  llvm::Expected<std::vector<int64_t>> cut(const Strategy &strategy);
  int64_t messageNs(const Strategy &strategy, int64_t bytes, const DeviceModel &table) const;
  int64_t tiedNs(const Strategy &strategy, const RankModel &model, const DeviceModel &table) const;
  const planning::TimedSchedule &scheduleOf(const planning::PipelineShape &shape);
  llvm::Error modelRank(StrategyOutcome &outcome);
  llvm::Error modelStages(StrategyOutcome &outcome);

  mlir::ModuleOp few;
  const ModelFacts &facts;
  int64_t blocks;
  const SearchRequest &request;
  std::map<std::pair<RankShape, size_t>, Entry> models;
  std::map<std::tuple<planning::PipelineKind, int64_t, int64_t, int64_t>,
           std::unique_ptr<planning::TimedSchedule>>
      schedules; // By kind, stages, micro-batches, chunks.
};

} // namespace llmmem

#endif // LLMMEM_LIB_STRATEGIES_STRATEGYCOSTS_H
