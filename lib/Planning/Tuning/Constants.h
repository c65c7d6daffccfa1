//===- Constants.h - What measurements set, and how to repeat them -----------------===//
//
// The constants of Budget and Allocation that trade the work of a search for what it finds. None of
// them decides whether a plan is right. A comment that begins with "Measured" says what other
// values do to the problems of `planning-tables tuning`, by group: by how much recomputation (in
// percent of the step) and the least memory (in percent of the program order's peak) rise for each
// plan, and the work, in searches and in placed steps, in percent. Where no comment says so, about
// half of the constant (of a shift, two less) changes nothing, and up to descentWorkPart twice as
// much was tried as well: these problems have at most 300 ops, and what bounds the time of larger
// ones is not felt. What is `constexpr` was not compared, nor was
// littleArenaPart. Repeat it with
//
//   cmake --preset planner -B build-tuning -DCMAKE_CXX_FLAGS=-DLLMMEM_TUNING
//   ninja -C build-tuning planning-tables
//   benchmarks/tuning.py build-tuning/bin/planning-tables mostRepairs
//
// In such a build each constant is read from the environment: LLMMEM_TUNE=mostRepairs=3, several
// with commas between; LLMMEM_TUNE=without=eviction switches a searcher off. In any other build
// they are constants of the compiler.
//
// Words: a *part* divides something, a *shift* divides it by a power of two.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_TUNING_CONSTANTS_H
#define LLMMEM_LIB_PLANNING_TUNING_CONSTANTS_H

#include "Tuning/Tuned.h"
#include <algorithm>
#include <cstdint>

