//===- ImprovingSearchers.cpp - Searches that begin with a schedule ---------------===//

#include "ImprovingSearchers.h"
#include "LeastMemorySchedules.h"
#include "Schedulers/Annealing.h"
#include "Schedulers/RuinAndRecreate.h"
#include "Tuning/Constants.h"
#include "llmmem/Support/ByteSize.h"
#include <algorithm>

using namespace llmmem;
using namespace llmmem::planning;

/// Returns the moves of one attempt. Many short searches with different seeds find more than a long
/// one.
static int64_t movesOfAttempt(const SearchContext &context) {
  return std::min(context.work / tuning::workOfMove / tuning::annealingAttempts,
                  tuning::movesPerOp * context.graph.numOps());
}

/// Returns the number of steps that ruin and recreate may visit.
static int64_t workOfRounds(const SearchContext &context, int64_t rounds) {
  return std::min(context.work / tuning::ruinWorkPart, rounds * context.graph.numOps());
}

static int64_t anneal(SearchContext &context, const SearchRequest &request, Candidates &found) {
  context.progress.announce("annealing under " + formatByteSize(request.capacity));
  const int64_t moves = movesOfAttempt(context);
  std::vector<OpIndex> steps = request.start->steps;
  annealSchedule(context.graph, steps, request.capacity, request.enough, moves, request.attempt);
  found.push_back(measured(context.graph, std::move(steps), annealing.name));
  return moves * tuning::workOfMove;
}

static int64_t makeRoom(SearchContext &context, const SearchRequest &request, Candidates &found) {
  const int64_t moves = movesOfAttempt(context) / 4;
  std::vector<OpIndex> steps = request.start->steps;
  makeHeadroom(context.graph, steps, request.capacity, moves, request.attempt);
  found.push_back(measured(context.graph, std::move(steps), request.start->searcher));
  return moves * tuning::workOfMove;
}

static int64_t ruin(SearchContext &context, const SearchRequest &request, Candidates &found) {
  const Candidate &start = *request.start;
  if (start.peak > request.capacity || start.cost == context.graph.baseCost() ||
      context.isAnnealed())
    return 0;
  context.progress.announce("cheaper recomputation under " + formatByteSize(request.capacity));
  const int64_t most = workOfRounds(context, request.rounds);
  int64_t left = most;
  std::vector<std::vector<OpIndex>> cheaper =
      ruinAndRecreate(context.graph, start.steps, request.capacity, context.evictionDepth(), left);
  for (std::vector<OpIndex> &steps : llvm::reverse(cheaper))
    found.push_back(measured(context.graph, std::move(steps), ruinAndRecreation.name));
  return most - left;
}

static int64_t lower(SearchContext &context, const SearchRequest &request, Candidates &found) {
  if (context.isAnnealed())
    return 0;
  context.progress.announce("the least memory, below " + formatByteSize(request.capacity));
  const int64_t most = workOfRounds(context, request.rounds);
  int64_t left = most;
  std::optional<std::vector<OpIndex>> steps =
      ruinAndRecreateWithin(context.graph, withLaterRuns(context.graph, request.start->steps),
                            request.capacity, context.evictionDepth(), left);
  if (steps)
    found.push_back(measured(context.graph, *std::move(steps), lowering.name));
  return most - left;
}

const ImprovingSearcher llmmem::planning::annealing{"annealing", anneal};
const ImprovingSearcher llmmem::planning::headroomForPacking{"headroom", makeRoom};
const ImprovingSearcher llmmem::planning::ruinAndRecreation{"ruin and recreate", ruin};
const ImprovingSearcher llmmem::planning::lowering{"lowering", lower};
