//===- Candidate.h - A schedule that may become a plan ----------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_CANDIDATE_H
#define LLMMEM_LIB_PLANNING_BUDGET_CANDIDATE_H

#include "llmmem/Planning/Model/Schedule.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <tuple>

namespace llmmem::planning {

struct Candidate {
  std::vector<OpIndex> steps;
  int64_t cost = 0;
  int64_t peak = 0;              // sizes rounded to the alignment, resident included
  llvm::StringRef searcher = ""; // the name of the searcher that made it
};
using Candidates = std::vector<Candidate>;

/// Measures the cost and the peak of `steps`.
inline Candidate measured(const Graph &graph, std::vector<OpIndex> steps,
                          llvm::StringRef searcher) {
  const Profile usage = profile(graph, steps);
  return {std::move(steps), usage.cost, usage.peak, searcher};
}

inline bool isCheaper(const Candidate &a, const Candidate &b) {
  return std::tie(a.cost, a.peak) < std::tie(b.cost, b.peak);
}

inline bool holdsLess(const Candidate &a, const Candidate &b) {
  return std::tie(a.peak, a.cost) < std::tie(b.peak, b.cost);
}

inline bool anyFits(llvm::ArrayRef<Candidate> found, int64_t capacity) {
  return llvm::any_of(found, [&](const Candidate &each) { return each.peak <= capacity; });
}

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_CANDIDATE_H
