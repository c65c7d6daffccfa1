//===- Decisions.h - What the forward leaves for the backward --------------===//
//
// This file defines saved values. A saved value is one that an op of the forward writes and an op
// of the backward or of the update reads. It is recomputed where any such reader sees a later run
// of its writer, else offloaded where any of them sees what a copy brought back, and else kept.
//
// Example: x -> f -> y -> g -> z forward, b reads y backward: y is saved, z is not. Under the
// schedule f g b it is kept, under f g f b recomputed, and under f up g down b, with the copies of
// y, offloaded.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_MODEL_DECISIONS_H
#define LLMMEM_PLANNING_MODEL_DECISIONS_H

#include "llmmem/Planning/Model/Graph.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace llmmem::planning {

/// Says whether a value is saved that an op of phase `writer` writes and an op of phase `reader`
/// reads.
constexpr bool isSavedFor(Phase writer, Phase reader) {
  return writer == Phase::Forward && (reader == Phase::Backward || reader == Phase::Update);
}

/// Says whether `value` is saved. `phaseOf` returns the phase to which an op belongs: its own, or,
/// in a problem without phases, that of the part of the chain that contains it.
bool isSaved(const Graph &graph, ValueIndex value, llvm::function_ref<Phase(OpIndex)> phaseOf);

/// The order matters: where the readers of a value see several of these, the last one holds.
enum class Decision : uint8_t { Unsaved, Keep, Offload, Recompute };

/// Returns what a schedule does with each value, by ValueIndex.
std::vector<Decision> findDecisions(const Graph &graph, llvm::ArrayRef<OpIndex> steps);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_DECISIONS_H
