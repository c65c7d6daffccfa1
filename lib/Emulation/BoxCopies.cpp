//===- BoxCopies.cpp - Copies by tensor maps, and the mbarriers of a block --===//

#include "State.h"
#include <cstring>

using namespace llmmem::emulation;

// Describes a row of a box: 64 elements of 16 bits, eight chunks, in the 128-byte swizzle.
static constexpr int64_t kElement = 2, kRow = 64, kRowBytes = kRow * kElement, kRowChunks = 8,
                         kSwizzledBytes = 1024, kMostRows = 256, kChunk = BulkCopies::kChunkBytes;

bool BlockState::report(const Thread &thread, int64_t number, const Problem &problem) {
  if (!problem)
    return true;
  fail(&thread, number, problem.message,
       problem.site >= 0 ? std::optional(problem.site) : std::nullopt, problem.ofSite);
  return false;
}

bool BlockState::isInShared(const Thread &thread, int64_t number, int64_t address, int64_t bytes) {
  int64_t first = byteOf(address);
  if (first >= 0 && first <= sharedBytes - bytes)
    return true;
  fail(&thread, number,
       "uses " + std::to_string(bytes) + " bytes at byte " + std::to_string(first) +
           " of shared memory, which has " + std::to_string(sharedBytes));
  return false;
}

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

bool AsyncState::makeBarrier(const Thread &thread, int64_t number, int64_t address, int64_t count) {
  return isInShared(thread, number, address, Mbarriers::kBytes) &&
         report(thread, number,
                mbarriers().make(memberOf(thread), placeOf(address), count, number));
}

bool AsyncState::arrive(const Thread &thread, int64_t number, int64_t address,
                        int64_t expectedBytes) {
  return isInShared(thread, number, address, Mbarriers::kBytes) &&
         report(thread, number,
                mbarriers().arrive(memberOf(thread), placeOf(address), expectedBytes));
}

bool AsyncState::arriveAt(const Thread &thread, int64_t number, int64_t address, int64_t rank) {
  RunningBlock *member = memberAt(thread, number, rank);
  return member && isInShared(thread, number, address, Mbarriers::kBytes) &&
         mayReach(thread, number, *member) &&
         report(thread, number,
                mbarriers().arrive(memberOf(thread), placeIn(*member, byteOf(address))));
}

bool AsyncState::mayWaitForPhase(const Thread &thread, int64_t number, int64_t address,
                                 int64_t parity) {
  return isInShared(thread, number, address, Mbarriers::kBytes) &&
         report(thread, number, mbarriers().mayWait(memberOf(thread), placeOf(address), parity));
}

void AsyncState::fenceProxy(const Thread &thread) {
  own->multiplies.fenceProxy(thread.number);
  mbarriers().fence(memberOf(thread));
}

void AsyncState::reportEndlessWait(const Thread &thread) {
  report(thread, thread.site, mbarriers().whatIsMissing(memberOf(thread), placeOf(thread.barrier)));
}

bool AsyncState::mayEndBlock(const Thread &first) {
  Problem problem = mbarriers().mayEnd(own->rank);
  return report(first, problem.site, {problem.message});
}

//===----------------------------------------------------------------------===//
// What copies have filled
//===----------------------------------------------------------------------===//

bool AccessState::mayAccessFilled(const Thread &thread, int64_t number, int64_t first,
                                  int64_t bytes) {
  bool isWrite = program.sites[number].kind == Site::Kind::Write;
  std::string what = std::string(isWrite ? "writes" : "reads") + " byte " + std::to_string(first) +
                     " of shared memory, ";
  const int64_t place = placeIn(*own, first), me = memberOf(thread);
  if (mbarriers().lieIn(place, bytes))
    return report(thread, number, {what + "where an mbarrier lies"});
  if (isWrite)
    return mayOverwrite(thread, number, first, bytes);
  for (int64_t chunk = place / kChunk; chunk * kChunk < place + bytes; ++chunk) {
    if (!bulkCopies.isFilled(chunk))
      return report(thread, number, {what + "of which this block has not written all"});
    if (!report(thread, number, bulkCopies.mayRead(me, chunk)))
      return false;
    bulkCopies.read(me, chunk);
  }
  return true;
}

/// A store may overwrite what all have read that are to read it. Its chunks then hold what stores
/// have left, as if written when the block began, except for what is stored now.
bool AccessState::mayOverwrite(const Thread &thread, int64_t number, int64_t first, int64_t bytes) {
  if (!isFreeOfWgmma(thread, number, "writes", first, bytes))
    return false;
  for (int64_t byte = first / kChunk * kChunk; byte < first + bytes; byte += kChunk) {
    const int64_t chunk = placeIn(*own, byte) / kChunk;
    if (!bulkCopies.isFilled(chunk))
      continue;
    if (!report(thread, number, bulkCopies.mayStore(memberOf(thread), chunk)))
      return false;
    bulkCopies.forgetFill(chunk);
    own->history.settle(byte, kChunk, own->begun);
  }
  return mayAccessShared(thread, number, first, bytes);
}

