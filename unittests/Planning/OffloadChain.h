//===- OffloadChain.h - The best keep, recompute or offload for each layer of a chain ----===//
//
// For chains of RotorChain.h without pieces: each layer's body is kept, recomputed from its input
// just before its backward, or sent to the host and brought back (the decisions that POFO combines:
// Beaumont et al., NeurIPS 2021). `OffloadChain::best` tries all of them, each timed by a small
// simulation that shares nothing with the planner:
//
// - forward: layer i runs when its body and its output fit together with what is held. A body that
//   is to leave joins the link's queue when it is there, and is held until it has left;
// - backward: layer i runs when its body is there. Bodies come back in the order in which they are
//   needed, each as soon as it has left, the link is free, and every step until its own has room.
//
// Boundaries stay. Nothing is said about offsets: what is timed here may not pack.
//
// Example: two layers of body 10 and boundaries 1, forward 5, backward 10, in 24 units, with copies
// of 5: the first layer's body leaves while the second runs, and is back when the second's backward
// ends. All decisions but one are longer: 30 in all, what every op once takes.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UNITTESTS_PLANNING_OFFLOADCHAIN_H
#define LLMMEM_UNITTESTS_PLANNING_OFFLOADCHAIN_H

#include "RotorChain.h"

namespace llmmem::planning::test {

enum class Layer : uint8_t { Keep, Recompute, Offload };

class OffloadChain {
public:
  /// `copyTime`: the time of copying a body, in either direction.
  OffloadChain(const RotorChain &chain, int64_t capacity, std::vector<int64_t> copyTime)
      : chain(chain), count(chain.stages.size()), capacity(capacity), copyTime(std::move(copyTime)),
        choice(count) {}

  /// The least time of all decisions; nothing where none fits.
  std::optional<int64_t> best() {
    extend(0, 0);
    return least == none ? std::nullopt : std::optional(least);
  }
  /// Returns the decisions of the least time.
  const std::vector<Layer> &decisions() const { return bestChoice; }

  /// The time of one decision for each layer; nothing where it does not fit.
  std::optional<int64_t> timeOf(const std::vector<Layer> &decisions);

private:
  static constexpr int64_t none = INT64_MAX / 4;
  struct Step {
    size_t layer;
    bool isBackward;
    int64_t cost, bytes; // `bytes`: without bodies that are kept, leaving or back
  };

  void extend(size_t layer, int64_t recomputed);
  bool runForward();
  bool runBackward();
  void listSteps();
  void retireUps();
  int64_t heldAt(size_t step) const;
  bool startDown(size_t step);
  int64_t nextEvent() const;

