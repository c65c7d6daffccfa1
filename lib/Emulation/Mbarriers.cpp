//===- Mbarriers.cpp - The mbarriers of a cluster, and who knows of their phases -===//

#include "Mbarriers.h"
#include <algorithm>

using namespace llmmem::emulation;

void Mbarriers::forget(size_t threadsOfBlock) {
  barriers.clear();
  numbers.clear();
  places.threadsOfBlock = static_cast<int64_t>(threadsOfBlock);
}

int64_t Mbarriers::find(int64_t place) const {
  auto known = numbers.find(place);
  return known == numbers.end() ? -1 : known->second;
}

Problem Mbarriers::make(int64_t thread, int64_t place, int64_t count, int64_t site) {
  constexpr int64_t most = (1 << 20) - 1;
  if (count < 1 || count > most)
    return {"makes an mbarrier for " + std::to_string(count) + " arrivals, expected 1 to " +
            std::to_string(most)};
  if (place % kBytes != 0)
    return {"makes an mbarrier at " + places.nameOf(thread, place) + ", expected a multiple of 8"};
  if (int64_t other = find(place); other >= 0)
    return {"makes " + places.mbarrierAt(thread, place) + " a second time", barriers[other].site,
            "the first time"};
  if (!areUsed())
    arrivals.begin(places.threads());
  numbers.emplace(place, barriers.size());
  barriers.push_back({place, count, site, thread});
  barriers.back().missing.arrivals = count;
  barriers.back().known.assign(places.threads(), 0);
  barriers.back().heard.assign(places.threads(), 0);
  barriers.back().isKnown.assign(places.blocks, false);
  return {};
}

void Mbarriers::fence(int64_t thread) {
  for (Barrier &barrier : barriers)
    barrier.isFenced |= barrier.maker == thread;
}

void Mbarriers::fenceForCluster(int64_t thread) {
  for (Barrier &barrier : barriers)
    barrier.isFencedForCluster |= barrier.maker == thread;
}

Problem Mbarriers::mayUse(int64_t thread, int64_t place) const {
  int64_t number = find(place);
  if (number < 0)
    return {"uses " + places.nameOf(thread, place) + ", where no mbarrier was made"};
  const Barrier &barrier = barriers[number];
  const bool isOwn = places.rankOf(barrier.maker) == places.rankOf(thread);
  if (barrier.maker != thread && !barrier.isKnown[places.rankOf(thread)])
    return {"uses " + places.mbarrierAt(thread, place) +
                ", which another thread has made with no barrier " +
                (isOwn ? "between" : "of the cluster between"),
            barrier.site, "where it was made"};
  if (!isOwn && !barrier.isFencedForCluster)
    return {"uses " + places.mbarrierAt(thread, place) +
                ", which was made with no fence.mbarrier.init after it",
            barrier.site, "where it was made"};
  return {};
}

/// Begins the next phase where nothing is missing in this one.
Problem Mbarriers::endPhase(int64_t thread, Barrier &barrier) {
  if (barrier.missing.arrivals > 0 || barrier.missing.bytes > 0)
    return {};
  if (barrier.missing.bytes < 0)
    return {"copies " + std::to_string(-barrier.missing.bytes) + " bytes more than " +
            places.mbarrierAt(thread, barrier.place) + " expects in phase " +
            std::to_string(barrier.ended())};
  barrier.phases.emplace_back();
  barrier.missing.arrivals = barrier.arrivals;
  return {};
}

Problem Mbarriers::arrive(int64_t thread, int64_t place, int64_t expectedBytes) {
  if (Problem problem = mayUse(thread, place))
    return problem;
  Barrier &barrier = barriers[find(place)];
  barrier.missing.bytes += expectedBytes;
  if (barrier.missing.arrivals == 0)
    return {"arrives at " + places.mbarrierAt(thread, place) + " in phase " +
                std::to_string(barrier.ended()) + ", for which all of " +
                std::to_string(barrier.arrivals) + " have arrived",
            barrier.site, "where it was made"};
  --barrier.missing.arrivals;
  Phase &phase = barrier.phases.back();
  phase.arrivals.push_back({thread, arrivals.tick(thread)});
  // A thread that learns of the phase's end also learns what this thread knows now.
  phase.known.resize(barriers.size(), 0);
  for (size_t number = 0; number < barriers.size(); ++number)
    phase.known[number] = std::max(
        {phase.known[number], barriers[number].known[thread], barriers[number].heard[thread]});
  return endPhase(thread, barrier);
}

Problem Mbarriers::mayWait(int64_t thread, int64_t place, int64_t parity) const {
  if (Problem problem = mayUse(thread, place))
    return problem;
  const Barrier &barrier = barriers[find(place)];
  uint32_t known = barrier.known[thread];
  if ((known & 1) == parity || hasEnded(place, parity))
    return {};
  return {"waits for parity " + std::to_string(parity) + " of " + places.mbarrierAt(thread, place) +
              ": that of the phase after phase " + std::to_string(known) +
              ", whose end the thread has not waited for",
          barrier.site, "where it was made"};
}

