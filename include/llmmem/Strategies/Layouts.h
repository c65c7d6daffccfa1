//===- Layouts.h - Which parameters are split over tp, by groups -----------===//
//
// `parallelize` splits every parameter that the rules let it split. Parameters that one split ties
// together form a group: queries, keys, values and the product after attention; both products of a
// feed-forward; the embedding; the logits. Each group may also stay unsharded: then each rank
// computes all of it and needs no collective for it. All blocks have the same layout.
//
// Example, a Llama block over tp = 2: {q_proj, k_proj, v_proj, o_proj}, {gate_proj, up_proj,
// down_proj}; and outside of the blocks {embed_tokens}, {lm_head}.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_STRATEGIES_LAYOUTS_H
#define LLMMEM_STRATEGIES_LAYOUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <set>

namespace llmmem {

struct LayoutGroup {
  std::vector<std::string> names; // Names the parameters of the first block.
  /// Says which op of a block reads the parameters, and as which operand; or, where no block reads
  /// them, which parameters they are.
  std::set<std::string> places;
};

/// Returns the groups of `model`, whose blocks are equal, over `ranks` of tp. Returns none where
/// the passes refuse that number.
std::vector<LayoutGroup> findLayoutGroups(mlir::ModuleOp model, int64_t ranks);

/// Marks the parameters of the groups of `whole`, one bit per group, as unsharded (`llm.sharding`).
void keepWhole(mlir::func::FuncOp loss, llvm::ArrayRef<LayoutGroup> groups, uint32_t whole);

} // namespace llmmem

#endif // LLMMEM_STRATEGIES_LAYOUTS_H
