//===- Layouts.h - Which parameters are split over tp, by groups -----------===//
//
// `parallelize` splits every parameter that rules let it split. Parameters that one split ties
// together (queries, keys, values and the product behind attention; both products of a
// feed-forward; the embedding; the logits) are a group, and each group may as well stay whole: then
// each rank computes all of it, and has no collective for it. Blocks are laid out alike.
//
// Example, a Llama block over tp = 2: {q_proj, k_proj, v_proj, o_proj}, {gate_proj, up_proj,
// down_proj}; and beside the blocks {embed_tokens}, {lm_head}.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_STRATEGIES_LAYOUTS_H
#define LLMMEM_STRATEGIES_LAYOUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <set>

namespace llmmem {

struct LayoutGroup {
  std::vector<std::string> names; // of its parameters, those of the first block
  /// Where its parameters are read: by which op of a block and as which operand, or which one it
  /// is where no block reads it.
  std::set<std::string> places;
};

/// The groups of `model`, whose blocks are equal, over `ranks` of tp. None where the passes refuse
/// so many.
std::vector<LayoutGroup> findLayoutGroups(mlir::ModuleOp model, int64_t ranks);

/// Pins the parameters of the groups of `whole`, a bit each, as whole (`llm.sharding`).
void keepWhole(mlir::func::FuncOp loss, llvm::ArrayRef<LayoutGroup> groups, uint32_t whole);

} // namespace llmmem

#endif // LLMMEM_STRATEGIES_LAYOUTS_H