  const RotorChain &chain;
  const size_t count;
  const int64_t capacity;
  const std::vector<int64_t> copyTime;
  std::vector<Layer> choice, bestChoice;
  int64_t least = none;
  // The state of the simulation.
  int64_t now = 0, upFree = 0, downFree = 0;
  std::vector<int64_t> upEnd, downEnd; // by layer
  std::vector<bool> isThere;           // body on the device
  std::vector<Step> steps;             // of the backward
  std::vector<size_t> downs;           // in the order in which they are needed
  size_t nextDown = 0;
};

inline void OffloadChain::extend(size_t layer, int64_t recomputed) {
  int64_t once = 0;
  for (const RotorStage &stage : chain.stages)
    once += stage.forwardCost() + stage.backwardCost;
  if (once + recomputed >= least)
    return; // compute alone is no shorter
  if (layer == count) {
    if (std::optional<int64_t> time = timeOf(choice); time && *time < least) {
      least = *time;
      bestChoice = choice;
    }
    return;
  }
  for (Layer decision : {Layer::Keep, Layer::Offload, Layer::Recompute}) {
    choice[layer] = decision;
    extend(layer + 1,
           recomputed + (decision == Layer::Recompute ? chain.stages[layer].forwardCost() : 0));
  }
}

inline std::optional<int64_t> OffloadChain::timeOf(const std::vector<Layer> &decisions) {
  choice = decisions;
  now = upFree = downFree = 0;
  upEnd.assign(count, none);
  downEnd.assign(count, none);
  isThere.assign(count, false);
  if (!runForward() || !runBackward())
    return std::nullopt;
  return now;
}

/// A body is gone when its device-to-host copy has ended, unless it is back already.
inline void OffloadChain::retireUps() {
  for (size_t i = 0; i < count; ++i)
    if (upEnd[i] <= now && downEnd[i] == none)
      isThere[i] = false;
}

inline bool OffloadChain::runForward() {
  int64_t boundaries = 0;
  for (size_t i = 0; i < count; ++i) {
    const RotorStage &stage = chain.stages[i];
    auto footprints = [&] {
      int64_t bytes = boundaries + stage.body + chain.boundary[i + 1];
      for (size_t k = 0; k < i; ++k)
        bytes += isThere[k] ? chain.stages[k].body : 0;
      return bytes;
    };
    retireUps();
    while (footprints() > capacity) {
      int64_t next = none;
      for (size_t k = 0; k < i; ++k)
        if (isThere[k] && upEnd[k] < none)
          next = std::min(next, upEnd[k]);
      if (next == none)
        return false;
      now = next;
      retireUps();
    }
    now += stage.forwardCost();
    boundaries += chain.boundary[i + 1];
    isThere[i] = choice[i] != Layer::Recompute;
    if (choice[i] == Layer::Offload)
      upEnd[i] = upFree = std::max(upFree, now) + copyTime[i];
  }
  return true;
}

/// What runs and what it holds: the boundaries that are still to be read, the gradient of the
/// layer's output, and what is written.
inline void OffloadChain::listSteps() {
  steps.clear();
  downs.clear();
  nextDown = 0;
  for (size_t i = count; i-- > 0;) {
    int64_t held = 0; // boundary 0 is resident
    for (size_t k = 1; k <= i; ++k)
      held += chain.boundary[k];
    held += chain.boundary[i + 1];
    const RotorStage &stage = chain.stages[i];
    const bool isAgain = choice[i] == Layer::Recompute;
    const int64_t body = isAgain ? stage.body : 0;
    if (isAgain) // its output is written again
      steps.push_back({i, false, stage.forwardCost(), held + body + chain.boundary[i + 1]});
    steps.push_back({i, true, stage.backwardCost, held + body + chain.boundary[i]});
    if (choice[i] == Layer::Offload)
      downs.push_back(i);
  }
}

/// At a step from now on, with the bodies that are there now and not used up before.
inline int64_t OffloadChain::heldAt(size_t step) const {
  int64_t bytes = steps[step].bytes;
  for (size_t i = 0; i <= steps[step].layer; ++i)
    bytes += isThere[i] ? chain.stages[i].body : 0;
  return bytes;
}

/// Starts the next host-to-device copy, if it may while `step` runs or is about to.
inline bool OffloadChain::startDown(size_t step) {
  if (nextDown == downs.size() || downFree > now)
    return false;
  const size_t layer = downs[nextDown];
  if (upEnd[layer] > now)
    return false;
  const int64_t body = chain.stages[layer].body;
  for (size_t k = step; k < steps.size() && steps[k].layer >= layer; ++k)
    if (heldAt(k) + body > capacity)
      return false;
  downEnd[layer] = downFree = now + copyTime[layer];
  isThere[layer] = true;
  ++nextDown;
  return true;
}

/// When a copy ends next.
inline int64_t OffloadChain::nextEvent() const {
  int64_t next = none;
  for (size_t i = 0; i < count; ++i)
    for (int64_t end : {upEnd[i], downEnd[i]})
      if (end > now)
        next = std::min(next, end);
  return next;
}

inline bool OffloadChain::runBackward() {
  listSteps();
  for (size_t step = 0; step < steps.size(); ++step) {
    const Step &it = steps[step];
    auto mayRun = [&] {
      const bool isBack = choice[it.layer] != Layer::Offload || downEnd[it.layer] <= now;
      return (isBack || !it.isBackward) && heldAt(step) <= capacity;
    };
    auto advance = [&](int64_t until) {
      now = until;
      retireUps();
      while (startDown(step))
        continue;
    };
    advance(now);
    while (!mayRun()) {
      const int64_t next = nextEvent();
      if (next == none)
        return false;
      advance(next);
      if (now >= least)
        return false;
    }
    const int64_t end = now + it.cost;
    for (int64_t next = nextEvent(); next < end; next = nextEvent())
      advance(next);
    now = end;
    if (it.isBackward)
      isThere[it.layer] = false;
    if (now >= least)
      return false;
  }
  return true;
}

} // namespace llmmem::planning::test

#endif // LLMMEM_UNITTESTS_PLANNING_OFFLOADCHAIN_H
