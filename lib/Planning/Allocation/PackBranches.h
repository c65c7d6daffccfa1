//===- PackBranches.h - The branches of the packing search, and what follows -------===//
//
// A branch places a shape on the skyline at a position, or none of the shapes that may be placed
// there. Then bounds are propagated until nothing changes:
//   - the offset of a shape is at least the highest skyline below it;
//   - the skyline of a position is at least the lowest offset of the shapes that are left there;
//   - skyline plus remaining bytes of a position must not exceed the capacity (the section
//     inference of MiniMalloc, Moffitt 2023).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_ALLOCATION_PACKBRANCHES_H
#define LLMMEM_LIB_PLANNING_ALLOCATION_PACKBRANCHES_H

#include "TouchCounts.h"

namespace llmmem::planning {

class PackBranches {
public:
  PackBranches(PartialPacking &packing, TouchCounts &counts);

  /// Begins a run. A position gains `learning` in weight for all later runs where it does not fit.
  void start(int64_t capacity, double learning);

  /// Places `shape` on the skyline, which is level below it. Both branches return whether what is
  /// left still fits; `isSurveyed` says that the counts are those of the packing as it is.
  bool placeOnSkyline(int32_t shape, Span window, bool isSurveyed);
  /// Places none of the shapes `choices` on the skyline: each must be placed above a shape that is
  /// still unplaced.
  bool placeOffSkyline(llvm::ArrayRef<int32_t> choices, Span window, bool isSurveyed);

  /// Returns the position with the fewest branches for its weight, among those where every
  /// candidate lies within one segment, so that no other shape can fit below it. The lowest
  /// position always qualifies.
  int32_t choosePosition(Span window) const;

private:
  int64_t nextSupport(int32_t shape, Span window) const;
  bool propagate(Span window);
  bool raiseSkyline(Span gap);
  void touch(Span gap);
  template <typename Function>
  void forEachChanged(Span span, Function function) const;

  PartialPacking &packing;
  TouchCounts &counts;
  const llvm::ArrayRef<Shape> items;
  int64_t capacity = 0;
  double learning = 0;
  std::vector<double> weight;   // by position: how often it was the one that did not fit
  std::vector<int32_t> changed; // shapes that the last change concerns
  std::vector<Span> gaps;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_ALLOCATION_PACKBRANCHES_H
