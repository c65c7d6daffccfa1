//===- Editor.h - Remove repeats from a schedule ------------------------------===//
//
// Holds a schedule and its memory profile, and tries to remove repeats: without a repeat, the
// instance before it is held for the readers, and the operands may be freed earlier. Each try costs
// O(log n) per value touched (a segment tree with range add and range maximum), so thousands of
// tries cost as much as a few profiles.
//
// Example: f x->a, g, f again, h reads a: without the second f, a is held over g.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_EDITOR_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_EDITOR_H

#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

/// A tree of range additions and range maxima.
class MaxTree {
public:
  explicit MaxTree(llvm::ArrayRef<int64_t> values);
  /// Adds to a range with both ends included, or to nothing where from > to.
  void add(int32_t from, int32_t to, int64_t amount);
  /// Returns the maximum of a range, and a number far below all values where from > to.
  int64_t max(int32_t from, int32_t to) const;

private:
  struct Node {
    int64_t top;     // the maximum in its subtree, `pending` included
    int64_t pending; // an amount that is added to all of its subtree
  };
  void update(int32_t node) {
    nodes[node].top = std::max(nodes[2 * node].top, nodes[2 * node + 1].top) + nodes[node].pending;
  }

  int32_t size, leaves;    // `leaves` is a power of two
  std::vector<Node> nodes; // the children of n are 2n and 2n + 1
};

class Editor {
public:
  Editor(const Graph &graph, std::vector<OpIndex> steps);

  /// Removes the repeat at `step` if the steps that then hold more stay within `capacity`.
  bool tryRemove(int32_t step, int64_t capacity);

  int32_t numSteps() const { return static_cast<int32_t>(steps.size()); }
  OpIndex opAt(int32_t step) const { return steps[step]; }
  /// Says whether this run may be removed: its op has run before.
  bool isRepeat(int32_t step) const { return alive[step] && step != firstRun[steps[step]]; }
  int64_t peak() const { return tree.max(0, numSteps() - 1); }
  std::vector<OpIndex> result() const;

private:
  struct Event {
    int32_t step;
    bool isWrite;
  };
  struct Change {
    int32_t from, to;
    int64_t bytes;
  };
  /// What changes without a run, except for the bytes shared in place.
  struct Removal {
    int32_t low; // the first step that holds more
    llvm::SmallVector<Change, 8> changes;
    llvm::SmallVector<int32_t, 8> touched; // steps that may share other bytes
  };
  /// Returns the reads and writes of `value`, by step.
  llvm::ArrayRef<Event> eventsOf(ValueIndex value) const {
    return llvm::ArrayRef(events).slice(eventsBegin[value],
                                        eventsBegin[value + 1] - eventsBegin[value]);
  }
  void listEvents();
  /// Returns the last step that touches the instance that is current before `step`.
  int32_t endBefore(ValueIndex value, int32_t step) const;
  int32_t lastReadFrom(ValueIndex value, int32_t step) const;
  int64_t shared(int32_t step) const;
  Removal removalOf(int32_t step) const;
  bool fits(llvm::ArrayRef<Change> changes, int32_t from, int32_t to, int64_t capacity) const;

  const Graph &graph;
  std::vector<OpIndex> steps;
  std::vector<bool> alive;
  std::vector<int32_t> firstRun;
  std::vector<Event> events; // sorted by value
  std::vector<int32_t> eventsBegin;
  std::vector<int64_t> sharedAt;
  MaxTree tree;
};

/// Removes repeats, most expensive first, wherever holding the value instead stays within
/// `capacity`. `steps` must fit, without useless repeats (`dropUselessRepeats`). Returns true where
/// it removes any.
bool keepWhatFits(const Graph &graph, std::vector<OpIndex> &steps, int64_t capacity);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_EDITOR_H
