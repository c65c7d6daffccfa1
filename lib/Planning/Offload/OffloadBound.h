//===- OffloadBound.h - What no plan with copies can beat ---------------------------===//
//
// This file has lower bounds on the time and on the bytes of plans that may keep, recompute or
// offload each value.
//
// Fix an op t and any plan that fits, and look at the *time* at which t first starts. The bytes in
// use at that time do not overlap in the arena, since a step waits for the steps that used the
// bytes it overwrites. (Of steps that start or end at the same time, the plan's order says which is
// first.) A value that is written before this time and read after it is then
//
//  - held by the device (S): its bytes are in use in addition to t's footprint, or
//  - recomputed later (X): compute spends this time in addition to running every op once, or
//  - on the host (H): its device-to-host copy has ended, and its host-to-device copy has not
//    started. If either were in progress, its device bytes would be in use and it would be in S.
//
// So S and H together are a choice of the relaxation of Bounds.h at a capacity that is larger by
// the bytes of H, and c(X) >= f(capacity + b(H)), f being the bound proved there, which never rises
// with the capacity. And b(H) is bounded. All of H is in the host's arena at once: b(H) <= the
// host's budget. All of H was copied to the host before this time, one copy at a time, and is
// copied back after it: with tau for the time at which t starts, T for the time of the plan and r
// for the most bytes that any copy moves per ns,
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
  /// `device` is the graph of `shape.device`. All references must outlive this object.
  OffloadBound(const Problem &problem, const OffloadShape &shape, const Graph &device);

  struct OfTime {
    int64_t time = 0;
    int64_t moved = 0; // bytes that the host may hold at that time; 0 where copies do not help
    OpIndex op = -1;   // the op of the device's problem at which the bound holds; -1: every op once
  };
  /// Returns a lower bound on the time of every plan within the budgets, proved at the starts of
  /// `ops`, which are ops of the device's problem. `known` is the time of a plan, and the search
  /// ends where the bound reaches it. The bound may be up to `precision` less than what is proved.
  OfTime timeBound(llvm::ArrayRef<OpIndex> ops, int64_t known, int64_t precision = 1) const;
  /// Returns whether the start of one of `ops` proves that every plan takes at least `time`.
  bool takesAtLeast(llvm::ArrayRef<OpIndex> ops, int64_t time) const;

  /// The resident bytes and the arena that every plan has at least on the device. The bound comes
  /// from the largest op, and from what must be live while each of `ops` runs and is not on the
  /// host.
  struct OfBytes {
    PeakBound device;
    int64_t host = 0; // at least this many bytes, rounded to the alignment, are on the host at once
  };
  OfBytes peakBound(llvm::ArrayRef<OpIndex> ops) const;
  /// Returns the part of the bound that holds whatever the host can hold: that of the largest op.
  PeakBound peakOfOneOp() const { return peakLowerBound(device); }

private:
  /// Bytes per ns as a fraction, which is infinite where a copy takes no time.
  struct Rate {
    int64_t bytes = 0, time = 1;
    bool operator<(const Rate &other) const {
      return static_cast<__int128>(bytes) * other.time < static_cast<__int128>(other.bytes) * time;
    }
    __int128 in(__int128 duration) const;
  };
  /// The start of one op, and what limits the values that are on the host at that time.
  struct ProgramPoint {
    OpIndex op;
    int64_t before = 0, after = 0; // cost of the op's ancestors, and of the op and its descendants
    int64_t first = 0, last = 0;
    Rate up, down;
    __int128 ofHost = 0; // device bytes that the host's budget can hold
  };
  ProgramPoint programPointAt(OpIndex op) const;
  int64_t movedWithin(const ProgramPoint &programPoint, int64_t time, int64_t again) const;
  std::optional<int64_t> leastTime(const ProgramPoint &programPoint, CutRelaxation &relaxation,
                                   int64_t time, int64_t &moved) const;

  const Problem &problem;
  const OffloadShape &shape;
  const Graph &device;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADBOUND_H
