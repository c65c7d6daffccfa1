//===- PackCore.cpp - Pack the full steps first --------------------------------------===//

#include "PackCore.h"
#include "Ejection.h"
#include "PackSearch.h"
#include "PackShapes.h"
#include "Tuning/Constants.h"
#include <algorithm>

namespace llmmem::planning {
namespace {

/// The shapes that are live at full positions, reduced to the time of these positions.
struct Core {
  Shapes shapes;
  std::vector<int32_t> shapeOf; // by shape of the core
};

Core coreOf(const Shapes &all, const std::vector<int64_t> &live, double full) {
  std::vector<int32_t> fullBefore(all.positions + 1, 0);
  for (int32_t position = 0; position < all.positions; ++position)
    fullBefore[position + 1] =
        fullBefore[position] + (static_cast<double>(live[position]) >= full ? 1 : 0);
  Core core;
  core.shapes.positions = fullBefore.back();
  std::vector<Piece> chain;
  for (size_t shape = 0; shape < all.shapes.size(); ++shape) {
    chain.clear();
    for (const Piece &piece : all.piecesOf(all.shapes[shape]))
      if (fullBefore[piece.lower] < fullBefore[piece.upper])
        chain.push_back({fullBefore[piece.lower], fullBefore[piece.upper], piece.size});
    if (chain.empty())
      continue;
    core.shapes.add(chain);
    core.shapeOf.push_back(static_cast<int32_t>(shape));
  }
  return core;
}

/// Returns the offsets of the core. The other shapes have no wanted offset yet.
std::vector<int64_t> offsetsOf(const Core &core, const std::vector<int64_t> &packed, size_t count) {
  std::vector<int64_t> wanted(count, -1);
  for (size_t index = 0; index < packed.size(); ++index)
    wanted[core.shapeOf[index]] = packed[index];
  return wanted;
}

/// Packs a core, or returns nothing where it has more shapes than the search may place: of 34 such
/// cores the heuristics packed six, and no chains ended after these.
std::optional<Packing> packWithin(const Core &core, const PackOptions &within) {
  if (!PackSearch::mayFind(core.shapes, within.work))
    return std::nullopt;
  Packing packed = packCore(core.shapes, within);
  return packed.arena <= *within.capacity ? std::optional(std::move(packed)) : std::nullopt;
}

} // namespace

CoreOutcome packCoreFirst(const Shapes &shapes, const PackOptions &options, int64_t capacity,
                          std::vector<int64_t> &offsets) {
  const std::vector<int64_t> live = liveBytes(shapes);
  PackOptions within;
  within.capacity = capacity;
  within.cancellation = options.cancellation;
  within.work = std::min(options.work / 4, tuning::mostWorkOfCore);
  CoreOutcome outcome = CoreOutcome::TooLarge;
  for (int32_t low = 0, high = std::size(tuning::coreParts);
       low < high && !options.isCancelled();) {
    const int32_t middle = low + (high - low) / 2;
    const Core core =
        coreOf(shapes, live, tuning::coreParts[middle] * static_cast<double>(capacity));
    if (core.shapeOf.size() > shapes.shapes.size() / 3 * 2) {
      high = middle;
      continue;
    }
    outcome = CoreOutcome::Unpacked;
    const std::optional<Packing> packed = packWithin(core, within);
    if (!packed) {
      high = middle; // a larger core would not be packed either
      continue;
    }
    // A smaller shape may overlap a larger one at a step that is not full.
    std::vector<int64_t> from =
        withoutOverlaps(shapes, offsetsOf(core, packed->offsets, shapes.shapes.size()), capacity);
    int64_t work = tuning::edgesAfterCore * static_cast<int64_t>(shapes.shapes.size());
    if (fitByEjection(shapes, within, work, from, littlePatience(work))) {
      offsets = std::move(from);
      return CoreOutcome::Packed;
    }
    low = middle + 1;
  }
  return outcome;
}

} // namespace llmmem::planning
