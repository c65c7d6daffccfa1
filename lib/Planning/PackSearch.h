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
//   it;
//   - floor and remaining bytes of a position must fit the capacity (the section inference of
//   MiniMalloc,
//     Moffitt 2023, from which the idea of floors is taken too).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_PACKSEARCH_H
#define LLMMEM_LIB_PLANNING_PACKSEARCH_H

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

  /// Looks for a packing within `capacity` over at most `nodes` questions, which it counts down.
  Outcome run(int64_t capacity, const Taste &taste, int64_t &nodes, std::vector<int64_t> &offsets);

  /// Runs with ever new tastes until one ends or `work` is spent: one question is a quarter of the
  /// number of shapes.
  Outcome restart(int64_t capacity, int64_t &work, std::vector<int64_t> &offsets);

private:
  struct Change {
    int64_t *place;
    int64_t old;
  };

  void set(int64_t &place, int64_t value) {
    trail.push_back({&place, place});
    place = value;
  }
  void undo(size_t mark);

  Outcome search(int32_t from, int32_t to);
  Outcome searchPart(int32_t from, int32_t to);
  std::vector<std::pair<int32_t, int32_t>> parts(int32_t from, int32_t to) const;
  bool areTwins(int32_t a, int32_t b) const;
  int32_t choosePosition(int32_t from, int32_t to);
  bool isFlat(int32_t shape);
  bool stand(int32_t shape);
  bool standElsewhere(int32_t position);
  int64_t nextSupport(int32_t shape) const;
  bool raiseFloor(int32_t position, int64_t height);
  bool raiseShape(int32_t shape, int64_t offset);
  bool propagate();

  const Shapes &shapes;
  std::vector<std::vector<int32_t>> members;  // by position: the shapes held there
  std::vector<std::vector<int32_t>> starting; // by position: the shapes that begin there
  std::vector<double> weight; // by position: how often it was the one that did not fit
  std::vector<std::vector<int32_t>> overlaps; // by shape
  std::vector<int64_t> smallest;              // by shape: its smallest piece

  int64_t capacity = 0;
  llvm::ArrayRef<int32_t> rank;
  double learning = 0;
  int64_t nodesLeft = 0;
  size_t depth = 0;
  std::vector<int64_t> floor, remaining; // by position
  std::vector<int64_t> least;            // by shape: no lower offset is possible
  std::vector<int64_t> placed;           // by shape: 1 where it stands at `least`
  std::vector<Change> trail;
  std::vector<int32_t> raised;   // positions whose shapes must be looked at
  std::vector<int32_t> recheck;  // positions whose floor may rise
  std::vector<int32_t> flatMark; // by shape: the question for which flatness is known
  std::vector<bool> flat;
  int32_t question = 0;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_PACKSEARCH_H
