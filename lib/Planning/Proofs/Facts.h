//===- Facts.h - What the checker reads off a problem -----------------------===//
//
// Derives writers, readers, sizes and reachability once more: the checker takes nothing from the
// solvers' Graph.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_PROOFS_FACTS_H
#define LLMMEM_LIB_PLANNING_PROOFS_FACTS_H

#include "llmmem/Planning/Proofs/Check.h"

namespace llmmem::planning::proofs {

/// A valid problem's bytes and costs add up to less than 2^63, so that products of two numbers fit.
using Wide = __int128;
constexpr int64_t mostPrice = int64_t(1) << 60;
std::string text(Wide number);

/// Exact sizes say what a schedule holds. Rounded up to the alignment, they say what an arena
/// takes, except for the padding of its topmost buffer.
enum class Sizes { Exact, Rounded };

class Facts {
public:
  Facts(const Problem &problem, Sizes sizes);

  const Problem &problem;
  const bool rounded;
  std::vector<OpIndex> writer;               // per value; -1: an input
  std::vector<std::vector<OpIndex>> readers; // per value
  std::vector<bool> kept;                    // per value
  Wide resident = 0, baseCost = 0;

  bool isOp(OpIndex op) const { return op >= 0 && size_t(op) < problem.ops.size(); }
  bool isValue(ValueIndex value) const {
    return value >= 0 && size_t(value) < problem.values.size();
  }
  /// Returns the bytes in the arena, 0 for a resident value.
  Wide bytes(ValueIndex value) const;
  Wide workspace(OpIndex op) const { return up(problem.ops[op].workspace); }
  /// Returns the largest padding of the topmost buffer, which an arena need not hold.
  Wide padding() const { return mostPadding; }
  /// Returns the bytes that every plan holds while `op` runs, resident ones included.
  Wide footprintAt(OpIndex op) const { return heldAt(op) - paddingAt(op); }
  /// Returns the same less the largest padding of any buffer, and not only of those of `op`. So the
  /// bytes of other held values may be added.
  Wide footprintWithoutPaddingAt(OpIndex op) const { return heldAt(op) - mostPadding; }
  /// Says whether `op` reads or writes `value`.
  bool touches(OpIndex op, ValueIndex value) const;
  /// Says whether a read of `op` may see the last of an instance whose bytes a result takes.
  bool mayDie(ValueIndex value) const;
  /// Returns, per op, whether it runs before `op`, or first runs after it, in every schedule.
  std::vector<bool> ancestors(OpIndex op) const;
  std::vector<bool> descendants(OpIndex op) const;

  std::string nameOfOp(OpIndex op) const;
  std::string nameOfValue(ValueIndex value) const;

private:
  Wide paddingOf(ValueIndex value) const {
    return bytes(value) > 0 ? bytes(value) - problem.values[value].bytes : 0;
  }
  Wide paddingAt(OpIndex op) const;
  Wide heldAt(OpIndex op) const;
  Wide up(int64_t bytes) const;

  Wide mostPadding = 0;
};

/// What an argument proves, or why it proves nothing.
struct Finding {
  Verdict verdict = Verdict::Checked;
  std::string why;         // set where the verdict is another
  Wide least = 0;          // the cost of recomputation, or the footprint
  bool impossible = false; // whether no schedule is as the argument assumes

  static Finding refused(std::string why) { return {Verdict::Refused, std::move(why)}; }
  static Finding notChecked(std::string why) { return {Verdict::NotChecked, std::move(why)}; }
};

/// Proves the cost of recomputation in every plan within `budget`.
Finding costByCuts(const Facts &facts, const Argument &argument, Wide budget);
Finding costByOpenCut(const Facts &facts, const OpenCutFlow &flow, Wide budget);
Finding costByRounds(const Facts &facts, const RoundArgument &argument, Wide budget);
/// Proves the bytes that every plan holds, resident ones included.
Finding footprintByCuts(const Facts &facts, const Argument &argument);
Finding footprintByLastRuns(const Facts &facts, const LastRunArgument &argument);

/// Finds out whether no schedule that holds at most `capacity` bytes, resident ones included,
/// recomputes for less than `cost`, or for any cost where `cost` is nothing.
Finding searchSchedules(const Facts &facts, Wide capacity, std::optional<Wide> cost, int64_t work);
/// Finds out the same of plans whose arena has at most `arena` bytes.
Finding searchPlacements(const Facts &facts, Wide arena, std::optional<Wide> cost, int64_t work);

} // namespace llmmem::planning::proofs

#endif // LLMMEM_LIB_PLANNING_PROOFS_FACTS_H
