//===- PackLight.cpp - What is smaller than the alignment, placed last ---------------===//

#include "PackLight.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace llmmem::planning {
namespace {

/// The lowest offset at which nothing of `placed` that lives at the same time is in the way.
int64_t lowestFree(const Shapes &shapes, const Shape &light, llvm::ArrayRef<int64_t> offsets) {
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (size_t index = 0; index < shapes.shapes.size(); ++index) {
    const Shape &other = shapes.shapes[index];
    if (offsets[index] < 0 || other.lower >= light.upper || other.upper <= light.lower)
      continue;
    int64_t size = 0;
    for (const Piece &piece : shapes.piecesOf(other))
      if (piece.lower < light.upper && piece.upper > light.lower)
        size = std::max(size, piece.size);
    taken.push_back({offsets[index], offsets[index] + size});
  }
  llvm::sort(taken);
  int64_t offset = 0;
  for (auto [from, to] : taken) {
    if (from - offset >= light.size)
      break;
    offset = std::max(offset, to);
  }
  return offset;
}

} // namespace

std::optional<Packing> packLightLast(const Shapes &shapes, const std::vector<bool> &isLight,
                                     const PackOptions &options) {
  constexpr size_t mostLooks = 20 * 1000 * 1000;
  size_t light = llvm::count(isLight, true), count = shapes.shapes.size();
  if (light == 0 || light == count || light > mostLooks / count)
    return std::nullopt;
  Shapes heavy;
  heavy.positions = shapes.positions;
  for (size_t index = 0; index < count; ++index)
    if (!isLight[index])
      heavy.add(shapes.piecesOf(shapes.shapes[index]));
  Packing packed = packShapes(heavy, options), packing;
  packing.lowerBound = packed.lowerBound;
  packing.arena = packed.arena;
  packing.offsets.assign(count, -1);
  size_t next = 0;
  for (size_t index = 0; index < count; ++index)
    if (!isLight[index])
      packing.offsets[index] = packed.offsets[next++];
  for (size_t index = 0; index < count; ++index)
    if (isLight[index]) {
      const Shape &shape = shapes.shapes[index];
      packing.offsets[index] = lowestFree(shapes, shape, packing.offsets);
      packing.arena = std::max(packing.arena, packing.offsets[index] + shape.size);
    }
  return packing;
}

} // namespace llmmem::planning
