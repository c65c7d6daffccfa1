//===- PackSubAlignment.cpp - Place buffers smaller than the alignment last -------===//

#include "PackSubAlignment.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace llmmem::planning {
namespace {

/// Returns the lowest offset at which `small` overlaps no placed shape that is live at the same
/// time. An unplaced shape has a negative offset.
int64_t lowestFree(const Shapes &shapes, const Shape &small, llvm::ArrayRef<int64_t> offsets) {
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (size_t index = 0; index < shapes.shapes.size(); ++index) {
    const Shape &other = shapes.shapes[index];
    if (offsets[index] < 0 || other.lower >= small.upper || other.upper <= small.lower)
      continue;
    int64_t size = 0;
    for (const Piece &piece : shapes.piecesOf(other))
      if (piece.lower < small.upper && piece.upper > small.lower)
        size = std::max(size, piece.size);
    taken.push_back({offsets[index], offsets[index] + size});
  }
  llvm::sort(taken);
  int64_t offset = 0;
  for (auto [from, to] : taken) {
    if (from - offset >= small.size)
      break;
    offset = std::max(offset, to);
  }
  return offset;
}

} // namespace

std::optional<Packing> packSubAlignmentLast(const Shapes &shapes,
                                            const std::vector<bool> &isSubAlignment,
                                            const PackOptions &options) {
  constexpr size_t mostPairs = 20'000'000;
  size_t numSmall = llvm::count(isSubAlignment, true), count = shapes.shapes.size();
  if (numSmall == 0 || numSmall == count || numSmall > mostPairs / count)
    return std::nullopt;
  Shapes others;
  others.positions = shapes.positions;
  for (size_t index = 0; index < count; ++index)
    if (!isSubAlignment[index])
      others.add(shapes.piecesOf(shapes.shapes[index]));
  Packing packed = packShapes(others, options), packing;
  packing.lowerBound = packed.lowerBound;
  packing.arena = packed.arena;
  packing.offsets.assign(count, -1);
  size_t next = 0;
  for (size_t index = 0; index < count; ++index)
    if (!isSubAlignment[index])
      packing.offsets[index] = packed.offsets[next++];
  for (size_t index = 0; index < count; ++index)
    if (isSubAlignment[index]) {
      const Shape &shape = shapes.shapes[index];
      packing.offsets[index] = lowestFree(shapes, shape, packing.offsets);
      packing.arena = std::max(packing.arena, packing.offsets[index] + shape.size);
    }
  return packing;
}

} // namespace llmmem::planning
