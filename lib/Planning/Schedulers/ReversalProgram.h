//===- ReversalProgram.h - The best reversal of a chain, to the byte ------------------===//
//
// The dynamic program for the reversal of chains: Griewank and Walther, "Algorithm 799: revolve"
// (2000), and for unequal stages Beaumont, Herrmann et al., "Optimal checkpointing for
// heterogeneous chains" (arXiv 1911.13214).
// Let cost(l, r, m) be the least cost of the segments r to l + 1 with boundary l in memory and m
// bytes for it and everything that the stages after it hold. It is the least of
//
//   split    pass from l to j, hold boundary j, and save what segment j may need:
//            passes(l..j) + cost(j, r, m - |l| - saved) + cost(l, j, m)
//   reach    pass from l to r and save what segment r may need
//   consume  run segment r from what is saved of stage r, then cost(l, r - 1, m)
//   save     run stage l + 1 and hold what it saves: cost(l + 1, r, m - |l| - saved), then its
//            segment; without |l| where neither the segment nor anything later needs boundary l
//   alone    l + 1 is r: run the segment and what it needs of the stage
//
// In addition to l and r, a state says what of stage r is saved, whether boundary l is needed when
// the segments are over, and whether it is the original forward, whose ops cost nothing more. Every
// move is allowed where the peak of its ops fits into m (ReversalStages.h).
// A boundary that is held stays until its own segment has run: the schedules are *persistent*.
//
// The cost is held as a function of m, as a list of steps (CostSteps.h). Sub-chains of equal stages
// share one function.
//
// Example: three stages of 1 byte in place, whose segments read their boundaries: with 2 bytes
// passes cost 1 + 2 beyond the original one; with 4 bytes nothing.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_REVERSALPROGRAM_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_REVERSALPROGRAM_H

#include "CostSteps.h"
#include "ReversalStages.h"

namespace llmmem::planning {

class ReversalProgram {
public:
  /// `mostBytes` bounds what schedules hold, resident bytes left out. `work` bounds the steps that
  /// are compared: where a function has more than it allows, the bound is lowered.
  ReversalProgram(const ReversalStages &stages, int64_t mostBytes, int64_t work);

  /// Returns the least cost of what runs again, as a function of the bytes without resident ones.
  llvm::ArrayRef<CostStep> steps() const { return result.all(); }
  /// Returns the schedule of a step of that function.
  std::vector<OpIndex> realize(const CostStep &step) const;
  /// Returns the bytes up to which no schedule of the family was left out.
  int64_t mostExactBytes() const { return mostBytes; }

private:
  /// A sub-chain, and what is known when it begins and ends.
  struct State {
    int32_t from, to;
    bool isOriginal;
    int32_t end; // a choice of the last stage, or -1 where it saves no value
    bool keepsStart;
  };
  enum class Move : uint32_t { Split, Reach, Consume, Save, Alone };
  /// A move, the choice that it takes of a stage, or -1, and how many stages are before a split.
  /// Equal sub-chains share their decisions.
  struct Decision {
    Move move;
    int32_t choice = -1;
    int32_t before = 0;
    uint32_t packed() const {
      return uint32_t(move) | uint32_t(choice + 1) << 3 | uint32_t(before) << 16;
    }
    static Decision unpacked(uint32_t bits) {
      return {Move(bits & 7), int32_t(bits >> 3 & 0x1fff) - 1, int32_t(bits >> 16)};
    }
  };

  /// Returns how many sums of two functions are compared, or more than `work` allows.
  int64_t numberChains(int64_t work);
  void fillRows();
  void fill(const State &state);
  void tryPasses(const State &state, CostSteps &row);
  void tryConsume(const State &state, CostSteps &row);
  void trySaves(const State &state, CostSteps &row);
  void tryAlone(const State &state, CostSteps &row);
  /// Lowers `row` by what two parts cost together, `first` with `less` bytes less.
  void lowerBySum(CostSteps &row, const CostSteps &first, int64_t less, const CostSteps &second,
                  int64_t least, int64_t cost, Decision decision);
  const CostSteps &of(const State &state) const;
  CostSteps &of(const State &state) {
    return const_cast<CostSteps &>(static_cast<const ReversalProgram *>(this)->of(state));
  }
  /// Returns the pass of a stage that saves a choice, or nothing.
  const StageRun &passOf(int32_t stage, int32_t choice, bool isOriginal) const {
    if (choice < 0)
      return isOriginal ? stages[stage].first : stages[stage].again;
    const StageSave &save = stages[stage].saves[choice];
    return isOriginal ? save.first : save.again;
  }
  void trySplit(const State &state, int32_t split, int32_t choice, int64_t cost, int64_t peak,
                CostSteps &row);
  void tryReach(const State &state, int32_t choice, int64_t cost, int64_t peak, CostSteps &row);
  /// Returns what is live during a pass in addition to the pass and the start of the sub-chain.
  int64_t beside(const State &state) const {
    return stages[state.to].extraBytes + heldAt(state.to, state.end) +
           (keepsBoundary(state.to, state.end) ? stages[state.to].boundaryBytes : 0);
  }
  bool keepsBoundary(int32_t stage, int32_t choice) const {
    return choice >= 0 && stages[stage].saves[choice].keepsBoundary;
  }
  /// Returns what a choice holds, its boundary left out.
  int64_t heldAt(int32_t stage, int32_t choice) const {
    return choice < 0 ? 0 : stages[stage].saves[choice].held;
  }
  void expand(const State &state, int64_t bytes, std::vector<OpIndex> &ops) const;
  void expandSave(const State &state, int64_t bytes, const StageSave &save,
                  std::vector<OpIndex> &ops) const;
  void pass(const State &state, int32_t end, int32_t choice, std::vector<OpIndex> &ops) const;
  State afterSave(const State &state, const StageSave &save) const;
  int64_t heldBySave(const State &state, const StageSave &save) const;

  const ReversalStages &stages;
  int64_t mostBytes;
  size_t mostSteps = 0;                          // of one function
  std::vector<std::vector<int32_t>> chainNumber; // by first stage and length
  std::vector<size_t> firstRow;                  // by the number of a chain
  std::vector<CostSteps> rows, originalRows;
  std::vector<CostStep> scratch;
  CostSteps nothing; // the empty sub-chain
  CostSteps result;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_REVERSALPROGRAM_H
