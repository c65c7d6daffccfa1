//===- TouchCounts.h - How many shapes may be placed at each position --------------===//
//
// A shape may be placed where its bound is the height of the skyline: it *touches* the skyline
// there. Positions of equal skyline are handled as one run. A survey counts all shapes that are
// left. After a change, only the shapes that it concerns are counted again: `forget` them, change
// the packing, then `surveyAgain`.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_ALLOCATION_TOUCHCOUNTS_H
#define LLMMEM_LIB_PLANNING_ALLOCATION_TOUCHCOUNTS_H

#include "PartialPacking.h"

namespace llmmem::planning {

class TouchCounts {
public:
  explicit TouchCounts(const PartialPacking &packing);

  /// Returns the number of shapes that touch the skyline at a position, on one run.
  int32_t within(int32_t position) const { return ofRun.at[position]; }
  /// Returns the number of those that touch it there and lie across several runs.
  int32_t across(int32_t position) const { return ofRuns.at[position]; }

  /// Counts all shapes of the window.
  void survey(Span window);
  /// Stops counting `shapes` before the skyline is `raised` and something changes for them.
  void forget(llvm::ArrayRef<int32_t> shapes, llvm::ArrayRef<Span> raised);
  /// Counts them again there, and elsewhere those that are counted in another way now. The result
  /// is as if all were counted.
  void surveyAgain(llvm::ArrayRef<int32_t> shapes, llvm::ArrayRef<Span> raised, Span window);

  /// Finds the positions where shapes are left and none may be placed. They are only where counts
  /// have changed, as there were none before.
  void findGaps(std::vector<Span> &gaps) const;

  /// Returns the counts of a window, for `restore`.
  std::vector<int32_t> save(Span window) const;
  void restore(Span window, llvm::ArrayRef<int32_t> saved);

private:
  /// How a shape touches the skyline: not at all, on one run, or across several.
  enum class Touch : uint8_t { None, Within, Across };
  struct Counted {
    Touch touch;
    int64_t least;
    bool operator==(const Counted &other) const = default;
  };
  /// Numbers of shapes. A survey sums them up from where they begin and end. Neighbouring windows
  /// share a border, at which the shapes of one end and those of the other begin, so these are kept
  /// apart.
  struct Counts {
    explicit Counts(int32_t positions)
        : begins(positions + 1, 0), ends(positions + 1, 0), at(positions, 0) {}
    void clear(Span window);
    void add(int32_t from, int32_t to) {
      ++begins[from];
      ++ends[to];
    }
    void sumUp(Span window);
    std::vector<int32_t> begins, ends, at;
  };

  Counted countedAs(int32_t shape) const;
  void surveyShape(int32_t shape);
  void count(const Counted &counted, Span span, int32_t amount);
  void countWithin(llvm::ArrayRef<int32_t> shapes, const std::vector<Counted> &counted,
                   llvm::ArrayRef<Span> raised, int32_t amount);
  void countOverlapping(int32_t shape, const Counted &counted, llvm::ArrayRef<Span> raised,
                        int32_t amount);
  void findRuns(Span raised, Span window);

  const PartialPacking &packing;
  const llvm::ArrayRef<Shape> items;
  Counts ofRun, ofRuns;               // of shapes on one run, and of those across several
  std::vector<int32_t> runEnd;        // by position: where another height begins
  Span surveyed = {0, 0};             // where counts may have changed
  std::vector<Counted> before, after; // of the last change, by its shapes; there is room for all
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_ALLOCATION_TOUCHCOUNTS_H
