//===- PeakMoves.cpp - Orders that hold less at one step ----------------------------===//

#include "PeakMoves.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace llmmem::planning;

namespace {
/// Makes the moves across the step at position `full` of an order.
class PeakMoves {
public:
  PeakMoves(const Graph &graph, llvm::ArrayRef<OpIndex> order, int32_t full);
  std::vector<std::vector<OpIndex>> run();

private:
  struct Move {
    int64_t bytes; // more bytes at the full step
    std::vector<OpIndex> ops;
    bool isLater;
  };
  bool isBefore(OpIndex op) const { return position[op] < full; }
  void consider(OpIndex op);
  bool addRelated(OpIndex op, bool isLater, std::vector<OpIndex> &ops) const;
  bool isHeld(ValueIndex value, llvm::ArrayRef<OpIndex> moved, bool isLater) const;
  int64_t bytesMore(llvm::ArrayRef<OpIndex> ops, bool isLater) const;
  size_t farthest(const Move &move, llvm::ArrayRef<OpIndex> others) const;
  void make(const Move &move);

  const Graph &graph;
  llvm::ArrayRef<OpIndex> order;
  int32_t full;
  std::vector<int32_t> position; // per op
  std::vector<Move> moves;
  std::vector<std::vector<OpIndex>> orders;
};
} // namespace

PeakMoves::PeakMoves(const Graph &graph, llvm::ArrayRef<OpIndex> order, int32_t full)
    : graph(graph), order(order), full(full), position(graph.numOps()) {
  for (size_t index = 0; index < order.size(); ++index)
    position[order[index]] = static_cast<int32_t>(index);
}

/// Adds the ops that must move along. Returns false where the full step is one of them, or they are
/// many.
bool PeakMoves::addRelated(OpIndex op, bool isLater, std::vector<OpIndex> &ops) const {
  constexpr size_t most = 8; // the part of an update that makes one of its two moments
  auto add = [&](OpIndex other) {
    if (other < 0 || llvm::is_contained(ops, other) ||
        (isLater ? position[other] > full : isBefore(other)))
      return true;
    ops.push_back(other);
    return position[other] != full && ops.size() <= most && addRelated(other, isLater, ops);
  };
  if (!isLater)
    return llvm::all_of(graph.op(op).reads,
                        [&](ValueIndex value) { return add(graph.writer(value)); });
  return llvm::all_of(graph.op(op).writes,
                      [&](ValueIndex value) { return llvm::all_of(graph.readers(value), add); });
}

/// Says whether `value` is live while the full step runs, once `moved` ran later or earlier.
bool PeakMoves::isHeld(ValueIndex value, llvm::ArrayRef<OpIndex> moved, bool isLater) const {
  auto runsBefore = [&](OpIndex op) {
    return llvm::is_contained(moved, op) ? !isLater : isBefore(op);
  };
  const OpIndex writer = graph.writer(value);
  const bool isThere = writer < 0 || position[writer] == full || runsBefore(writer);
  return isThere && (graph.isKept(value) || llvm::any_of(graph.readers(value), [&](OpIndex reader) {
                       return position[reader] == full || !runsBefore(reader);
                     }));
}

int64_t PeakMoves::bytesMore(llvm::ArrayRef<OpIndex> ops, bool isLater) const {
  std::vector<ValueIndex> values;
  for (OpIndex op : ops) {
    llvm::append_range(values, graph.op(op).reads);
    llvm::append_range(values, graph.op(op).writes);
  }
  llvm::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  int64_t more = 0;
  for (ValueIndex value : values)
    more += graph.bytes(value) * (isHeld(value, ops, isLater) - isHeld(value, {}, isLater));
  return more;
}

void PeakMoves::consider(OpIndex op) {
  const bool isLater = isBefore(op);
  std::vector<OpIndex> ops = {op};
  if (!addRelated(op, isLater, ops))
    return;
  if (const int64_t more = bytesMore(ops, isLater); more < 0)
    moves.push_back({more, std::move(ops), isLater});
}

/// Returns the latest, or the earliest, place of the moved ops among the others.
size_t PeakMoves::farthest(const Move &move, llvm::ArrayRef<OpIndex> others) const {
  std::vector<OpIndex> related;
  for (OpIndex op : move.ops)
    if (move.isLater)
      for (ValueIndex value : graph.op(op).writes)
        llvm::append_range(related, graph.readers(value));
    else
      for (ValueIndex value : graph.op(op).reads)
        related.push_back(graph.writer(value));
  auto isRelated = [&](OpIndex op) { return llvm::is_contained(related, op); };
  if (move.isLater)
    return llvm::find_if(others, isRelated) - others.begin();
  return others.size() - (llvm::find_if(llvm::reverse(others), isRelated) - others.rbegin());
}

/// Makes a move to next to the full step, and one as far from it as can be: what makes the step
/// full is often full for a few steps more.
void PeakMoves::make(const Move &move) {
  std::vector<OpIndex> others, moved;
  for (OpIndex op : order)
    (llvm::is_contained(move.ops, op) ? moved : others).push_back(op);
  const size_t near = llvm::find(others, order[full]) - others.begin() + move.isLater;
  const size_t far = farthest(move, others);
  auto add = [&](size_t place) {
    std::vector<OpIndex> &changed = orders.emplace_back(others);
    changed.insert(changed.begin() + place, moved.begin(), moved.end());
  };
  add(far);
  if (near != far)
    add(near);
}

std::vector<std::vector<OpIndex>> PeakMoves::run() {
  for (OpIndex op : order)
    if (position[op] != full)
      consider(op);
  llvm::stable_sort(moves, [](const Move &a, const Move &b) { return a.bytes < b.bytes; });
  for (const Move &move : moves)
    make(move);
  return std::move(orders);
}

std::vector<std::vector<OpIndex>>
llmmem::planning::moveAcross(const Graph &graph, llvm::ArrayRef<OpIndex> order, int32_t full) {
  return PeakMoves(graph, order, full).run();
}
