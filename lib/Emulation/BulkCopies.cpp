//===- BulkCopies.cpp - mbarriers, and copies that end with their phases ----===//

#include "BulkCopies.h"
#include <algorithm>

using namespace llmmem::emulation;
using Problem = BulkCopies::Problem;

void BulkCopies::forget(size_t numThreads) {
  if (isUsed()) {
    std::fill(fills.begin(), fills.end(), Fill());
    for (std::vector<Arrival> &ofChunk : readers)
      ofChunk.clear();
  }
  barriers.clear();
  places.clear();
  threadsOfBlock = static_cast<int64_t>(numThreads);
  arrivals.clear();
  knows.clear();
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string BulkCopies::nameOf(int64_t thread, int64_t byte) const {
  int64_t rank = byte / bytesOfBlock;
  std::string name = "byte " + std::to_string(byte % bytesOfBlock);
  return rank == rankOf(thread)
             ? name + " of shared memory"
             : name + " of the shared memory of block " + std::to_string(rank) + " of its cluster";
}

std::string BulkCopies::barrierAt(int64_t thread, int64_t byte) const {
  return "the mbarrier at " + nameOf(thread, byte);
}

std::string BulkCopies::nameOfThread(int64_t thread, int64_t other) const {
  int64_t rank = rankOf(other);
  return "thread " + std::to_string(other % threadsOfBlock) +
         (rank == rankOf(thread) ? " of the block"
                                 : " of block " + std::to_string(rank) + " of its cluster");
}

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

Problem BulkCopies::make(int64_t thread, int64_t byte, int64_t count, int64_t site) {
  constexpr int64_t most = (1 << 20) - 1;
  if (count < 1 || count > most)
    return {"makes an mbarrier for " + std::to_string(count) + " arrivals, expected 1 to " +
            std::to_string(most)};
  if (byte % kBarrierBytes != 0)
    return {"makes an mbarrier at " + nameOf(thread, byte) + ", expected a multiple of 8"};
  if (int64_t other = find(byte); other >= 0)
    return {"makes " + barrierAt(thread, byte) + " a second time", barriers[other].site,
            "the first time"};
  if (!isUsed()) {
    arrivals.assign(threads(), 0);
    knows.assign(threads() * threads(), 0);
  }
  places.emplace(byte, barriers.size());
  barriers.push_back({byte, count, site, thread});
  barriers.back().missing = count;
  barriers.back().known.assign(threads(), 0);
  barriers.back().heard.assign(threads(), 0);
  barriers.back().isKnown.assign(blocks, false);
  return {};
}

void BulkCopies::fence(int64_t thread) {
  for (Barrier &barrier : barriers)
    barrier.isFenced |= barrier.maker == thread;
}

void BulkCopies::fenceForCluster(int64_t thread) {
  for (Barrier &barrier : barriers)
    barrier.isFencedForCluster |= barrier.maker == thread;
}

Problem BulkCopies::mayUse(int64_t thread, int64_t byte) const {
  int64_t number = find(byte);
  if (number < 0)
    return {"uses " + nameOf(thread, byte) + ", where no mbarrier was made"};
  const Barrier &barrier = barriers[number];
  const bool isOwn = rankOf(barrier.maker) == rankOf(thread);
  if (barrier.maker != thread && !barrier.isKnown[rankOf(thread)])
    return {"uses " + barrierAt(thread, byte) + ", which another thread has made with no barrier " +
                (isOwn ? "between" : "of the cluster between"),
            barrier.site, "where it was made"};
  if (!isOwn && !barrier.isFencedForCluster)
    return {"uses " + barrierAt(thread, byte) +
                ", which was made with no fence.mbarrier.init after it",
            barrier.site, "where it was made"};
  return {};
}

/// A thread that learns of the phase's end also learns what this thread knows when it arrives.
void BulkCopies::tell(int64_t thread, Phase &phase) const {
  phase.known.resize(barriers.size(), 0);
  for (size_t number = 0; number < barriers.size(); ++number)
    phase.known[number] = std::max(
        {phase.known[number], barriers[number].known[thread], barriers[number].heard[thread]});
}

/// Begins the next phase where nothing is missing in this one.
Problem BulkCopies::endPhase(int64_t thread, Barrier &barrier) {
  if (barrier.missing > 0 || barrier.bytes > 0)
    return {};
  if (barrier.bytes < 0)
    return {"copies " + std::to_string(-barrier.bytes) + " bytes more than " +
            barrierAt(thread, barrier.byte) + " expects in phase " +
            std::to_string(barrier.ended())};
  barrier.phases.emplace_back();
  barrier.missing = barrier.arrivals;
  return {};
}

Problem BulkCopies::arrive(int64_t thread, int64_t byte) {
  if (Problem problem = mayUse(thread, byte))
    return problem;
  Barrier &barrier = barriers[find(byte)];
  if (barrier.missing == 0)
    return {"arrives at " + barrierAt(thread, byte) + " in phase " +
                std::to_string(barrier.ended()) + ", for which all of " +
                std::to_string(barrier.arrivals) + " have arrived",
            barrier.site, "where it was made"};
  --barrier.missing;
  barrier.phases.back().arrivals.push_back({thread, ++arrivals[thread]});
  tell(thread, barrier.phases.back());
  return endPhase(thread, barrier);
}

Problem BulkCopies::arriveExpecting(int64_t thread, int64_t byte, int64_t bytes) {
  if (Problem problem = mayUse(thread, byte))
    return problem;
  barriers[find(byte)].bytes += bytes;
  return arrive(thread, byte);
}

Problem BulkCopies::mayWait(int64_t thread, int64_t byte, int64_t parity) const {
  if (Problem problem = mayUse(thread, byte))
    return problem;
  const Barrier &barrier = barriers[find(byte)];
  uint32_t known = barrier.known[thread];
  if ((known & 1) == parity || hasEnded(byte, parity))
    return {};
  return {"waits for parity " + std::to_string(parity) + " of " + barrierAt(thread, byte) +
              ": that of the phase after phase " + std::to_string(known) +
              ", whose end the thread has not waited for",
          barrier.site, "where it was made"};
}

bool BulkCopies::hasEnded(int64_t byte, int64_t parity) const {
  return (barriers[find(byte)].ended() & 1) != parity;
}

void BulkCopies::learn(int64_t thread, int64_t byte, int64_t parity) {
  Barrier &barrier = barriers[find(byte)];
  uint32_t &known = barrier.known[thread];
  if ((known & 1) != parity)
    return;
  const Phase &phase = barrier.phases[known];
  ++known;
  for (Arrival arrival : phase.arrivals) {
    uint32_t &knownOfIt = knownArrivals(thread, arrival.thread);
    knownOfIt = std::max(knownOfIt, arrival.number);
  }
  for (size_t number = 0; number < phase.known.size(); ++number) {
    uint32_t &heard = barriers[number].heard[thread];
    heard = std::max(heard, phase.known[number]);
  }
}

Problem BulkCopies::whatIsMissing(int64_t thread, int64_t byte) const {
  const Barrier &barrier = barriers[find(byte)];
  return {"waits for " + barrierAt(thread, byte) + ", and nothing ends its phase " +
              std::to_string(barrier.ended()) + ": " + std::to_string(barrier.missing) + " of " +
              std::to_string(barrier.arrivals) + " arrivals and " + std::to_string(barrier.bytes) +
              " bytes of copies are missing",
          barrier.site, "where it was made"};
}

int64_t BulkCopies::mostKnown(const Barrier &barrier, int64_t rank) const {
  auto first = barrier.known.begin() + memberOf(rank, 0);
  return *std::max_element(first, first + threadsOfBlock);
}

/// Of the threads of `ranks` neighbouring blocks, each knows afterwards what one of them has known.
void BulkCopies::passBarrier(int64_t firstRank, int64_t ranks) {
  if (!isUsed())
    return;
  const int64_t first = memberOf(firstRank, 0), end = memberOf(firstRank + ranks, 0);
  for (Barrier &barrier : barriers) {
    uint32_t most = 0;
    for (int64_t rank = firstRank; rank < firstRank + ranks; ++rank) {
      most = std::max(most, static_cast<uint32_t>(mostKnown(barrier, rank)));
      bool isMakers = barrier.maker >= first && barrier.maker < end;
      barrier.isKnown[rank] = barrier.isKnown[rank] || isMakers;
    }
    std::fill(barrier.known.begin() + first, barrier.known.begin() + end, most);
    auto heard = barrier.heard.begin();
    std::fill(heard + first, heard + end, *std::max_element(heard + first, heard + end));
  }
  std::vector<uint32_t> merged(threads(), 0);
  for (int64_t thread = first; thread < end; ++thread)
    merged[thread] = ++arrivals[thread];
  for (int64_t of = 0; of < threads(); ++of)
    for (int64_t thread = first; (of < first || of >= end) && thread < end; ++thread)
      merged[of] = std::max(merged[of], knownArrivals(thread, of));
  for (int64_t thread = first; thread < end; ++thread)
    std::copy(merged.begin(), merged.end(), knows.begin() + thread * threads());
}

bool BulkCopies::isOfBarrier(int64_t first, int64_t bytes) const {
  int64_t begin = first / kBarrierBytes * kBarrierBytes;
  for (int64_t byte = begin; byte < first + bytes; byte += kBarrierBytes)
    if (find(byte) >= 0)
      return true;
  return false;
}

bool BulkCopies::touches(int64_t first, int64_t bytes) const {
  if (!isUsed())
    return false;
  for (int64_t chunk = first / kChunkBytes; chunk * kChunkBytes < first + bytes; ++chunk)
    if (isFilled(chunk))
      return true;
  return isOfBarrier(first, bytes);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

Problem BulkCopies::mayRead(int64_t thread, int64_t chunk) const {
  const Fill &fill = fills[chunk];
  const Barrier &barrier = barriers[fill.barrier];
  if (barrier.known[thread] > fill.phase)
    return {};
  return {"reads " + nameOf(thread, chunk * kChunkBytes) +
              ", to which a copy may still write: the thread has not waited for phase " +
              std::to_string(fill.phase) + " of " + barrierAt(thread, barrier.byte),
          fill.site, "the copy"};
}

void BulkCopies::read(int64_t thread, int64_t chunk) {
  std::vector<Arrival> &ofChunk = readers[chunk];
  auto own = std::find_if(ofChunk.begin(), ofChunk.end(),
                          [&](const Arrival &reader) { return reader.thread == thread; });
  if (own == ofChunk.end())
    ofChunk.push_back({thread, arrivals[thread]});
  else
    own->number = arrivals[thread];
}

Problem BulkCopies::mayReplace(int64_t thread, int64_t chunk, bool isCopy) const {
  if (!isFilled(chunk))
    return {};
  const Fill &before = fills[chunk];
  std::string what =
      (isCopy ? "copies to " : "writes ") + nameOf(thread, chunk * kChunkBytes) + ", ";
  const std::string who = isCopy ? "the copying thread" : "the thread";
  for (const Arrival &reader : readers[chunk])
    if (reader.thread != thread && knownArrivals(thread, reader.thread) <= reader.number)
      return {what + "which may still be read: " + who +
                  " has not waited for an mbarrier at which " +
                  nameOfThread(thread, reader.thread) + " has arrived since it read",
              before.site, "the copy of what is read"};
  const Barrier &barrier = barriers[before.barrier];
  uint32_t known = std::max(barrier.known[thread], barrier.heard[thread]);
  if (readers[chunk].empty() && known <= before.phase)
    return {what + "to which " + (isCopy ? "another" : "a") + " copy may still write: " + who +
                " has not waited for phase " + std::to_string(before.phase) + " of " +
                barrierAt(thread, barrier.byte),
            before.site, isCopy ? "the other copy" : "the copy"};
  return {};
}

Problem BulkCopies::mayCopy(int64_t thread, int64_t byte) const {
  if (Problem problem = mayUse(thread, byte))
    return problem;
  const Barrier &barrier = barriers[find(byte)];
  if (!barrier.isFenced)
    return {"copies for " + barrierAt(thread, byte) +
                ", which was made with no fence.proxy.async after it",
            barrier.site, "where it was made"};
  return {};
}

void BulkCopies::fill(int64_t thread, int64_t byte, int64_t chunk, int64_t site) {
  int64_t number = find(byte);
  Barrier &barrier = barriers[number];
  barrier.lastCopied = barrier.ended();
  barrier.siteOfCopy = site;
  fills[chunk] = {static_cast<int32_t>(number), static_cast<uint32_t>(barrier.ended()), site};
  readers[chunk].clear();
}

Problem BulkCopies::countCopy(int64_t thread, int64_t byte, int64_t bytes) {
  Barrier &barrier = barriers[find(byte)];
  barrier.bytes -= bytes;
  return endPhase(thread, barrier);
}

Problem BulkCopies::mayEnd(int64_t rank) const {
  for (const Barrier &barrier : barriers) {
    if (rankOf(barrier.maker) == rank && barrier.lastCopied >= mostKnown(barrier, rank))
      return {"ends while a copy may still write to its shared memory: no thread has waited for "
              "phase " +
                  std::to_string(barrier.lastCopied) + " of " +
                  barrierAt(barrier.maker, barrier.byte),
              barrier.siteOfCopy, "the copy"};
  }
  return {};
}
