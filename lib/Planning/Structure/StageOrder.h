//===- StageOrder.h - Better orders within the stages of a chain --------------------===//
//
// The program point where one stage is recomputed and its backward runs decides the least memory of
// a chain. There the order within the stage matters: a weight gradient that runs before the
// gradient of its input lets an activation go before the next one is recomputed. For each stage
// this moves single ops of its forward and of its backward, as long as one of these falls, the
// first one first:
//
//  1. the peak of the backward with the whole stage recomputed just in time from its inputs,
//  2. the peak of the backward with the whole stage held,
//  3. the bytes held by both, summed over their steps.
//
// Where the work ends before nothing improves, ops of the backward move across its fullest steps
// instead (PeakMoves.h): only that lowers a peak.
//
// At last, ops of the backward that need no gradient, as the derivative of a square, run just
// before their first reader where neither peak rises by it: until then a plan may run again what
// they read.
//
// Equal stages are solved once and get equal orders. Ops stay in their stage and segment.
//
// In the backward all tries of one op take O(n) together for a stage of n ops, in the forward each
// one does. A pass over them has O(n^2) tries; all together are limited to a fixed work, in which
// each counts n.
//
// Example: forward f (a -> b), backward g reads the gradient alone, w reads b and the gradient: f
// is recomputed before w; w before g holds b, the gradient and no result of g.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_STRUCTURE_STAGEORDER_H
#define LLMMEM_LIB_PLANNING_STRUCTURE_STAGEORDER_H

#include "llmmem/Planning/Model/Blocks.h"

namespace llmmem::planning {

/// Improves `chain.order` in place. `turn` is the op that all gradients come from.
void improveStages(const Graph &graph, OpIndex turn, Chain &chain);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_STRUCTURE_STAGEORDER_H
