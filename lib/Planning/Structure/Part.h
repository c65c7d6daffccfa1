//===- Part.h - A list of ops as a problem of its own --------------------===//
//
// What others write is an input of the part, what others still read is kept.
// Example: of f x->a, g a->b, h b->c the part {g} has the input a and keeps b.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_STRUCTURE_PART_H
#define LLMMEM_LIB_PLANNING_STRUCTURE_PART_H

#include "llmmem/Planning/Model/Graph.h"

namespace llmmem::planning {

class Part {
public:
  /// `outlives`: whether a value is needed after the last of `ops`.
  Part(const Graph &graph, llvm::ArrayRef<OpIndex> ops,
       llvm::function_ref<bool(ValueIndex)> outlives);

  Graph makeGraph(Cancellation *cancellation) const { return Graph(problem, cancellation); }
  /// Describes the part by numbers that equal parts share.
  std::vector<int64_t> describe() const;
  /// The same, whatever the order is in which an op names its operands, results and pairs.
  std::vector<int64_t> describeUnordered() const;

  Problem problem; // its ops are numbered as in the list

private:
  std::vector<std::vector<int64_t>> describeValues() const;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_STRUCTURE_PART_H
