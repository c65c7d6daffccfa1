//===- NestedProgram.h - Recomputation within recomputation --------------------===//
//
// Below the peak of keeping every block's input, inputs are dropped too and the forward runs again
// to rebuild them: Beaumont, Herrmann et al., "Optimal checkpointing for heterogeneous chains"
// (arXiv 1911.13214), with several options per stage as in Rockmate (ICML 2023). The cost of the
// sub-chain a..b, with the input of a in memory and m bytes available:
//
//   least of  option o of a:  [its forward again] + its recomputation + (a+1..b with m - held(o))
//             if a is b: what its backward needs, recomputed from its input
//             split before j: [forwards of a..j-1 again] + (j..b with m - input(j)) + (a..j-1
//             again, with m)
//
// A forward that runs again shares its m bytes with the gradient of b, which is live meanwhile.
//
// Terms in brackets cost nothing in the original forward pass, and only there.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_NESTEDPROGRAM_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_NESTEDPROGRAM_H

#include "ChainOptions.h"
#include <algorithm>

namespace llmmem::planning {

/// A stage of the chain, in steps of the table.
struct NestedStage {
  /// A stage's option, where the recursion ends.
  struct Leaf {
    int32_t choice;
    int32_t held, forward, peak; // `peak` is that of forward and backward
    int64_t cost;
    bool operator==(const Leaf &) const = default;
  };

  std::vector<ValueIndex> inputs;  // what its forward takes from earlier stages
  std::vector<ValueIndex> written; // what may be discarded
  int32_t inputSize = 0;
  int32_t passingSize = 0; // the part of it that no result of the stage may take in place
  int32_t forwardPeak = 0;
  int32_t gradients = 0; // those live when its backward begins
  std::vector<Leaf> leaves;
  Leaf leastMemoryLeaves{}; // recomputed from its input, where no other stage needs its results
};

/// The stages as the recursion sees them, and the step and number of levels of its table.
class NestedStages {
public:
  NestedStages(const Graph &graph, const Chain &chain, const ChainOptions &options,
               int64_t capacity, int32_t levels);

  int32_t size() const { return static_cast<int32_t>(stages.size()); }
  const NestedStage &operator[](size_t stage) const { return stages[stage]; }
  /// Returns the cost of the forwards of [from, to) that save nothing.
  int64_t forwardCost(int32_t from, int32_t to) const { return costBefore[to] - costBefore[from]; }
  bool areEqual(int32_t a, int32_t b) const;
  /// Says whether many stages read a value, which is always held then.
  bool isShared(ValueIndex value) const { return shared[value]; }
  int32_t numLevels() const { return levels; }
  int32_t levelOf(int64_t capacity) const {
    return static_cast<int32_t>(std::clamp<int64_t>((capacity - base) / step, 0, levels - 1));
  }

private:
  void findInputs();
  void addForwardCosts();
  void chooseStep(int64_t range);
  void roundGradients();
  void findLeaves(int32_t stage);
  NestedStage::Leaf leafOf(int32_t stage, int32_t choice, int64_t passing) const;
  int64_t passingBytes(int32_t stage) const;
  int64_t bytesTakenInPlace(int32_t stage) const;
  bool holdsNextInput(int32_t stage, int32_t choice) const;
  int32_t rounded(int64_t bytes) const;

  const Graph &graph;
  const Chain &chain;
  const ChainOptions &options;
  std::vector<NestedStage> stages;
  std::vector<bool> shared;        // by value
  std::vector<int64_t> costBefore; // prefix sums of what a forward without saving runs
  int32_t levels;
  int64_t base = 0, step = 1; // level l has base + l * step bytes
};

class NestedProgram {
public:
  /// Tabulates every capacity up to `capacity` (resident included) at about `levels` levels, more
  /// where the stages' inputs are small.
  NestedProgram(const Graph &graph, const Chain &chain, const ChainOptions &options,
                int64_t capacity, int32_t levels);

  int32_t numLevels() const { return levels; }
  /// Says whether there is a plan at the highest level.
  bool hasPlan() const { return leastLevel[row(0, 0, stages.size() - 1)] < levels; }
  /// Returns the level whose model holds about `capacity` bytes.
  int32_t levelOf(int64_t capacity) const { return stages.levelOf(capacity); }
  /// Returns the modelled recompute cost at a level, or -1 where nothing fits.
  int64_t cost(int32_t level) const;
  /// Realizes the best plan of a level that has one.
  Realization realizeLevel(int32_t level) const;

private:
  using Leaf = NestedStage::Leaf;
  struct Cell {
    int64_t cost;
    int32_t decision; // >= 0: an option; < 0: a split, -decision stages after the first
  };
  void findRows();
  llvm::ArrayRef<Leaf> leavesOf(int32_t repeats, int32_t from, int32_t to) const;
  int64_t leastOf(const Leaf &leaf, int32_t repeats, int32_t from, int32_t to) const;
  template <typename Visit>
  void forEachSplit(int32_t repeats, int32_t from, int32_t to, Visit visit) const;
  template <typename Visit>
  void forEachRow(Visit visit);
  void findLeastLevel(int32_t repeats, int32_t from, int32_t to);
  template <typename CostAt>
  static void improve(llvm::MutableArrayRef<Cell> cells, int64_t least, int32_t decision,
                      CostAt costAt);
  void fillRow(int32_t repeats, int32_t from, int32_t to);
  void tabulate();
  /// Sub-chains of equal stages share one row per length: equal blocks are solved once.
  size_t row(int32_t repeats, int32_t from, int32_t to) const {
    if (repeats == 0)
      return size_t(from); // the original pass always runs to the end of the chain
    return rowOf[size_t(from) * stages.size() + to];
  }
  Cell &at(int32_t repeats, int32_t from, int32_t to, int32_t level) {
    return table[row(repeats, from, to) * levels + level];
  }
  const Cell &at(int32_t repeats, int32_t from, int32_t to, int32_t level) const {
    return table[row(repeats, from, to) * levels + level];
  }
  void unfold(Retention &retention, int32_t repeats, int32_t from, int32_t to, int32_t level,
              int32_t segment) const;

  static constexpr int64_t impossible = INT64_MAX / 4;
  const Graph &graph;
  const Chain &chain;
  const ChainOptions &options;
  const NestedStages stages;
  const int32_t levels;
  std::vector<int32_t> rowOf;
  size_t numRows = 0;
  std::vector<int32_t>
      leastLevel;          // per row: the least level that has a plan; `levels` where none has
  std::vector<Cell> table; // empty without a plan
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_NESTEDPROGRAM_H
