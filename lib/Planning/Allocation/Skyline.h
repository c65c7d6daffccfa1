//===- Skyline.h - Lowest offset first -----------------------------------------===//
//
// The skyline is the height already occupied at each position of time. The unplaced shape of
// highest rank that lies within its lowest segment is placed there; where none does, the segment
// rises to its lower neighbour. So shapes are placed in the order of their lowest feasible offsets,
// as with a heap of offsets, but nothing is visited twice.
//
//   height |      +--+            the lowest segment [2, 5) takes a shape live within [2, 5)
//          |  +---+  |
//          |--+      +--
//          +-------------- time
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_ALLOCATION_SKYLINE_H
#define LLMMEM_LIB_PLANNING_ALLOCATION_SKYLINE_H

#include "llvm/ADT/ArrayRef.h"
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace llmmem::planning {

/// The bytes held over [lower, upper), in dense positions.
struct Piece {
  int32_t lower;
  int32_t upper;
  int64_t size;
};

/// A shape is a unit that gets one offset: a buffer, or a chain of in-place results whose pieces
/// follow one another without a gap. Later pieces may be smaller.
struct Shape {
  int32_t firstPiece;
  int32_t pieceCount;
  int32_t lower;
  int32_t upper;
  int64_t size; // size of the largest piece
};

struct Shapes {
  std::vector<Shape> shapes;
  std::vector<Piece> pieces;
  int32_t positions = 0; // all pieces lie within [0, positions)

  llvm::ArrayRef<Piece> piecesOf(const Shape &shape) const {
    return llvm::ArrayRef<Piece>(pieces).slice(shape.firstPiece, shape.pieceCount);
  }
  void add(llvm::ArrayRef<Piece> chain);
};

/// Returns the largest sum of live bytes at each position.
std::vector<int64_t> liveBytes(const Shapes &shapes);

/// The shapes that have no place yet. Those that begin within a segment of the skyline are
/// neighbours in the order of their beginnings, and most segments are narrow: the shapes are
/// visited one by one, and a block is passed over where none of its shapes can be the one that is
/// looked for.
class UnplacedShapes {
public:
  explicit UnplacedShapes(const Shapes &shapes);

  /// Begins again with all shapes. `ranks` is a permutation.
  void reset(llvm::ArrayRef<int32_t> ranks);
  /// Returns the highest rank of a shape within [from, to), or -1 where there is none.
  int32_t highestRank(int32_t from, int32_t to) const;
  /// Removes the shape of the rank and returns its index.
  int32_t take(int32_t rank);

private:
  struct Slot {
    int32_t upper;
    int32_t rank;
  };
  struct Bounds {
    int32_t maxRank = -1;
    int32_t minUpper = std::numeric_limits<int32_t>::max();
    int32_t maxUpper = -1; // or more than that

    void add(const Bounds &other) {
      maxRank = std::max(maxRank, other.maxRank);
      minUpper = std::min(minUpper, other.minUpper);
      maxUpper = std::max(maxUpper, other.maxUpper);
    }
    bool hasAtEdge(const Slot &slot) const {
      return slot.rank == maxRank || slot.upper == minUpper;
    }
  };
  struct Search;

  Bounds boundsOfBlock(size_t block) const;
  Bounds boundsOfGroup(size_t group) const;

  std::vector<int32_t> order;     // shape by slot, by lower, then upper
  std::vector<int32_t> firstSlot; // by position: the first slot of those that begin there or later
  std::vector<Slot> slots;
  std::vector<int32_t> slotOfRank;
  std::vector<uint64_t> isUnplaced; // a bit for each slot of a block
  std::vector<Bounds> blocks;       // bounds of the unplaced shapes of a block
  std::vector<Bounds> groups;       // bounds of groups of blocks
};

class Skyline {
public:
  explicit Skyline(const Shapes &shapes) : shapes(shapes), unplaced(shapes) {}

  /// Places all shapes. `ranks`, a permutation, orders them, highest first. Returns the arena.
  /// Where that is no better than `limit`, it returns `limit` and the offsets are not usable. The
  /// largest number is no limit.
  int64_t run(llvm::ArrayRef<int32_t> ranks, int64_t limit, std::vector<int64_t> &offsets);

private:
  struct Segment { // ends where the next one starts
    uint64_t height;
    int32_t start; // -1: it is part of another one
    int32_t previous, next;
  };
  using Entry = unsigned __int128; // height, a position within the segment, index of the segment

  int32_t lowestSegment();
  int32_t raise(int32_t left, int32_t start, uint64_t height);
  void link(int32_t left, int32_t right);
  void join(int32_t left, int32_t right);
  void fillLowest();
  void put(const Shape &shape);

  const Shapes &shapes;
  UnplacedShapes unplaced;
  std::vector<Segment> segments; // the walls before and after all, then the others
  std::vector<int32_t> lowest;   // segments of the lowest height, the first one last
  std::vector<Entry> heap;       // heap of the other segments
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_ALLOCATION_SKYLINE_H
