//===- PackSearch.h - Exact search for a packing within a capacity ---------------===//
//
// The packing is a depth-first search. At a node the search picks a position and branches on the
// shape that is placed there directly on the skyline (the lowest free offset of the position;
// MiniMalloc calls it the floor), or on none of them. The branches exclude one another and cover
// every packing in which no buffer can move down, so nothing is searched twice. The position with
// the fewest branches for its weight is picked first; a position gains weight whenever it is the
// one that does not fit (Boussemart et al. 2004).
//
// At each node bounds are propagated until nothing changes:
//   - the offset of a shape is at least the highest skyline below it;
//   - the skyline of a position is at least the lowest offset of the shapes that are left there;
//   - skyline plus remaining bytes of a position must not exceed the capacity (the section
//     inference of MiniMalloc, Moffitt 2023).
//
// A node costs time linear in the positions of its time window and the shapes that are left there,
// with a small factor: positions of equal skyline are handled as one run, each shape stores one
// position at which it touches the skyline, shapes are found by sets of bits, and a first branch
// counts only those shapes again for which it changes a count.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_ALLOCATION_PACKSEARCH_H
#define LLMMEM_LIB_PLANNING_ALLOCATION_PACKSEARCH_H

#include "Skyline.h"
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

  struct Interval {
    int32_t from, to;
  };
  /// How a shape touches the skyline for the counts: not at all, on one run, or across several.
  enum class Touch : uint8_t { None, Within, Across };
  struct Counted {
    Touch touch;
    int64_t least;
    bool operator==(const Counted &other) const = default;
  };
  /// The number of shapes that may be placed on the skyline of each position. A survey sums them up
  /// from where they begin and end. Neighbouring windows share a border, at which the shapes of one
  /// end and those of the other begin, so these are kept apart.
  struct Counts {
    explicit Counts(int32_t positions)
        : begins(positions + 1, 0), ends(positions + 1, 0), at(positions, 0) {}
    void clear(Interval window);
    void add(int32_t from, int32_t to) {
      ++begins[from];
      ++ends[to];
    }
    void sumUp(Interval window);
    std::vector<int32_t> begins, ends, at;
  };
  /// A search node: a branching over one time window, and the windows into which the current branch
  /// splits it.
  struct Node {
    Node(int32_t parent, Interval window) : parent(parent), window(window) {}
    int32_t parent; // the node whose branch left this window; -1: the root
    Interval window;
    int32_t position = -1;
    size_t mark = 0;              // position of the trail before the first branch
    std::vector<int32_t> choices; // shapes that may be placed at `position`; then, none of them
    size_t nextChoice = 0;
    std::vector<int32_t> counts; // the counts before the first branch, where they are saved
    std::vector<Interval> windows;
    size_t nextWindow = 0;
  };
  /// A change of the bound of a shape, of the skyline at a position, or of the placement of a
  /// shape, together with what it changed.
  struct Change {
    int32_t index;
    int32_t touching; // touching position of the shape; else one of those below
    int64_t height;   // height before the change
  };
  static constexpr int32_t ofSkyline = -1, ofPlacement = -2;

  void setBound(int32_t shape, int64_t height, int32_t position) {
    trail.push_back({shape, touching[shape], least[shape]});
    least[shape] = height;
    touching[shape] = position;
  }
  void setSkyline(int32_t position, int64_t height) {
    trail.push_back({position, ofSkyline, skyline[position]});
    skyline[position] = height;
  }
  void undo(size_t mark);
  void lift(int32_t shape, int64_t height);

  Outcome search(int64_t &nodes);
  void listChoices(Node &node);
  void saveCounts(Node &node) const;
  bool restoreCounts(const Node &node);
  bool tryNextChoice(Node &node);
  std::vector<Interval> splitByTime(Interval whole) const;
  bool areTwins(int32_t a, int32_t b) const;
  int32_t choosePosition(Interval window) const;

  bool placeOnSkyline(int32_t shape, Interval window, bool isSurveyed);
  bool placeOffSkyline(const Node &node, bool isSurveyed);
  int64_t nextSupport(int32_t shape, Interval window) const;

  bool propagate(Interval window);
  void findGaps();
  void survey(Interval window);
  void findRuns(Interval raised, Interval window);
  void surveyShape(int32_t shape);
  Counted countedAs(int32_t shape) const;
  void count(const Counted &counted, Interval span, int32_t amount);
  void countWithin(llvm::ArrayRef<int32_t> shapes, const std::vector<Counted> &counted,
                   llvm::ArrayRef<Interval> raised, int32_t amount);
  void countBeside(int32_t shape, const Counted &counted, llvm::ArrayRef<Interval> raised,
                   int32_t amount);
  void forget(llvm::ArrayRef<int32_t> shapes, llvm::ArrayRef<Interval> raised);
  void surveyAgain(llvm::ArrayRef<int32_t> shapes, llvm::ArrayRef<Interval> raised,
                   Interval window);
  void listLive();
  bool isPlaced(uint32_t shape) const { return !(left[shape / 64] >> (shape % 64) & 1); }
  bool raiseSkyline(Interval gap);
  void touch(Interval gap);

  /// Calls `function` with each unplaced shape that is live within `span`, a part of `window`.
  template <typename Function>
  void forEachLeft(Interval span, Interval window, Function function) const;
  /// Calls `function` with each of the shapes in `changed`, which are all of them.
  template <typename Function>
  void forEachChanged(Interval span, Function function) const;

  const Shapes &shapes;
  Cancellation *cancellation;
  std::vector<int32_t> shapeOf; // shapes by `lower`; all below are in this order
  std::vector<Shape> items;
  std::vector<int64_t> smallest;      // by shape: its smallest piece
  std::vector<int32_t> firstStarting; // by position: the first shape that begins there or later
  size_t words;                       // number of words of a set of shapes, one bit each
  std::vector<uint64_t> live;         // by position: the set of shapes that are live there
  std::vector<double> weight;         // by position: how often it was the one that did not fit

  int64_t capacity = 0;
  std::vector<int32_t> rank;
  double learning = 0;
  std::vector<Node> stack; // the stack of the search
  std::vector<Change> trail;
  std::vector<int64_t> skyline, remaining; // indexed by position
  std::vector<int64_t> least;              // by shape: a lower bound on its offset
  std::vector<int32_t> touching; // by shape: a position with its skyline at `least`, if any
  std::vector<uint64_t> left;    // the set of shapes that are not placed at `least` yet

  // The results of the last survey. Shapes may be placed on one run or across several.
  Counts within, across;
  std::vector<int32_t> runEnd; // by position: where another height begins
  Interval surveyed = {0, 0};  // where counts may have changed
  std::vector<Counted> before,
      after; // the last change for the shapes in `changed`; there is room for all shapes
  std::vector<int32_t> changed; // shapes that the last change concerns
  std::vector<Interval> gaps;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_ALLOCATION_PACKSEARCH_H
