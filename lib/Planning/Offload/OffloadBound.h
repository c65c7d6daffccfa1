//===- OffloadBound.h - What no plan with copies can beat ---------------------------===//
//
// Lower bounds on the time and on the bytes of plans that may keep, recompute or offload each
// value.
//
// Fix an op t and any plan that fits, and look at the moment in *time* at which t first starts. The
// bytes in use then stand apart in the arena, since a step waits for those that used the bytes it
// overwrites. (Of steps that start or end at the same time, the plan's order says which is first.)
// A value that is read after the moment and was written before it is then
//
//  - held by the device (S): its bytes count beside t's footprint, or
//  - recomputed after it (X), which compute has to do besides everything once, or
//  - on the host (H): its copy up has ended, and its copy down has not started. Were the one still
//    under way, or the other, its device bytes would be in use and it would be in S.
//
// So S and H together are a choice of the relaxation of Bounds.h at a capacity that is larger by
// the bytes of H, and c(X) >= f(capacity + b(H)), f being the bound proved there, which never rises
// with the capacity. And b(H) is bounded. All of H is in the host's arena at once: b(H) <= the
// host's budget. All of H went up before the moment, one copy at a time, and comes down after it:
// with tau for the moment, T for the time of the plan and r for the most bytes that any copy moves
// per ns,
//
//      b(H) <= r_up (tau - first),   b(H) <= r_down (T - tau - last),
//      tau >= c(ancestors of t),     T - tau >= c(t) + c(descendants of t) + c(X),
//
// where `first` is the least cost of an op that writes a value of H, and `last` of one that reads
// it. With G(T) for the most that some tau allows, every plan has T >= c(once) + f(capacity +
// G(T)). The right side falls as T grows, so the least T that satisfies it is a lower bound, and
// bisection finds it.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADBOUND_H
#define LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADBOUND_H

#include "OffloadShape.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include "llmmem/Planning/Model/Graph.h"

namespace llmmem::planning {

class OffloadBound {
public:
  /// `device` is the graph of `shape.device`; all are referred to.
  OffloadBound(const Problem &problem, const OffloadShape &shape, const Graph &device);

  struct OfTime {
    int64_t time = 0;
    int64_t moved = 0; // bytes that the link may have moved at the moment; 0 where nothing helps
    OpIndex op = -1;   // the moment, of the device's problem; -1: every op once
  };
  /// No plan within the budgets is shorter, by the moments at `ops`, which are ops of the device's
  /// problem. `known` is the time of a plan: the search ends where it is met. The bound may be less
  /// than what is proved by up to `precision`.
  OfTime timeBound(llvm::ArrayRef<OpIndex> ops, int64_t known, int64_t precision = 1) const;
  /// Whether the moment at one of `ops` proves that every plan takes `time` at least.
  bool takesAtLeast(llvm::ArrayRef<OpIndex> ops, int64_t time) const;

  /// Resident bytes and arena of the device are at least this in every plan: by the largest op, and
  /// by what must be live beside each of `ops` and is not on the host.
  struct OfBytes {
    PeakBound device;
    int64_t host = 0; // at least so many, rounded to the alignment, are on the host at once
  };
  OfBytes peakBound(llvm::ArrayRef<OpIndex> ops) const;
  /// What of it no host can take: the largest op alone.
  PeakBound peakOfOneOp() const { return peakLowerBound(device); }

private:
  /// Bytes per ns as a fraction; without end where a copy takes no time.
  struct Rate {
    int64_t bytes = 0, time = 1;
    bool operator<(const Rate &other) const {
      return static_cast<__int128>(bytes) * other.time < static_cast<__int128>(other.bytes) * time;
    }
    __int128 in(__int128 duration) const;
  };
  struct Moment {
    OpIndex op;
    int64_t before = 0, after = 0; // work of its ancestors, and of itself and its descendants
    int64_t first = 0, last = 0;
    Rate up, down;
    __int128 ofHost = 0; // device bytes that the host's budget can hold
  };
  Moment momentAt(OpIndex op) const;
  int64_t movedWithin(const Moment &moment, int64_t time, int64_t again) const;
  std::optional<int64_t> leastTime(const Moment &moment, CutRelaxation &relaxation, int64_t time,
                                   int64_t &moved) const;

  const Problem &problem;
  const OffloadShape &shape;
  const Graph &device;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADBOUND_H
