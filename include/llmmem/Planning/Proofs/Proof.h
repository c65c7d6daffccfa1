//===- Proof.h - What proves the claims of a plan, as data -------------------===//
//
// A plan claims that no plan costs less than `costLowerBound`, that none holds less than
// `peakLowerBound`, or that there is none at all. A Proof convinces a reader who does not trust the
// planner: it has one argument for each claim, which Check.h verifies in exact integer arithmetic
// against the problem. docs/Design/Proofs.md has the mathematics, the JSON and an example by hand.
//
// The arguments:
//   EveryOpOnce     every op runs once: the cost is at least the base cost
//   Resident        the resident bytes are there throughout
//   OneOp           while `op` runs, what it reads and writes and its workspace are held
//   Cuts            a flow that no schedule can undercut at the first runs of certain ops. Two cuts
//                   where either of two ops may come first: one for each order
//   OpenCut         the same at one op, where each of the others may first run before or after it
//   LastRuns        flows that no schedule can undercut when one of certain ops ends their runs
//   Rounds          how often the ops of chains run again between the first runs of certain ops
//   EverySchedule   all schedules of a small problem were searched; the checker searches again
//   EveryPlacement  all schedules with all offsets were
//
// Units: bytes as in the problem; a price is in 1/scale of the problem's unit of cost, per byte; an
// amount of flow is in 1/scale of that unit.
//
// Example: f(cost 5) reads the input x and writes a(8 bytes); t reads x; b reads a and t's result.
// At the first run of t, `a` is held or f runs again. One unit of cost that flows from "a is
// needed" through "f runs again" to the end, and the rest through "a is held", at a price per byte:
// no schedule costs less than what flows.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_PROOFS_PROOF_H
#define LLMMEM_PLANNING_PROOFS_PROOF_H

#include "llmmem/Planning/Model/Plan.h"

namespace llmmem::planning {

/// A flow concerns one value, one op, a value that an op reads, or two ops of which the second
/// reads what the first writes.
struct ValueFlow {
  ValueIndex value;
  int64_t amount;
};
struct OpFlow {
  OpIndex op;
  int64_t amount;
};
struct ReadFlow {
  OpIndex op;
  ValueIndex value;
  int64_t amount;
};
struct OrderFlow {
  OpIndex writer, reader;
  int64_t amount;
};

/// The flow at the first run of one op.
struct ProgramPointFlow {
  OpIndex op = -1;
  int64_t price = 0;             // price of a byte held
  std::vector<ValueFlow> needed; // in: read after the program point, or kept
  std::vector<ValueFlow> held;   // flows on to the writer's run again, or out where there is none
  std::vector<OpFlow> repeated;  // out: the op runs again, at its cost
  std::vector<ReadFlow> reads;   // flows on from an op that runs again to what it reads
  std::vector<ValueFlow> valuesBefore; // flows on to the same value at the earlier program point
  std::vector<OpFlow> opsBefore;       // flows on to the same op at the earlier program point
};

/// A flow at the first runs of ops of which each is an ancestor of the next. Where `later` names an
/// op, there is one program point, and the flow covers only schedules in which `later` first runs
/// after it.
struct CutFlow {
  int64_t scale = 0; // 0: repeats are free, and bytes alone are proved
  OpIndex later = -1;
  std::vector<ProgramPointFlow> programPoints;
};

/// A flow at the first run of `op`, where each other op first runs before or after it.
struct OpenCutFlow {
  OpIndex op = -1;
  int64_t price = 0, scale = 0;
  bool repeats = true;             // false: what is proved is that some op must run again
  std::vector<OpFlow> descendants; // in: they run after the program point
  std::vector<ValueFlow> kept;     // in: held at the end
  std::vector<ReadFlow> reads;     // flows on from an op that runs after the point to what it reads
  std::vector<ValueFlow> held;     // flows on to the writer's run after it, or out for an input
  std::vector<OpFlow> repeated;    // flows on to the op's first run after it, at its cost
  std::vector<OpFlow> first;       // back from there
  std::vector<OrderFlow> order;    // flows from a writer's first run after it to its reader's
  std::vector<OpFlow> ancestors;   // out: they first run before the program point
};

/// A flow of bytes held at the last run of a set, whichever of `ops` that run belongs to.
struct LastRunFlow {
  std::vector<OpIndex> ops;
  std::vector<ValueFlow> kept; // in: held at the end
  /// Flows on to the writer's run after the point, or out where there is none.
  std::vector<ValueFlow> held;
  std::vector<ReadFlow> reads; // flows on from an op that runs after the point to what it reads
};

/// The argument that one op of `set` runs last, and none of the set runs after it.
struct LastRunArgument {
  std::vector<OpIndex> set;
  std::vector<LastRunFlow> flows; // one for each op of the set that may be the last
};

/// Ops of the forward, each an ancestor of the next, and what each run again is charged at most.
struct RoundChain {
  std::vector<OpFlow> ops;
};

/// The argument that what is not held at the first run of one of `programPoints` runs again before
/// the next, of which it is an ancestor. All chains together charge an op at most its cost.
struct RoundArgument {
  std::vector<OpIndex> programPoints;
  std::vector<RoundChain> chains;
};

struct Argument {
  enum class Kind : uint8_t {
    EveryOpOnce,
    Resident,
    OneOp,
    Cuts,
    OpenCut,
    LastRuns,
    Rounds,
    EverySchedule,
    EveryPlacement
  };
  Kind kind = Kind::EveryOpOnce;
  OpIndex op = -1;           // OneOp
  std::vector<CutFlow> cuts; // Cuts: one, or one for each order of two ops
  OpenCutFlow openCut;       // OpenCut
  LastRunArgument lastRuns;  // LastRuns
  RoundArgument rounds;      // Rounds
};

struct Proof {
  std::optional<int64_t> budget; // budget of the plans that `cost` and `infeasible` concern
  std::optional<Argument> cost, peak, infeasible;
};

/// Returns the JSON of a llmmem-proof. Equal proofs give equal text.
LLMMEM_EXPORT std::string toJson(const Problem &problem, const Proof &proof);
/// Reads the JSON of a proof. It refuses, with the place, unknown keys and words, and numbers that
/// are negative or 2^63 or more. The checker refuses ids that the problem does not have.
LLMMEM_EXPORT Result<Proof> parseProof(const Problem &problem, std::string_view json);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_PROOFS_PROOF_H
