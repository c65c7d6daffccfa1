//===- PackLike.cpp - Pack as a similar schedule is packed --------------------------===//

#include "PackLike.h"
#include "Ejection.h"
#include "Tuning/Constants.h"
#include <algorithm>

namespace llmmem::planning {
namespace {

bool fitWithin(const Shapes &shapes, const PackOptions &options, int64_t capacity,
               std::vector<int64_t> &offsets, int64_t edgesPerShape = tuning::edgesFromSimilar) {
  PackOptions within;
  within.capacity = capacity;
  within.cancellation = options.cancellation;
  int64_t work = edgesPerShape * static_cast<int64_t>(shapes.shapes.size());
  return fitByEjection(shapes, within, work, offsets, littlePatience(work));
}

/// Lowers the packing to the live bytes, or else by half of the distance again and again, as long
/// as chains succeed. A packing that reaches its live bytes is worth some more work.
void lower(const Shapes &shapes, const PackOptions &options, Packing &packing) {
  int64_t least = packing.lowerBound, edges = 3 * tuning::edgesFromSimilar;
  for (; packing.arena - least > packing.arena >> tuning::finestLoweringShift;
       edges = tuning::edgesFromSimilar) {
    if (fitWithin(shapes, options, least, packing.offsets, edges))
      packing.arena = arenaOf(shapes, packing.offsets);
    least += (packing.arena - least + 1) / 2;
  }
}

} // namespace

Packing packLike(const Shapes &shapes, const PackOptions &options,
                 const std::vector<int64_t> &wanted) {
  if (shapes.shapes.empty())
    return {};
  const std::vector<int64_t> live = liveBytes(shapes);
  Packing packing;
  packing.lowerBound = *std::max_element(live.begin(), live.end());
  const int64_t capacity = std::max(packing.lowerBound, options.capacity.value_or(0));
  packing.offsets = withoutOverlaps(shapes, wanted, capacity);
  if (fitWithin(shapes, options, capacity, packing.offsets))
    packing.arena = arenaOf(shapes, packing.offsets);
  else
    packing = packShapes(shapes, options);
  if (packing.arena <= capacity)
    lower(shapes, options, packing);
  return packing;
}

} // namespace llmmem::planning
