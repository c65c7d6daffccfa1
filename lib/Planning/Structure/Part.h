//===- Part.h - A list of ops as a problem of its own --------------------===//
//
// A value that other ops write is an input of the part, and a value that others still read is kept.
// Example: of f x->a, g a->b, h b->c the part {g} has the input a and keeps b.
//

#ifndef LLMMEM_LIB_PLANNING_STRUCTURE_PART_H
#define LLMMEM_LIB_PLANNING_STRUCTURE_PART_H

#include "llmmem/Planning/Model/Graph.h"

namespace llmmem::planning {

class Part {
public:
  /// `outlives` says whether a value is needed after the last of `ops`.
  Part(const Graph &graph, llvm::ArrayRef<OpIndex> ops,
       llvm::function_ref<bool(ValueIndex)> outlives);

  Graph makeGraph(Cancellation *cancellation) const { return Graph(problem, cancellation); }
  /// Describes the part by numbers that equal parts share.
  std::vector<int64_t> describe() const;
  /// Describes it in the same way, whatever the order in which an op names its operands, results
  /// and pairs.
  std::vector<int64_t> describeUnordered() const;

  Problem problem; // its ops are numbered as in the list

private:
  std::vector<std::vector<int64_t>> describeValues() const;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_STRUCTURE_PART_H
