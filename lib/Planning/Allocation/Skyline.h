//===- Skyline.h - Lowest offset first -----------------------------------------===//
//
// The skyline is the height already occupied at each position of time. At its lowest segment the
// unplaced shape of highest rank that lies within the segment is placed; where none does, the
// segment rises to its lower neighbour. So shapes are placed in the order of their lowest feasible
// offsets, as with a heap of offsets, but nothing is visited twice: a k-d tree over (lower, upper)
// finds the shape.
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
#include <cstdint>
#include <vector>

namespace llmmem::planning {

/// Bytes held over [lower, upper), in dense positions.
struct Piece {
  int32_t lower;
  int32_t upper;
  int64_t size;
};

/// A unit that gets one offset: a buffer, or a chain of in-place results whose pieces follow one
/// another without a gap. Later pieces may be smaller.
struct Shape {
  int32_t firstPiece;
  int32_t pieceCount;
  int32_t lower;
  int32_t upper;
  int64_t size; // of the largest piece
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

/// The largest sum of live bytes at each position.
std::vector<int64_t> liveBytes(const Shapes &shapes);

class Skyline {
public:
  explicit Skyline(const Shapes &shapes);

  /// Places all shapes; `rank` orders them, highest first. Returns the arena, or nothing better
  /// than `limit`: then `limit` itself, with the offsets unusable. The largest number is no limit.
  int64_t run(llvm::ArrayRef<int32_t> rank, int64_t limit, std::vector<int64_t> &offsets);

private:
  struct Node { // of the k-d tree: what is unplaced below it
    int32_t maxLower, minUpper;
    int32_t maxRank; // -1: nothing
    bool operator==(const Node &other) const = default;
  };
  struct Slot {
    int32_t lower, upper;
    int32_t rank; // -1: placed
  };

  void build(size_t node, size_t begin, size_t end, bool byLength);
  void fill(size_t node, size_t begin, size_t end);
  Node gathered(size_t node, size_t begin, size_t end) const;
  bool remove(size_t node, size_t begin, size_t end, size_t slot);
  void find(size_t node, size_t begin, size_t end, int32_t from, int32_t to);

  int32_t startSegment(int32_t at, int64_t height, int32_t previous);
  void mergeAround(int32_t at);
  void put(int32_t start, int32_t shape);
  void push(int32_t start);

  const Shapes &shapes;
  std::vector<int32_t> order; // shape by slot of the tree
  std::vector<Node> nodes;
  std::vector<Slot> slots;
  int32_t bestRank = -1;
  int32_t bestSlot = -1;

  std::vector<int64_t> height; // by start of a segment; -1: no segment starts here
  std::vector<int32_t> next, previous;
  std::vector<std::pair<int64_t, int32_t>> heap;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_ALLOCATION_SKYLINE_H
