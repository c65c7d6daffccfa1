//===- PackSearch.h - Exact search for a packing within a capacity ---------------===//
//
// Depth first over the question "which shape stands directly on the floor of position s, or none?".
// Its answers exclude one another and cover every packing pushed down as far as it goes, so nothing
// is searched twice. The position with the fewest answers for its weight is asked first; a position
// gains weight whenever it is the one that does not fit (Boussemart et al. 2004).
//
// Between two questions bounds are propagated until nothing changes:
//   - a shape stands no lower than the highest floor below it;
//   - the floor of a position is no lower than the lowest place of a shape that must still stand on
//     it;
//   - floor and remaining bytes of a position must fit the capacity (the section inference of
//     MiniMalloc, Moffitt 2023, from which the idea of floors is taken too).
//
// A question costs time that is linear in the shapes and positions of the part of time in which it
// is asked: floors of equal height are surveyed as stretches, and a shape knows one position at
// which it touches the floor.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_ALLOCATION_PACKSEARCH_H
#define LLMMEM_LIB_PLANNING_ALLOCATION_PACKSEARCH_H

#include "Skyline.h"

namespace llmmem::planning {

class PackSearch {
public:
  enum class Outcome { Found, None, Spent }; // None: proved

  /// What one run of the search prefers.
  struct Taste {
    std::vector<int32_t> rank; // by shape: highest tried first
    double learning; // what a position gains in weight, for all later runs, where it does not fit
  };

  explicit PackSearch(const Shapes &shapes);

  /// Looks for a packing within `capacity` over at most `questions`, which it counts down.
  Outcome run(int64_t capacity, const Taste &taste, int64_t &questions,
              std::vector<int64_t> &offsets);

  /// Runs with ever new tastes until one ends or `work` is spent: a question takes a unit, and one
  /// more for every 32 shapes.
  Outcome restart(int64_t capacity, int64_t &work, std::vector<int64_t> &offsets);

private:
  struct Interval {
    int32_t from, to;
  };
  /// Neighbouring positions with floors of equal height.
  struct Stretch {
    int64_t height;
    int32_t begin, end;
  };
  /// A question about one part of time, and the parts into which the answer that is tried leaves
  /// it.
  struct Question {
    Question(int32_t parent, Interval part) : parent(parent), part(part) {}
    int32_t parent; // whose answer left this part; -1: the whole
    Interval part;
    int32_t position = -1;
    size_t mark = 0;              // of the trail before the first answer
    std::vector<int32_t> choices; // shapes that may stand at `position`; then, none of them
    size_t nextChoice = 0;
    std::vector<Interval> parts;
    size_t nextPart = 0;
  };
  struct Change {
    int64_t *place;
    int64_t old;
  };

  void set(int64_t &place, int64_t value) {
    trail.push_back({&place, place});
    place = value;
  }
  void undo(size_t mark);

  Outcome search(int64_t &questions);
  void ask(Question &question);
  bool answer(Question &question);
  std::vector<Interval> partsOf(Interval whole) const;
  bool areTwins(int32_t a, int32_t b) const;
  int32_t choosePosition(Interval part) const;

  bool stand(int32_t shape, Interval part);
  bool standElsewhere(const Question &question);
  int64_t nextSupport(int32_t shape, Interval part) const;

  bool propagate(Interval part);
  void survey(Interval part);
  void findStretches(Interval part);
  void surveyShape(int32_t shape, Interval part);
  void count(std::vector<int32_t> &changes, int32_t from, int32_t to, Interval part);
  bool raiseFloors(Interval gap, Interval part);
  void touch(Interval gap, Interval part);

  /// Calls `function` with each shape that is not placed and is held within `span`, a part of
  /// `part`.
  template <typename Function>
  void forEachLeft(Interval span, Interval part, Function function) const;

  const Shapes &shapes;
  std::vector<int32_t> shapeOf; // shapes by `lower`; all below are in this order
  std::vector<Shape> items;
  std::vector<int64_t> smallest;      // by shape: its smallest piece
  std::vector<int32_t> firstStarting; // by position: the first shape that begins there or later
  std::vector<double> weight;         // by position: how often it was the one that did not fit

  int64_t capacity = 0;
  std::vector<int32_t> rank;
  double learning = 0;
  std::vector<Question> questions;
  std::vector<Change> trail;
  std::vector<int64_t> floor, remaining; // by position
  std::vector<int64_t> least;            // by shape: no lower offset is possible
  std::vector<int64_t> touching;         // by shape: a position whose floor is at `least`, if any
  std::vector<int64_t> placed;           // by shape: 1 where it stands at `least`

  // What the last survey of a position found.
  std::vector<int32_t> stretchOf;      // by position
  std::vector<int32_t> within, across; // by position: how many may stand there, on level ground
                                       // and beyond it
  std::vector<Stretch> stretches;      // of the part that was surveyed last
  std::vector<int32_t> byHeight;       // stretches
  std::vector<int32_t> groupBegin;     // by stretch: where its height begins in `byHeight`
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_ALLOCATION_PACKSEARCH_H
