//===- StageWindow.h - All places of one op of a stage's backward --------===//
//
// Scores orders of the backward that have one op elsewhere between two of its positions. What runs
// for an op and what is live there depends on which ops ran before, not on their order. So each op
// that the moved one passes is measured once, with that one after it or before it, for all
// positions.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_STRUCTURE_STAGEWINDOW_H
#define LLMMEM_LIB_PLANNING_STRUCTURE_STAGEWINDOW_H

#include "Stage.h"

namespace llmmem::planning {

class Stage::Window {
public:
  explicit Window(Stage &stage)
      : stage(stage), recomputed{stage.graph, true}, kept{stage.held, false}, scan(stage.graph),
        scanOfMoved(stage.graph) {}
  /// Measures the order as it is now; an op moves within [begin, end).
  void renew(int32_t begin, int32_t end);
  bool isOf(int64_t moves, int32_t from, int32_t to) const {
    return numMoves == moves && begin <= from && to <= end;
  }

  /// Returns the scores that `Stage::score` would give with the op at `from` moved to each position
  /// of [low, high], where that is not above the peak `mostPeak`. They are valid until the next
  /// call.
  llvm::ArrayRef<Score> score(int32_t from, int32_t low, int32_t high, int64_t mostPeak);

private:
  /// The sums over some steps.
  struct Sums {
    int64_t peak = 0, sum = 0;

    static Sums of(int64_t bytes) { return {bytes, sumOf(bytes)}; }
    Sums operator+(const Sums &other) const {
      return {std::max(peak, other.peak), sum + other.sum};
    }
  };
  /// The order as it is, at a position: what its steps before and after it sum up to, and the scan
  /// of those after it.
  struct OrderPosition {
    Sums before, after;
    BackwardScan scan;
  };
  /// The backward with the stage recomputed, or held.
  struct Side {
    const Graph &graph;
    bool recomputes;
    std::vector<OrderPosition> places{}; // at each position of [begin, end]
    std::vector<Sums> moved{}; // with the op moved to each position of [begin, end), so far
  };
  void measure(Side &side);
  const OrderPosition &at(const Side &side, int32_t position) const {
    return side.places[position - begin];
  }
  const uint64_t *isThereAt(int32_t position) const {
    return &isThere[position * stage.needs.numWords];
  }
  const uint64_t *isThereWithout(int32_t from, int32_t position) const {
    return &withoutMoved[(position - from - 1) * stage.needs.numWords];
  }
  Sums run(const Side &side, BackwardScan &scan, OpIndex op, const uint64_t *isThere,
           const uint64_t *isThereToo) const;
  void moveEarlier(Side &side, int32_t from, int32_t low, int64_t mostPeak);
  void moveLater(Side &side, int32_t from, int32_t high, int64_t mostPeak);
  void findThereWithout(int32_t from, int32_t high);

  Stage &stage;
  int64_t numMoves = -1; // number of moves of the stage when this was measured
  int32_t begin = 0, end = 0;
  std::vector<uint64_t> isThere; // at each position
  Side recomputed, kept;
  BackwardScan scan, scanOfMoved;     // scans of a score, as are these
  std::vector<uint64_t> withoutMoved; // what is live at each position after its own
  std::vector<Sums> passed;           // with the moved op after them
  std::vector<Score> scores;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_STRUCTURE_STAGEWINDOW_H
