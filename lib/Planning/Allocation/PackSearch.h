//===- PackSearch.h - Exact search for a packing within a capacity ---------------===//
//
// The packing is a depth-first search. At a node the search picks a position and branches on the
// shape that is placed there directly on the skyline (the lowest free offset of the position;
// MiniMalloc calls it the floor), or on none of them. The branches exclude one another and cover
// every packing in which no buffer can move down, so nothing is searched twice. The position with
// the fewest branches for its weight is picked first; a position gains weight whenever it is the
// one that does not fit (Boussemart et al. 2004).
//
// PackBranches.h says what follows from a branch, and TouchCounts.h how the branches of a position
// are counted. A node costs time linear in the positions of its time window and the shapes that are
// left there, with a small factor: positions of equal skyline are handled as one run, each shape
// stores one position at which it touches the skyline, shapes are found by sets of bits, and a
// first branch counts only those shapes again for which it changes a count.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_ALLOCATION_PACKSEARCH_H
#define LLMMEM_LIB_PLANNING_ALLOCATION_PACKSEARCH_H

#include "PackBranches.h"
#include "llmmem/Planning/Model/Cancellation.h"

namespace llmmem::planning {

class PackSearch {
public:
  enum class Outcome { Found, None, Spent }; // None is proved

  /// The branching order of one run of the search.
  struct Priorities {
    std::vector<int32_t> rank; // indexed by shape; the highest is tried first
    double learning; // weight that a position gains for all later runs where it does not fit
  };

  /// `cancellation`, which may be null, ends the work early.
  explicit PackSearch(const Shapes &shapes, Cancellation *cancellation = nullptr);

  /// Looks for a packing within `capacity` over at most `nodes`, which it counts down.
  Outcome run(int64_t capacity, const Priorities &priorities, int64_t &nodes,
              std::vector<int64_t> &offsets);

  /// Says whether `work` is at least a node for every shape. Each node places one shape, so with
  /// less work no packing is found. A node takes a unit, and one more for every 32 shapes.
  static bool mayFind(const Shapes &shapes, int64_t work);

  /// Runs with new priorities until one run ends, or until what is left of `work` may find nothing.
  Outcome restart(int64_t capacity, int64_t &work, std::vector<int64_t> &offsets);

private:
  bool isCancelled() const { return cancellation && cancellation->isAsked(); }

  /// A search node: a branching over one time window, and the windows into which the current branch
  /// splits it.
  struct Node {
    Node(int32_t parent, Span window) : parent(parent), window(window) {}
    int32_t parent; // the node whose branch left this window; -1: the root
    Span window;
    size_t mark = 0;              // of the packing before the first branch
    std::vector<int32_t> choices; // shapes that may be placed there; then, none of them
    size_t nextChoice = 0;
    std::vector<int32_t> counts; // the counts before the first branch, where they are saved
    std::vector<Span> windows;
    size_t nextWindow = 0;
  };
  Outcome search(int64_t &nodes);
  void listChoices(Node &node);
  bool tryNextChoice(Node &node);
  std::vector<Span> splitByTime(Span whole) const;
  bool areTwins(int32_t a, int32_t b) const;

  const Shapes &shapes;
  Cancellation *cancellation;
  const OrderedShapes order;
  PartialPacking packing;
  TouchCounts counts;
  PackBranches branches;
  std::vector<int32_t> rank; // by shape, as ordered
  std::vector<Node> stack;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_ALLOCATION_PACKSEARCH_H
