//===- PartialPacking.cpp - Some shapes placed, and bounds for the others ----------===//

#include "PartialPacking.h"
#include <numeric>

using namespace llmmem::planning;

OrderedShapes::OrderedShapes(const Shapes &shapes)
    : shapes(shapes), shapeOf(shapes.shapes.size()), words((shapeOf.size() + 63) / 64),
      firstStarting(shapes.positions + 1, 0), live(words * shapes.positions, 0) {
  std::iota(shapeOf.begin(), shapeOf.end(), 0);
  std::stable_sort(shapeOf.begin(), shapeOf.end(), [&](int32_t a, int32_t b) {
    return shapes.shapes[a].lower < shapes.shapes[b].lower;
  });
  for (size_t shape = 0; shape < shapeOf.size(); ++shape) {
    const Shape &item = shapes.shapes[shapeOf[shape]];
    int64_t size = item.size;
    for (const Piece &piece : shapes.piecesOf(item))
      size = std::min(size, piece.size);
    items.push_back(item);
    smallest.push_back(size);
    ++firstStarting[item.lower + 1];
    for (int32_t position = item.lower; position < item.upper; ++position)
      live[position * words + shape / 64] |= uint64_t(1) << (shape % 64);
  }
  std::partial_sum(firstStarting.begin(), firstStarting.end(), firstStarting.begin());
}

void PartialPacking::clear() {
  skyline.assign(order.shapes.positions, 0);
  remaining = liveBytes(order.shapes);
  least.assign(order.items.size(), 0);
  touching.clear();
  for (const Shape &item : order.items)
    touching.push_back(item.lower);
  left.assign(order.words, ~uint64_t(0));
  trail.clear();
}

void PartialPacking::undo(size_t mark) {
  for (; trail.size() > mark; trail.pop_back()) {
    const Change &last = trail.back();
    if (last.touching == ofPlacement) {
      lift(last.index, last.height);
    } else if (last.touching == ofSkyline) {
      skyline[last.index] = last.height;
    } else {
      least[last.index] = last.height;
      touching[last.index] = last.touching;
    }
  }
}

/// Takes the shape off the skyline, which was level at `height` under it.
void PartialPacking::lift(int32_t shape, int64_t height) {
  left[shape / 64] |= uint64_t(1) << (shape % 64);
  for (const Piece &piece : order.piecesOf(shape))
    for (int32_t position = piece.lower; position < piece.upper; ++position) {
      remaining[position] += piece.size;
      skyline[position] = height;
    }
}

void PartialPacking::place(int32_t shape, llvm::ArrayRef<int32_t> others) {
  trail.push_back({shape, ofPlacement, least[shape]});
  left[shape / 64] &= ~(uint64_t(1) << (shape % 64));
  const llvm::ArrayRef<Shape> items = order.items;
  for (const Piece &piece : order.piecesOf(shape)) {
    const int64_t height = least[shape] + piece.size;
    for (int32_t position = piece.lower; position < piece.upper; ++position) {
      remaining[position] -= piece.size;
      skyline[position] = height;
    }
    for (int32_t other : others) {
      const Shape &item = items[other];
      if (other == shape || item.upper <= piece.lower || item.lower >= piece.upper)
        continue;
      if (least[other] > height || (least[other] == height && skyline[touching[other]] == height))
        continue;
      setBound(other, height, std::max(item.lower, piece.lower));
    }
  }
}
