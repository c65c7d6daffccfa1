//===- SavedValues.h - What the forward leaves for the backward ------------===//
//
// The one definition: a saved value is a value that an op of the forward writes and an op of the
// backward or of the update reads. It is recomputed where any such reader sees a later run of its
// writer, else offloaded where any sees what a copy brought back, and else kept.
//
// Example: x -> f -> y -> g -> z forward, b reads y backward: y is saved, z is not. Under the
// schedule f g b it is kept, under f g f b recomputed, and under f up g down b, with the copies of
// y, offloaded.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_MODEL_SAVEDVALUES_H
#define LLMMEM_PLANNING_MODEL_SAVEDVALUES_H

#include "llmmem/Planning/Model/Graph.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace llmmem::planning {

/// Whether a value is saved that an op of phase `writer` writes and an op of phase `reader` reads.
constexpr bool isSavedFor(Phase writer, Phase reader) {
  return writer == Phase::Forward && (reader == Phase::Backward || reader == Phase::Update);
}

/// Whether `value` is saved. `phaseOf` says to which phase an op belongs: its own, or, in a problem
/// without phases, that of the part of a chain in which it stands.
bool isSaved(const Graph &graph, ValueIndex value, llvm::function_ref<Phase(OpIndex)> phaseOf);

/// In this order: where several hold of its readers, the last.
enum class Decision : uint8_t { Unsaved, Keep, Offload, Recompute };

/// What a schedule does with each value, by ValueIndex.
std::vector<Decision> findDecisions(const Graph &graph, llvm::ArrayRef<OpIndex> steps);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_SAVEDVALUES_H
