//===- Bounds.h - Lower bounds on peak and cost ---------------------------------===//
//
// Proved lower bounds on the peak and on the recompute cost. docs/Design/Planning.md has the
// proofs.
//
// The bound on the cost considers one program point, the first run of an op t. An op that runs
// after t and reads a value of an ancestor of t needs it live at t or recomputed after t. With a
// price per live byte (a Lagrange multiplier), the least recompute cost + price x live bytes is a
// minimum cut. The price that maximizes it gives the bound, and the cuts at the prices on the way
// are the choices of what to keep and what to recompute.
//
// Example: f0(2) f1(3) -> 1-byte results a, b; after the loss their backwards read both. If only
// one of the two fits at the loss, the bound is 2, the cost of recomputing the cheaper one.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_BOUNDS_BOUNDS_H
#define LLMMEM_PLANNING_BOUNDS_BOUNDS_H

#include "llmmem/Planning/Model/Blocks.h"
#include <memory>

namespace llmmem::planning {

struct PeakBound {
  int64_t bytes = 0; // resident included
  OpIndex op = -1;   // the op where it is held
};

/// Returns the largest footprint of one op, together with what every schedule holds while that op
/// runs.
PeakBound peakLowerBound(const Graph &graph);

/// The bounds count sizes rounded up to the alignment, as the arena holds them; a peak counts exact
/// sizes. This function returns the most that rounding can have added to a bound.
int64_t paddingOf(const Problem &problem);

/// Returns the bytes that every schedule holds while `op` runs: the resident ones and the op's
/// footprint, less the padding of the topmost buffer, which an arena need not hold.
int64_t fixedBytesAt(const Graph &graph, OpIndex op);

/// Returns the scale over which prices of bytes are integers. It is as fine as 64 bits allow.
int64_t priceScale(const Graph &graph);

/// One choice at a cut: the values kept live there, their bytes, and the recompute cost.
struct CutChoice {
  int64_t recomputeCost = 0;
  int64_t bytes = 0;            // bytes of `kept`, rounded to the alignment
  std::vector<ValueIndex> kept; // live at the cut, ancestors' results and inputs
  std::vector<bool> recomputed; // per op
};

/// The relaxation of a problem at the first run of one op.
class CutRelaxation {
public:
  /// The program point is the first run of `cut`. Where `later` is given, the relaxation covers
  /// only schedules in which that op first runs after `cut`: it and its descendants then need their
  /// operands as well. Together with the other order of the two, that gives a bound where `cut`
  /// alone has few descendants.
  CutRelaxation(const Graph &graph, OpIndex cut, OpIndex later = -1);
  ~CutRelaxation();

  /// Returns the best choice at a cost of `price` / `scale()` per byte. `value` gets the proved
  /// minimum of cost * scale() + price * bytes over all schedules.
  CutChoice choose(int64_t price, int64_t &value);

  /// Returns the choice that keeps the fewest bytes. Its `bytes` are proved to be live at the cut
  /// in every schedule.
  CutChoice chooseFewestBytes();

  /// Returns a proved lower bound on the cost of recomputation when resident + arena is at most
  /// `budget`. Returns nothing where no choice fits at all, which proves that no plan does.
  /// `choices` collects the choices found on the way. The search for a price may end early where no
  /// price proves more than `known`.
  std::optional<int64_t> costLowerBound(int64_t budget, std::vector<CutChoice> *choices = nullptr,
                                        int64_t known = -1);

  /// Returns the bound that one given price proves. This is cheaper than the search for the best
  /// price.
  int64_t boundAtPrice(int64_t budget, int64_t price);
  /// Returns the bound of one price, and a value that no price proves more than. The dual is
  /// concave, so two choices, one that keeps more than fits and one that fits, bound it.
  /// `recomputeCost` is the cost of a choice that fits.
  struct Range {
    int64_t proved, most;
  };
  Range rangeAtPrice(int64_t budget, int64_t price, int64_t recomputeCost);
  /// Returns the price at which the last costLowerBound ended.
  int64_t lastPrice() const;
  int64_t bestPrice() const;
  /// Returns a value that no price can exceed, as the last costLowerBound found it.
  int64_t mostProved() const;

  /// Returns the choices that are best at some price, most bytes first, at most about `limit` of
  /// them.
  std::vector<CutChoice> allChoices(size_t limit);

  /// Returns the bytes held at the cut in addition to what a choice keeps.
  int64_t fixedBytesAt() const;

  /// Returns the scale of prices (priceScale).
  int64_t scale() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_BOUNDS_BOUNDS_H
