//===- Clusters.cpp - Blocks that run together and share memory ------------===//
//
// The blocks of a cluster run in turns, each until all of its threads wait for the cluster, or some
// for an mbarrier's phase, which another block may have to end. Only a barrier of the cluster
// orders what one block does with another's shared memory and what the other does itself. The same
// barriers say that a block has begun, and that it has not ended: a block may begin at any time
// before it first arrives at one, and end at any time after the last.
//
//===----------------------------------------------------------------------===//

#include "State.h"

using namespace llmmem::emulation;

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

/// Returns the next time, which belongs to this block of the grid.
uint32_t BlockState::nextTime(int32_t block) {
  if (kernel->clusterBlocks > 1)
    clusterTimes.blocks.push_back(block);
  return ++time;
}

/// Returns the block of the grid to which a time of this launch belongs.
int64_t BlockState::blockAt(uint32_t when) const {
  if (kernel->clusterBlocks > 1)
    return clusterTimes.at(when);
  return std::upper_bound(blockTimes.begin(), blockTimes.end(), when) - blockTimes.begin() - 1;
}

void Emulator::State::beginCluster(int64_t first) {
  uint32_t begin = time + 1;
  for (int64_t rank = 0; rank < kernel->clusterBlocks; ++rank) {
    RunningBlock &each = *running[rank];
    beginBlock(each, first + rank);
    each.now.block = begin;
    each.now.own = static_cast<int32_t>(first + rank);
    if (kernel->clusterBlocks > 1)
      each.now.others = &clusterTimes;
    each.visit = {};
  }
  bulkCopies.forget(running.front()->threads.size());
}

void Emulator::State::passClusterBarrier() {
  uint32_t met = time + 1;
  for (int64_t rank = 0; rank < kernel->clusterBlocks; ++rank) {
    own = running[rank].get();
    own->now.met = met;
    own->visit = {};
    passBarrier();
  }
  mbarriers().passBarrier(0, kernel->clusterBlocks);
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

void Emulator::State::runCluster(std::vector<Block> &runners) {
  for (size_t rank = 0; rank < runners.size(); ++rank)
    runners[rank].begin(running[rank]->threads);
  std::vector<Block::Progress> progress(runners.size(), Block::Progress::Begins);
  for (;;) {
    while (goesOn(runners, progress)) {
    }
    if (found)
      return;
    const Thread *waiting = nullptr, *ended = nullptr;
    for (size_t rank = 0; rank < runners.size(); ++rank) {
      own = running[rank].get();
      if (progress[rank] == Block::Progress::WaitsForPhase)
        return runners[rank].reportEndlessWait();
      (progress[rank] == Block::Progress::Ended ? ended : waiting) = own->threads.data();
    }
    if (!waiting)
      return mayEndCluster();
    if (ended)
      return fail(waiting, waiting->site,
                  "waits at a barrier of the cluster that block " + textOf(ended->blockIds()) +
                      " does not reach: it has ended");
    passClusterBarrier();
    for (Block &runner : runners)
      runner.release();
  }
}

/// Gives each block that has not ended a turn. Returns false where none has moved, or one is at
/// fault.
bool Emulator::State::goesOn(std::vector<Block> &runners, std::vector<Block::Progress> &progress) {
  bool moves = false;
  for (size_t rank = 0; rank < runners.size(); ++rank) {
    if (progress[rank] == Block::Progress::Ended)
      continue;
    own = running[rank].get();
    progress[rank] = runners[rank].run();
    if (progress[rank] == Block::Progress::Faulty)
      return false;
    moves |= runners[rank].hasMoved();
  }
  return moves;
}

void Emulator::State::mayEndCluster() {
  for (int64_t rank = 0; rank < kernel->clusterBlocks; ++rank)
    if (const RunningBlock &each = *running[rank]; each.visit.thread)
      fail(each.visit.thread, each.visit.site,
           "accesses the shared memory of block " + textOf(each.threads.front().blockIds()) +
               ", which may have ended: no barrier of the cluster lies between the access and the "
               "end of the kernel");
}

//===----------------------------------------------------------------------===//
// Shared memory of other blocks
//===----------------------------------------------------------------------===//

/// Returns the block of this rank; null after a fault, where the cluster has none.
RunningBlock *BlockState::memberAt(const Thread &thread, int64_t number, int64_t rank) {
  if (rank >= 0 && rank < kernel->clusterBlocks)
    return running[rank].get();
  fail(&thread, number,
       "names block " + std::to_string(rank) + " of its cluster, which has " +
           std::to_string(kernel->clusterBlocks));
  return nullptr;
}

/// Returns whether another block has begun. It may not end before the blocks meet again.
bool BlockState::mayReach(const Thread &thread, int64_t number, RunningBlock &peer) {
  if (&peer == own)
    return true;
  if (own->now.met == 0) {
    fail(&thread, number,
         "reaches the shared memory of block " + textOf(idsIn(peer.now.own, grid)) +
             ", which may not have begun: no barrier of the cluster lies before it");
    return false;
  }
  peer.noteVisit(thread, number);
  return true;
}

char *AccessState::visit(const Thread &thread, int64_t number, int64_t address, int64_t rank) {
  const Site &site = program.sites[number];
  auto refuse = [&](const std::string &message) -> char * {
    fail(&thread, number, message);
    return nullptr;
  };
  RunningBlock *member = memberAt(thread, number, rank);
  if (!member)
    return nullptr;
  if (!isInShared(thread, number, address, site.bytes))
    return nullptr;
  int64_t first = byteOf(address);
  if (first % site.alignment != 0)
    return refuse("accesses " + std::to_string(site.bytes) + " bytes at byte " +
                  std::to_string(first) + " of shared memory: the address is not a multiple of " +
                  std::to_string(site.alignment));
  RunningBlock &peer = *member;
  visited = peer.now.own;
  bool may = &peer == own ? mayAccessShared(thread, number, first, site.bytes)
                          : mayVisit(thread, number, peer, first);
  return may ? peer.shared.bytes.get() + first : nullptr;
}

bool AccessState::mayVisit(const Thread &thread, int64_t number, RunningBlock &peer,
                           int64_t first) {
  const Site &site = program.sites[number];
  bool isWrite = site.kind == Site::Kind::Write;
  std::string what = std::string(isWrite ? "writes" : "reads") + " byte " + std::to_string(first) +
                     " of " + nameOf(site);
  auto refuse = [&](const std::string &why) {
    fail(&thread, number, what + why);
    return false;
  };
  if (own->now.met == 0)
    return refuse(", which may not have begun: no barrier of the cluster lies before the access");
  if (int64_t byte = peer.copies.firstUnfinished(first, site.bytes); byte >= 0)
    return reportUnfinishedCopy(thread, number, what, peer, byte, " of that block");
  if (bulkCopies.touches(placeIn(peer, first), site.bytes) || (isWrite && kernel->hasWgmma))
    return refuse(": the emulator does not order accesses of another block with wgmma, mbarriers "
                  "and copies by tensor maps");
  if (!isWrite)
    if (int64_t byte = peer.history.firstUnwritten(first, site.bytes, own->now.block); byte >= 0)
      return refuse(", which no block of the cluster has written");
  AccessHistory::Race race;
  Now since = own->sinceBlock();
  bool ordered = isWrite ? peer.history.write(first, site.bytes, thread.record, since, race)
                         : peer.history.read(first, site.bytes, thread.record, since, race);
  if (!ordered)
    return reportRace(thread, number, race, race.byte);
  peer.noteVisit(thread, number);
  return true;
}