bool Mbarriers::hasEnded(int64_t place, int64_t parity) const {
  return (barriers[find(place)].ended() & 1) != parity;
}

void Mbarriers::learn(int64_t thread, int64_t place, int64_t parity) {
  Barrier &barrier = barriers[find(place)];
  uint32_t &known = barrier.known[thread];
  if ((known & 1) != parity)
    return;
  const Phase &phase = barrier.phases[known];
  ++known;
  for (auto [other, event] : phase.arrivals)
    arrivals.learn(thread, other, event);
  for (size_t number = 0; number < phase.known.size(); ++number) {
    uint32_t &heard = barriers[number].heard[thread];
    heard = std::max(heard, phase.known[number]);
  }
}

Problem Mbarriers::whatIsMissing(int64_t thread, int64_t place) const {
  const Barrier &barrier = barriers[find(place)];
  return {"waits for " + places.mbarrierAt(thread, place) + ", and nothing ends its phase " +
              std::to_string(barrier.ended()) + ": " + std::to_string(barrier.missing.arrivals) +
              " of " + std::to_string(barrier.arrivals) + " arrivals and " +
              std::to_string(barrier.missing.bytes) + " bytes of copies are missing",
          barrier.site, "where it was made"};
}

static uint32_t mostOf(const std::vector<uint32_t> &ofThreads, int64_t first, int64_t end) {
  return *std::max_element(ofThreads.begin() + first, ofThreads.begin() + end);
}

/// Of the threads of `ranks` neighbouring blocks, each knows afterwards what one of them has known.
void Mbarriers::passBarrier(int64_t firstRank, int64_t ranks) {
  if (!areUsed())
    return;
  const int64_t first = places.memberOf(firstRank, 0), end = places.memberOf(firstRank + ranks, 0);
  for (Barrier &barrier : barriers) {
    if (barrier.maker >= first && barrier.maker < end)
      std::fill_n(barrier.isKnown.begin() + firstRank, ranks, true);
    for (std::vector<uint32_t> *ends : {&barrier.known, &barrier.heard})
      std::fill(ends->begin() + first, ends->begin() + end, mostOf(*ends, first, end));
  }
  arrivals.meet(first, end);
}

bool Mbarriers::lieIn(int64_t first, int64_t bytes) const {
  int64_t begin = first / kBytes * kBytes;
  for (int64_t place = begin; place < first + bytes; place += kBytes)
    if (find(place) >= 0)
      return true;
  return false;
}

Problem Mbarriers::mayCopy(int64_t thread, int64_t place) const {
  if (Problem problem = mayUse(thread, place))
    return problem;
  const Barrier &barrier = barriers[find(place)];
  if (!barrier.isFenced)
    return {"copies for " + places.mbarrierAt(thread, place) +
                ", which was made with no fence.proxy.async after it",
            barrier.site, "where it was made"};
  return {};
}

MbarrierPhase Mbarriers::copyInPhase(int64_t place, int64_t site) {
  int64_t number = find(place);
  Barrier &barrier = barriers[number];
  barrier.lastCopy = {barrier.ended(), site};
  return {static_cast<int32_t>(number), static_cast<uint32_t>(barrier.ended())};
}

Problem Mbarriers::countCopy(int64_t thread, int64_t place, int64_t bytes) {
  Barrier &barrier = barriers[find(place)];
  barrier.missing.bytes -= bytes;
  return endPhase(thread, barrier);
}

Problem Mbarriers::mayEnd(int64_t rank) const {
  const int64_t first = places.memberOf(rank, 0), end = places.memberOf(rank + 1, 0);
  for (const Barrier &barrier : barriers) {
    bool isOfRank = barrier.maker >= first && barrier.maker < end;
    if (isOfRank && barrier.lastCopy.phase >= mostOf(barrier.known, first, end))
      return {"ends while a copy may still write to its shared memory: no thread has waited for "
              "phase " +
                  std::to_string(barrier.lastCopy.phase) + " of " +
                  places.mbarrierAt(barrier.maker, barrier.place),
              barrier.lastCopy.site, "the copy"};
  }
  return {};
}

//===----------------------------------------------------------------------===//
// What a thread knows
//===----------------------------------------------------------------------===//

bool Mbarriers::hasWaited(int64_t thread, MbarrierPhase of) const {
  return barriers[of.barrier].known[thread] > of.phase;
}

bool Mbarriers::hasHeard(int64_t thread, MbarrierPhase of) const {
  return hasWaited(thread, of) || barriers[of.barrier].heard[thread] > of.phase;
}

std::string Mbarriers::nameOf(int64_t thread, MbarrierPhase of) const {
  return "phase " + std::to_string(of.phase) + " of " +
         places.mbarrierAt(thread, barriers[of.barrier].place);
}