/// Returns whether a copy may begin to write the chunk at byte `first` of a block.
bool AsyncState::mayFill(const Thread &thread, int64_t number, RunningBlock &target,
                         int64_t first) {
  if (!isFreeOfWgmma(thread, number, "copies to", target, first, kChunk))
    return false;
  const std::string what =
      "copies to byte " + std::to_string(first) + " of " + nameOfShared(target);
  if (int64_t byte = target.copies.firstUnfinished(first, kChunk); byte >= 0)
    return reportUnfinishedCopy(thread, number, what, target, byte);
  const int64_t place = placeIn(target, first);
  if (int64_t chunk = place / kChunk; bulkCopies.isFilled(chunk))
    return report(thread, number, bulkCopies.mayFill(memberOf(thread), chunk));
  if (mbarriers().lieIn(place, kChunk))
    return report(thread, number, {what + ", where an mbarrier lies"});
  AccessHistory::Race race;
  return target.history.write(first, kChunk, thread.record, own->sinceBlock(), race) ||
         reportRace(thread, number, race, race.byte);
}

//===----------------------------------------------------------------------===//
// A copy
//===----------------------------------------------------------------------===//

/// Checks what cuTensorMapEncodeTiled and the instruction demand.
static std::string problemOf(const AsyncState::Box &box, int64_t to) {
  if ((box.base + box.first * kElement) % kChunk != 0 || box.pitch * kElement % kChunk != 0)
    return "copies rows that do not begin at multiples of 16 bytes";
  if (box.rows < 1 || box.columns < 1 || box.boxRows < 1 || box.boxRows > kMostRows)
    return "copies by a map of " + std::to_string(box.rows) + " rows of " +
           std::to_string(box.columns) + " elements in boxes of " + std::to_string(box.boxRows) +
           " rows, expected 1 to 256";
  if (to % kSwizzledBytes != 0)
    return "copies to byte " + std::to_string(to) +
           " of shared memory, expected a multiple of 1024, as the swizzle is one of addresses";
  return "";
}

/// Reads the bytes of the box, 0 outside of the matrix, without swizzle.
bool AsyncState::readBox(const Thread &thread, int64_t number, const Box &box,
                         std::vector<char> &rows) {
  rows.assign(box.boxRows * kRowBytes, 0);
  int64_t begin = std::max<int64_t>(box.column, 0),
          end = std::min<int64_t>(box.column + kRow, box.columns);
  for (int64_t line = 0; line < box.boxRows; ++line) {
    int64_t of = box.row + line, offset = (box.first + of * box.pitch + begin) * kElement;
    if (of < 0 || of >= box.rows || begin >= end)
      continue;
    int64_t inside = (end - begin) * kElement;
    if (!mayAccess(thread, number, box.base, offset, inside))
      return false;
    std::memcpy(rows.data() + line * kRowBytes + (begin - box.column) * kElement,
                reinterpret_cast<const char *>(box.base + offset), inside);
  }
  return true;
}

/// Returns the blocks that receive the box; none after a fault.
std::vector<RunningBlock *> AsyncState::targetsOf(const Thread &thread, int64_t number,
                                                  const Box &box) {
  if (box.blocks == 0)
    return {own};
  std::vector<RunningBlock *> targets;
  for (int64_t rank = 0; box.blocks >> rank != 0; ++rank) {
    if ((box.blocks >> rank & 1) == 0)
      continue;
    RunningBlock *target = memberAt(thread, number, rank);
    if (!target || !mayReach(thread, number, *target))
      return {};
    targets.push_back(target);
  }
  return targets;
}

bool AsyncState::fillBox(const Thread &thread, int64_t number, const Box &box, RunningBlock &target,
                         const std::vector<char> &rows) {
  const int64_t to = byteOf(box.to), me = memberOf(thread),
                barrier = placeIn(target, byteOf(box.barrier));
  if (!report(thread, number, mbarriers().mayCopy(me, barrier)))
    return false;
  for (int64_t line = 0; line < box.boxRows; ++line)
    for (int64_t chunk = 0; chunk < kRowChunks; ++chunk) {
      int64_t first = to + line * kRowBytes + (chunk ^ line % kRowChunks) * kChunk;
      if (!mayFill(thread, number, target, first))
        return false;
      std::memcpy(target.shared.bytes.get() + first,
                  rows.data() + line * kRowBytes + chunk * kChunk, kChunk);
      bulkCopies.fill(barrier, placeIn(target, first) / kChunk, number);
    }
  return report(thread, number,
                mbarriers().countCopy(me, barrier, static_cast<int64_t>(rows.size())));
}

bool AsyncState::copyBox(const Thread &thread, int64_t number, const Box &box) {
  if (std::string problem = problemOf(box, byteOf(box.to)); !problem.empty())
    return report(thread, number, {problem});
  if (!isInShared(thread, number + 1, box.to, box.boxRows * kRowBytes) ||
      !isInShared(thread, number + 1, box.barrier, Mbarriers::kBytes))
    return false;
  std::vector<RunningBlock *> targets = targetsOf(thread, number + 1, box);
  if (targets.empty() ||
      !report(thread, number + 1, mbarriers().mayCopy(memberOf(thread), placeOf(box.barrier))))
    return false;
  std::vector<char> rows;
  if (!readBox(thread, number, box, rows))
    return false;
  for (RunningBlock *target : targets)
    if (!fillBox(thread, number + 1, box, *target, rows))
      return false;
  return true;
}