namespace llmmem::planning::tuning {

// --- The time of things, as counts of work --------------------------------------

/// What PlanOptions::workSeconds is mapped to, a second: steps visited by searches of schedules,
/// units of the packing search, and states of the searches of every schedule and every placement.
/// The last is a tenth: where the search of placements finishes at all, it mostly finishes early.
inline constexpr double stepsPerSecond = 4e6;
inline constexpr double packUnitsPerSecond = 20000;
inline constexpr double schedulesPerSecond = 100000;
inline constexpr double placementsPerSecond = 400000;
/// The searches that also choose copies to the host make many plans, and give each one a part.
inline constexpr double copyPackUnitsPerSecond = 2000;
inline constexpr double copySchedulesPerSecond = 20000;
/// Where offsets alone are searched (`packWork`), nothing else takes part of a second: this is the
/// median rate of the packing search on 150 to 6,000 buffers.
inline constexpr double packUnitsPerSecondAlone = 1e6;

/// Returns the work for a time at fixed rates, so that equal flags give equal plans on every
/// machine.
inline int64_t workFor(double seconds, double unitsPerSecond) {
  return static_cast<int64_t>(std::clamp(seconds, 0.0, 1e5) * unitsPerSecond);
}

/// This many steps are visited in the time of one annealing move (Schedulers/Annealing.h).
/// Measured at 2: layered: work +8/+0; at 8: layered: +0.049 least, work -14/-6.
LLMMEM_TUNED(int64_t, workOfMove, 4);
/// This many steps are visited in the time of one unit of the packing search, which ends where the
/// plan fits.
/// Measured at 2: layered: work +1/+0; at 8: layered: work -4/+0.
LLMMEM_TUNED(int64_t, workOfPackUnit, 4);
/// This many steps are visited in the time of one step of the packing heuristics.
/// Measured at 12: layered: work +0/+0; at 48: layered: work -1/+0.
LLMMEM_TUNED(int64_t, workOfPackedStep, 24);
/// Ejection chains visit this many edges in the time of one visited step.
/// Measured at 20: layered: work -2/+0; at 80: layered: work +1/+0.
LLMMEM_TUNED(int64_t, ejectionsOfStep, 40);

// --- Orders (Budget/SearchContext.cpp) -------------------------------------------

/// The search for an order may spend this part of the work.
LLMMEM_TUNED(int64_t, orderWorkPart, 4);
/// Annealing for the order of the least peak may spend this part of the work.
LLMMEM_TUNED(int64_t, annealedOrderWorkPart, 16);
/// Graphs of more ops are not annealed.
LLMMEM_TUNED(int32_t, mostAnnealedOps, 1500);

// --- Searchers of the portfolio (Budget/Searchers.cpp) ----------------------------

/// A schedule is close to the bound within this part of the step, a quarter of a percent: longer
/// searches found nothing that is cheaper by a tenth of a percent.
/// Measured at 200: blocks: work -7/+2; odd: -0.000 recomputed, work -4/+1; at 800: blocks: work
/// +1/+0; odd: work +1/+0.
LLMMEM_TUNED(int64_t, closeToBoundPart, 400);
/// This bounds the choices per stage. The relaxation has few more at different prices, and each
/// costs one minimum cut. Without options of stages, 7 of 72 plans of larger steps recompute more,
/// 0.008 percent of the step on average and 0.23 at most (docs/Design/Planning.md).
LLMMEM_TUNED(size_t, mostChoicesPerStage, 28);
/// Options are chosen again for fewer bytes at most so often, where a mixed plan holds more than
/// measured.
LLMMEM_TUNED(int, mostOptionRepairs, 5);
/// Up to so many ops, searching in more ways than one takes little time.
/// Measured at 150: blocks: +0.007 recomputed, work -19/-2; at 600: nothing.
LLMMEM_TUNED(int32_t, smallSearchOps, 300);
/// Up to so many ops, eviction runs although another searcher has found a schedule that fits.
LLMMEM_TUNED(int32_t, mostOpsOfSecondSearch, 1200);

/// The recursion is tabulated at so many levels (capacities).
/// Measured at 80: blocks: +0.031 recomputed, work +5/+4; at 320: blocks: -0.026 recomputed, work
/// +5/+4; odd: work -0/+0.
LLMMEM_TUNED(int32_t, nestedLevels, 160);
/// The smallest table is that of so many halvings of the bytes that the inputs of the stages take.
LLMMEM_TUNED(int, nestedTableHalvings, 5);
/// Chains of more stages are not tabulated.
LLMMEM_TUNED(int32_t, mostNestedStages, 1200);
/// So many levels are realized: above that of the capacity, below it, and until so many fit.
LLMMEM_TUNED(int32_t, nestedLevelsAbove, 2);
LLMMEM_TUNED(int32_t, mostNestedTries, 20);
LLMMEM_TUNED(int32_t, mostNestedFitting, 3);
LLMMEM_TUNED(int32_t, mostNestedFittingOfSmall, 40);

/// The reversal of a chain compares about so many steps of its functions. With 100 unequal stages
/// that took 2.1 seconds of one processor, and the plan fitted a budget in which searches found
/// none.
inline constexpr int64_t reversalWork = 300000000;

/// One eviction, or the levels of one order, may spend this part of the work.
LLMMEM_TUNED(int64_t, evictionWorkPart, 8);
/// So many ancestors in a row may run again for one value, in graphs and in chains.
LLMMEM_TUNED(int, evictionDepthOfGraph, 12);
LLMMEM_TUNED(int, evictionDepthOfChain, 2000);

/// Annealing shares the work among so many attempts, and each has so many moves for an op.
LLMMEM_TUNED(int64_t, annealingAttempts, 20);
/// Measured at 150: layered: -0.031 recomputed, +0.141 least, work +16/-4; at 600: layered:
/// -0.089 recomputed, +0.062 least, work -15/+0.
LLMMEM_TUNED(int64_t, movesPerOp, 300);
/// Ruin and recreate may spend this part of the work on one schedule.
LLMMEM_TUNED(int64_t, ruinWorkPart, 40);

// --- The way to the least memory (Budget/LeastMemorySchedules.cpp) ----------------

/// About so many levels of a table are realized at most.
LLMMEM_TUNED(int32_t, mostLevelsRealized, 200);
/// Longer schedules are not lowered: each attempt computes profiles, or looks for readers from each
/// run on.
LLMMEM_TUNED(size_t, mostStepsOfDescent, 8000);
/// The descent by eviction takes so many steps, in parts of the bytes that its start holds.
/// Measured at 50: blocks: work +0/+0; odd: work +1/+0; at 200: blocks: work -1/-0; odd: work
/// -0/+0.
LLMMEM_TUNED(int64_t, descentSteps, 100);
/// The descent may spend this part of the work.
LLMMEM_TUNED(int64_t, descentWorkPart, 4);
/// So many schedules of the fewest bytes are improved at once.
LLMMEM_TUNED(size_t, mostLeastImproved, 4);

// --- Micro-batches (Budget/MicroBatchSearch.cpp) ---------------------------------

/// Up to so many ops, the whole step is searched, and cut, in addition to one micro-batch.
LLMMEM_TUNED(int32_t, mostOpsSearchedWhole, 2000);
/// Schedules of one micro-batch are searched at so many capacities, and so many are taken of each.
LLMMEM_TUNED(int64_t, microBatchLevels, 48);
LLMMEM_TUNED(size_t, mostMembersOfLevel, 2);
/// So many schedules of the least memory of one micro-batch are written out for all.
LLMMEM_TUNED(size_t, mostLeastOfOne, 16);
/// So many cheaper schedules are mixed with one that fits, and so many micro-batches take turns.
LLMMEM_TUNED(std::ptrdiff_t, mostMixed, 2);
LLMMEM_TUNED(int32_t, mostMixedInTurn, 16);

// --- Samples of the frontier (Budget/SampleSearch.cpp, CoarseSamples.cpp) ---------

/// A capacity is lowered so often by what packing exceeds it.
LLMMEM_TUNED(int, mostRepairs, 6);
/// So many schedules are placed for one capacity.
LLMMEM_TUNED(int, mostPlacedPerRepair, 3);
/// Ruin and recreate has so many rounds for a sample below the lowest coarse one.
/// Measured at 50: odd: work -1/-1.
LLMMEM_TUNED(int64_t, ruinRoundsOfSample, 100);
/// Where a quarter of the packing work came within this part of the arena, all of it is spent.
LLMMEM_TUNED(int64_t, nearlyPackedPart, 32);
/// Schedules of micro-batches of more steps are packed by heuristics alone.
LLMMEM_TUNED(int64_t, mostStepsOfMicroBatchPacking, 1500);
/// With more steps, a packing gets fewer nodes, as each of them visits every buffer.
LLMMEM_TUNED(int64_t, stepsOfFullPackWork, 1500);
/// Ejection chains for one plan get this part of the work, and so many edges for each op. They
/// change none of 126 plans of larger steps and layered graphs; but what they count as work decides
/// how often annealing tries again, and without it the least bytes of 10 layered graphs are 0.42
/// percent larger on average.
LLMMEM_TUNED(int64_t, ejectionWorkPart, 32);
/// Measured at 20000: layered: work +1/+0.
LLMMEM_TUNED(int64_t, ejectionsPerOp, 40000);
/// Up to so many ops, costs are bisected until they are equal.
LLMMEM_TUNED(int32_t, mostOpsOfExactBisection, 128);
/// With more ops, costs are bisected until they differ by less than this part of the step.
/// Measured at 10: blocks: +0.014 recomputed, work -2/-2; odd: +0.002 recomputed, work -2/-2.
LLMMEM_TUNED(int, bisectionCostShift, 12);
/// A bisection may spend this part of the work where nothing is annealed.
LLMMEM_TUNED(int64_t, bisectionWorkPart, 4);
/// Up to so many ops, the levels above the least memory are searched. With more ops a level takes a
/// tenth of a second.
LLMMEM_TUNED(int32_t, mostOpsOfLevels, 2000);
/// There are so many levels between the least memory and the lowest sample. Without them, 2 of 72
/// plans of larger steps recompute more, 2.6 percent of the step at most.
LLMMEM_TUNED(int64_t, levelsAboveLeast, 32);

// --- Annealed samples (Budget/AnnealedSamples.cpp) --------------------------------

/// The first headroom is so many thousandths of the arena, and one more for so many ops.
/// Measured at 2: layered: +0.346 least, work +1/-11.
LLMMEM_TUNED(int64_t, leastHeadroom, 5);
/// Measured at 25: layered: -0.061 recomputed, work +4/+6.
LLMMEM_TUNED(int64_t, opsPerHeadroom, 50);
/// The headroom changes by so much after a packing that fits, and after one that does not.
/// Measured at 2: layered: work +3/+5.
LLMMEM_TUNED(int64_t, lessHeadroom, 5);
LLMMEM_TUNED(int64_t, moreHeadroom, 12);
/// So many schedules in a row that are no cheaper end a sample.
LLMMEM_TUNED(int, mostAnnealingFailures, 4);
/// A sample is near the answer where its interval is this part of the budget.
/// Measured at 12: layered: work +1/+0.
LLMMEM_TUNED(int64_t, nearSamplePart, 24);
/// A sample may spend these parts of the work: near the answer, farther away, and a coarse one.
LLMMEM_TUNED(int64_t, nearSampleWorkPart, 6);
/// Measured at 6: layered: work +1/+0.
LLMMEM_TUNED(int64_t, sampleWorkPart, 12);
/// Measured at 4: layered: work +3/+0.
LLMMEM_TUNED(int64_t, coarseSampleWorkPart, 8);
/// All coarse samples may spend so many eighths of the work by annealing.
/// Measured at 2: layered: -0.061 recomputed, +0.780 least, work -11/+3.
LLMMEM_TUNED(int64_t, coarseWorkEighths, 5);
/// Distances of coarse samples that are tried in turn, as parts of the budget.
inline constexpr int64_t annealedSampleDivisors[] = {12, 24, 48, 96};
/// Between budgets this close, the gain of annealing is noise.
/// Measured at 128: layered: +0.267 recomputed, work -0/-1.
LLMMEM_TUNED(int64_t, finestAnnealedPart, 256);
/// The top of the frontier is bisected to this part.
/// Measured at 200: layered: work +2/-1.
LLMMEM_TUNED(int64_t, narrowPartOfFree, 400);

// --- The descent to the least memory (Budget/Descent*.cpp, GatheredSchedules.cpp) --

/// The descent tells footprints apart that differ by more than this part of the arena, and ends
/// where no less than that is found.
/// Measured at 10: blocks: work -4/+0; odd: +0.000 least, work -4/-3; layered: work -5/+0; micro-
/// batches: work -4/+0.
LLMMEM_TUNED(int, finestDescentShift, 12);
/// A cheaper plan is taken where its footprint is larger by this part of the arena.
/// Measured at 12: odd: +0.000 least, work +0/+1.
LLMMEM_TUNED(int, indistinctShift, 14);
/// Where the step runs twice again, schedules up to this part of the arena above are looked at.
LLMMEM_TUNED(int, nearLeastShift, 10);
/// A descent lowers schedules by a hundredth or two: from farther above it is not begun again.
LLMMEM_TUNED(int64_t, beyondDescentPart, 128);
/// With more ops searches take long, and a schedule that hardly differs from another is left out.
LLMMEM_TUNED(int32_t, manyOpsOfDescent, 500);
/// With more ops nothing is searched anew at the least bytes, which takes seconds.
LLMMEM_TUNED(int32_t, mostOpsOfLeastSearch, 8000);
/// Up to so many ops, the schedule of the fewest bytes is made cheaper before it is placed.
LLMMEM_TUNED(int32_t, mostOpsOfEarlyRuinAndRecreate, 1000);
/// The descent begins with so many schedules of the least memory.
/// Measured at 2: micro-batches: +1.939 least, work +0/-0.
LLMMEM_TUNED(size_t, mostKnownGathered, 4);
/// Each way of gathering may spend this part of the work.
LLMMEM_TUNED(int64_t, gatheringWorkPart, 3);
/// These bound the largest step down, with many ops and with few, and the number of steps.
LLMMEM_TUNED(int, coarsestShiftOfMany, 8);
/// Measured at 2: layered: work +3/+0; micro-batches: work +1/+0.
LLMMEM_TUNED(int, coarsestShiftOfFew, 4);
LLMMEM_TUNED(int, mostDescentRounds, 40);
/// So many steps of any bytes follow them, with few ops.
LLMMEM_TUNED(int, mostSmallSteps, 4);
/// Ruin and recreate has so many rounds for one step down, and at the least bytes.
LLMMEM_TUNED(int64_t, loweringRounds, 250);
/// Measured at 300: blocks: work +0/+0; odd: +0.177 recomputed, work +1/+1; micro-batches: work
/// +1/+1.
LLMMEM_TUNED(int64_t, ruinRoundsOfLeast, 600);
/// So many schedules that ruin and recreate made at the least bytes are placed.
LLMMEM_TUNED(size_t, mostRuinAndRecreatePlaced, 6);
/// A saving of this part of the step is little.
LLMMEM_TUNED(int, littleCostShift, 8);
/// Two schedules are alike whose costs differ by less than this part of the step.
LLMMEM_TUNED(int, alikeInCostShift, 8);
/// A search may gain this part of the arena on a first try.
LLMMEM_TUNED(int, firstTryShift, 6);
/// So many schedules get a first try at once.
LLMMEM_TUNED(size_t, mostFirstTries, 6);
/// The offsets of so many schedules are searched, with many ops and with few.
LLMMEM_TUNED(int, mostSearchedOfMany, 2);
LLMMEM_TUNED(int, mostSearchedOfFew, 12);
/// So many cheaper schedules may fail to pack: searches take long where they find nothing.
LLMMEM_TUNED(int, mostCheaperFailures, 2);
/// This bounds the packing work of one schedule of the descent: a search that finds anything at all
/// finds it in less.
LLMMEM_TUNED(int64_t, mostPackWorkOfDescent, 50000);
/// From so many steps on, cores are too large for a search, and ejection chains alone are left.
LLMMEM_TUNED(size_t, manyStepsForCores, 5000);
/// Placing so many steps takes a second or two.
LLMMEM_TUNED(size_t, manyStepsToPlace, 20000);

// --- Packing (Allocation) ----------------------------------------------------------

/// After a core that was not packed, a search begins where heuristics end within this part of the
/// capacity: of 75 such searches those that found offsets began less than two percent above it.
LLMMEM_TUNED(int, searchNearShift, 6);
/// Cores of more shapes get no promotion: of 96 cores of PyTorch's joint graphs nine were packed by
/// one, none of them of more than 230 shapes.
LLMMEM_TUNED(size_t, largeCoreShapes, 300);
/// From so many shapes on, a core that was not packed may end the packing. With fewer shapes all
/// skylines take little time.
LLMMEM_TUNED(size_t, manyShapes, 500);
/// With more shapes no packing is searched: a node takes time linear in the shapes, and there are
/// at least as many nodes as shapes.
LLMMEM_TUNED(size_t, mostShapesSearched, 6000);
/// The squeaky wheel makes so many skylines, and promotes a shape by so much, in ranks of all.
/// Without it, 2 of 18 layered graphs need 1.6 and 2.8 percent more at the least.
LLMMEM_TUNED(int64_t, mostPromotions, 8);
LLMMEM_TUNED(double, promotionOfRank, 0.4);
/// With so many shapes a skyline takes longer per shape.
LLMMEM_TUNED(int64_t, shapesOfSlowSkyline, 4000);
/// From so many shapes on, a gain of this part of the arena does not justify a restart.
LLMMEM_TUNED(size_t, veryManyShapes, 20000);
LLMMEM_TUNED(int64_t, littleArenaPart, 10000);
/// The first runs of the packing search have so many nodes for each shape.
LLMMEM_TUNED(int64_t, nodesOfFirstRun, 2);
/// This bounds the work of the packing search on one core.
LLMMEM_TUNED(int64_t, mostWorkOfCore, 8000);
/// Edges for each shape that ejection chains visit after a core; chains that succeed mostly take
/// less.
/// Measured at 750: blocks: +0.000 least.
LLMMEM_TUNED(int64_t, edgesAfterCore, 1500);
/// Steps that are fuller than these parts of the capacity make a core. A small core leaves most of
/// the packing to the chains, a large one to the search. Of 54 plans of layered graphs 8 recompute
/// more without cores and 2 less, 0.083 percent of the step more on average.
inline constexpr double coreParts[] = {0.9, 0.85, 0.8, 0.75, 0.7};
/// Chains from the offsets of a similar plan visit so many edges for each shape. They take less, or
/// fail.
LLMMEM_TUNED(int64_t, edgesFromSimilar, 200);
/// A similar packing is lowered until it is within this part of the arena of the live bytes.
/// Measured at 14: blocks: +0.000 least; odd: +0.000 least.
LLMMEM_TUNED(int, finestLoweringShift, 16);
/// Chains end where this part of their work leaves no less unplaced: of 126 chains after cores that
/// succeeded, 19 of 20 never took a fifth of their work without leaving less.
LLMMEM_TUNED(int64_t, patiencePart, 4);
/// These are the mean weight of a shape, and the part of its weight that an ejected shape gains.
/// Measured at 500: odd: +0.000 least.
LLMMEM_TUNED(double, meanEjectionWeight, 1000);
/// Measured at 5: odd: +0.000 least.
LLMMEM_TUNED(int64_t, ejectionGainPart, 10);

} // namespace llmmem::planning::tuning

#endif // LLMMEM_LIB_PLANNING_TUNING_CONSTANTS_H
