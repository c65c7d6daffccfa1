//===- Stage.h - The order of one stage and its backward -----------------===//
//
// Ops of a stage move as long as its backward holds less, recomputed just in time or held. Work is
// counted in ops visited.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_STRUCTURE_STAGE_H
#define LLMMEM_LIB_PLANNING_STRUCTURE_STAGE_H

#include "Part.h"
#include "llmmem/Planning/Model/Schedule.h"
#include <memory>
#include <tuple>

namespace llmmem::planning {

/// The score of a stage's order; less is better.
using Score = std::tuple<int64_t, int64_t, int64_t>;
constexpr Score worstScore{INT64_MAX, INT64_MAX, INT64_MAX};

/// What ops of a stage's backward need of its forward, directly or not: for each a set of places in
/// the order of the forward.
class ForwardNeeds {
public:
  ForwardNeeds(const Graph &graph, int32_t numForward)
      : numForward(numForward), numWords(numForward / bitsOfWord + 1), graph(graph),
        place(numForward) {}

  /// Numbers the forward by its order, where that has changed.
  void number(llvm::ArrayRef<OpIndex> order);
  /// The ops of the forward, by their places, that were recomputed, with all that they need.
  using There = llvm::SmallVector<uint64_t, 4>;
  There noneThere() const { return There(numWords, 0); }
  const uint64_t *of(OpIndex op) const { return &needed[(op - numForward) * numWords]; }
  /// Adds `op`, and before it what it needs and is not live, in the order of the forward.
  void recomputeFor(OpIndex op, There &isThere, std::vector<OpIndex> &steps) const;

  static constexpr int32_t bitsOfWord = 64;
  const int32_t numForward;
  const size_t numWords; // number of words of a set with a bit for each op of the forward

private:
  void mark(OpIndex op, llvm::MutableArrayRef<uint64_t> marked) const;

  const Graph &graph;
  std::vector<OpIndex> forward; // as it was when the next two were made
  std::vector<int32_t> place;   // per op of the forward: position in it
  std::vector<uint64_t> needed; // per op of the backward: what it needs of the forward
};

/// One stage and its backward: ops 0 to numForward - 1 are the forward.
class Stage {
public:
  Stage(const Graph &graph, const Part &whole, const Part &backward, int32_t numForward);
  ~Stage();

  /// Moves ops of the backward across its fullest steps until nothing improves or `work` (ops
  /// visited) is spent.
  void lowerPeaks(int64_t &work);
  /// Moves ops, those of the forward too where it `isFree`, until nothing improves or `work` is
  /// spent.
  void improve(bool isFree, int64_t &work);
  /// Moves ops of the backward that `needsGradient` does not name after all that does not read
  /// them, where neither peak rises by it.
  void postpone(const std::vector<bool> &needsGradient, int64_t &work);
  /// Returns the ops of the forward, then those of the backward.
  std::vector<OpIndex> order() const;

private:
  using Order = std::vector<OpIndex>;
  /// The sum must hold thousands of steps with terabytes each.
  static int64_t sumOf(int64_t bytes) { return bytes / 64; }
  /// The usage of both, with the fullest step as a position in `backward`.
  struct Usage {
    Profile recomputed, kept;
    int32_t fullestOfRecomputed;
  };
  /// Spends the work of one measurement.
  void spend(int64_t &work) const {
    graph.poll();
    work -= graph.numOps() + held.numOps();
  }
  Usage measure(int64_t &work, int64_t mostPeak = INT64_MAX);
  Score score(int64_t &work, const Score &best);
  const Profile &measureBackward();
  Order aloneOrder() const;
  bool moveAcrossFullest(Score &best, int64_t &work);
  std::vector<OpIndex> recomputing() const;
  bool improveEach(Order &list, Score &best, int64_t &work);
  class Window;
  Window &windowOf(int32_t begin, int32_t end);
  bool dependsOn(OpIndex later, OpIndex earlier) const;
  bool moveBest(Order &list, int32_t from, Score &best, int64_t &work);

  const Graph graph, held; // the whole stage; its backward alone
  ForwardNeeds needs;
  Order forward, backward;
  Order measuredBackward; // and its profile alone
  Profile backwardAlone;
  /// Per op: how many moves had been made when all of its own were tried, and the work of that.
  struct Tried {
    int64_t numMoves = -1, work = 0;
  };
  std::vector<Tried> tried;
  int64_t numMoves = 0;
  std::unique_ptr<Window> window;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_STRUCTURE_STAGE_H
