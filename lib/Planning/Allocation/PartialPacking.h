//===- PartialPacking.h - Some shapes placed, and bounds for the others ------------===//
//
// This is the state of a node of the packing search (PackSearch.h): the skyline, which shapes are
// placed, and for each of the others a lower bound on its offset. A trail holds every change, so
// leaving a branch takes as long as entering it did.
//
// Shapes are numbered by where they begin. So those that are live within a span are found by sets
// of bits, one for each position.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_ALLOCATION_PARTIALPACKING_H
#define LLMMEM_LIB_PLANNING_ALLOCATION_PARTIALPACKING_H

#include "Skyline.h"
#include "llvm/ADT/bit.h"

namespace llmmem::planning {

/// The positions [from, to).
struct Span {
  int32_t from, to;
};

/// The shapes in the order of their beginnings, which gives them their numbers.
class OrderedShapes {
public:
  explicit OrderedShapes(const Shapes &shapes);

  llvm::ArrayRef<Piece> piecesOf(int32_t shape) const { return shapes.piecesOf(items[shape]); }
  /// Calls `function` with each shape of the set `among` that is live within `span`, a part of
  /// `window`. No shape of the set begins before the window and reaches into it.
  template <typename Function>
  void forEachLive(llvm::ArrayRef<uint64_t> among, Span span, Span window,
                   Function function) const {
    const int32_t begin = firstStarting[window.from], end = firstStarting[span.to];
    const int32_t later = firstStarting[span.from + 1]; // these begin within the span, all of them
    const uint64_t *liveAtBegin = &live[span.from * words];
    auto from = [](int32_t shape, int32_t first) { // the bits of a word from `shape` on
      return shape <= first       ? ~uint64_t(0)
             : shape - first < 64 ? ~uint64_t(0) << (shape - first)
                                  : 0;
    };
    for (int32_t first = begin / 64 * 64; first < end; first += 64) {
      uint64_t bits = among[first / 64] & from(begin, first) & ~from(end, first) &
                      (liveAtBegin[first / 64] | from(later, first));
      for (; bits; bits &= bits - 1)
        function(first + llvm::countr_zero(bits));
    }
  }

  const Shapes &shapes;
  std::vector<int32_t> shapeOf; // by number: the index in `shapes`
  std::vector<Shape> items;
  std::vector<int64_t> smallest; // by shape: its smallest piece
  size_t words;                  // the number of words of a set of shapes, one bit each

private:
  std::vector<int32_t> firstStarting; // by position: the first shape that begins there or later
  std::vector<uint64_t> live;         // by position: the set of shapes that are live there
};

class PartialPacking {
public:
  explicit PartialPacking(const OrderedShapes &order) : order(order) {}

  /// Begins with no shape placed.
  void clear();
  size_t mark() const { return trail.size(); }
  /// Undoes all changes since the trail had this mark.
  void undo(size_t mark);

  void setBound(int32_t shape, int64_t height, int32_t position) {
    trail.push_back({shape, touching[shape], least[shape]});
    least[shape] = height;
    touching[shape] = position;
  }
  void setSkyline(int32_t position, int64_t height) {
    trail.push_back({position, ofSkyline, skyline[position]});
    skyline[position] = height;
  }
  /// Lowers a skyline that was set since the last mark.
  void lowerSkyline(int32_t position, int64_t height) {
    skyline[position] = std::min(skyline[position], height);
  }
  /// Places `shape` on the skyline, which is level below it, and raises the bounds of `others`.
  void place(int32_t shape, llvm::ArrayRef<int32_t> others);

  bool isPlaced(uint32_t shape) const { return !(left[shape / 64] >> (shape % 64) & 1); }
  /// Says whether the shape may be placed on the skyline as its bound is.
  bool touchesSkyline(int32_t shape) const { return skyline[touching[shape]] == least[shape]; }
  template <typename Function>
  void forEachLeft(Span span, Span window, Function function) const {
    order.forEachLive(left, span, window, function);
  }

  const OrderedShapes &order;
  std::vector<int64_t> skyline, remaining; // by position
  std::vector<int64_t> least;              // by shape: a lower bound on its offset
  std::vector<int32_t> touching; // by shape: a position with its skyline at `least`, if any

private:
  /// A change of the bound of a shape, of the skyline at a position, or of the placement of a
  /// shape, together with what it changed.
  struct Change {
    int32_t index;
    int32_t touching; // touching position of the shape; else one of those below
    int64_t height;   // height before the change
  };
  static constexpr int32_t ofSkyline = -1, ofPlacement = -2;

  void lift(int32_t shape, int64_t height);

  std::vector<uint64_t> left; // the set of shapes that are not placed at `least` yet
  std::vector<Change> trail;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_ALLOCATION_PARTIALPACKING_H
