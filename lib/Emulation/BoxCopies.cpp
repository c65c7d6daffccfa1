//===- BoxCopies.cpp - Copies by tensor maps, and the mbarriers of a block --===//

#include "State.h"
#include <cstring>

using namespace llmmem::emulation;

// A row of a box: 64 elements of 16 bits, eight chunks, in the 128-byte swizzle.
static constexpr int64_t kElement = 2, kRow = 64, kRowBytes = kRow * kElement, kRowChunks = 8,
                         kSwizzledBytes = 1024, kMostRows = 256, kChunk = BulkCopies::kChunkBytes;

bool Emulator::State::report(const Thread &thread, int64_t number,
                             const BulkCopies::Problem &problem) {
  if (!problem)
    return true;
  fail(&thread, number, problem.message,
       problem.site >= 0 ? std::optional(problem.site) : std::nullopt, problem.ofSite);
  return false;
}

bool Emulator::State::isInShared(const Thread &thread, int64_t number, int64_t address,
                                 int64_t bytes) {
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

bool Emulator::State::makeBarrier(const Thread &thread, int64_t number, int64_t address,
                                  int64_t count) {
  return isInShared(thread, number, address, BulkCopies::kBarrierBytes) &&
         report(thread, number,
                own->bulkCopies.make(thread.number, byteOf(address), count, number));
}

bool Emulator::State::arrive(const Thread &thread, int64_t number, int64_t address,
                             int64_t expectedBytes) {
  return report(thread, number,
                own->bulkCopies.arriveExpecting(thread.number, byteOf(address), expectedBytes));
}

bool Emulator::State::mayWaitForPhase(const Thread &thread, int64_t number, int64_t address,
                                      int64_t parity) {
  return report(thread, number, own->bulkCopies.mayWait(thread.number, byteOf(address), parity));
}

void Emulator::State::fenceProxy(const Thread &thread) {
  own->multiplies.fenceProxy(thread.number);
  own->bulkCopies.fence(thread.number);
}

void Emulator::State::reportEndlessWait(const Thread &thread) {
  report(thread, thread.site, own->bulkCopies.whatIsMissing(byteOf(thread.barrier)));
}

bool Emulator::State::mayEndBlock(const Thread &first) {
  BulkCopies::Problem problem = own->bulkCopies.mayEnd();
  return report(first, problem.site, {problem.message});
}

//===----------------------------------------------------------------------===//
// What copies have filled
//===----------------------------------------------------------------------===//

bool Emulator::State::mayAccessFilled(const Thread &thread, int64_t number, int64_t first,
                                      int64_t bytes) {
  bool isWrite = program.sites[number].kind == Site::Kind::Write;
  std::string what = std::string(isWrite ? "writes" : "reads") + " byte " + std::to_string(first) +
                     " of shared memory, ";
  if (own->bulkCopies.isOfBarrier(first, bytes))
    return report(thread, number, {what + "where an mbarrier lies"});
  if (isWrite)
    return report(thread, number,
                  {what + "which copies by tensor maps have filled: the emulator does not order "
                          "their writes with others"});
  for (int64_t chunk = first / kChunk; chunk * kChunk < first + bytes; ++chunk) {
    if (!own->bulkCopies.isFilled(chunk))
      return report(thread, number, {what + "of which this block has not written all"});
    if (!report(thread, number, own->bulkCopies.mayRead(thread.number, chunk)))
      return false;
    own->bulkCopies.read(thread.number, chunk);
  }
  return true;
}

/// Whether a copy may begin to write the chunk at byte `first`.
bool Emulator::State::mayFill(const Thread &thread, int64_t number, int64_t first) {
  if (!isFreeOfWgmma(thread, number, "copies to", first, kChunk))
    return false;
  if (int64_t byte = own->copies.firstUnfinished(first, kChunk); byte >= 0)
    return reportUnfinishedCopy(thread, number, byte);
  int64_t chunk = first / kChunk;
  if (own->bulkCopies.isFilled(chunk))
    return report(thread, number, own->bulkCopies.mayFill(thread.number, chunk));
  if (own->bulkCopies.isOfBarrier(first, kChunk))
    return report(
        thread, number,
        {"copies to byte " + std::to_string(first) + " of shared memory, where an mbarrier lies"});
  Now sinceBlock = own->sinceBlock();
  AccessHistory::Race race;
  return own->history.write(first, kChunk, thread.record, sinceBlock, race) ||
         reportRace(thread, number, race, race.byte);
}

//===----------------------------------------------------------------------===//
// A copy
//===----------------------------------------------------------------------===//

/// What cuTensorMapEncodeTiled and the instruction demand.
static std::string problemOf(const Emulator::State::Box &box, int64_t to) {
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

bool Emulator::State::copyBox(const Thread &thread, int64_t number, const Box &box) {
  int64_t to = byteOf(box.to), barrier = byteOf(box.barrier), bytes = box.boxRows * kRowBytes;
  if (std::string problem = problemOf(box, to); !problem.empty())
    return report(thread, number, {problem});
  if (!isInShared(thread, number + 1, box.to, bytes) ||
      !report(thread, number + 1, own->bulkCopies.mayCopy(thread.number, barrier)))
    return false;
  int64_t begin = std::max<int64_t>(box.column, 0),
          end = std::min<int64_t>(box.column + kRow, box.columns);
  for (int64_t line = 0; line < box.boxRows; ++line) {
    char row[kRowBytes] = {};
    int64_t of = box.row + line, offset = (box.first + of * box.pitch + begin) * kElement;
    if (of >= 0 && of < box.rows && begin < end) {
      int64_t inside = (end - begin) * kElement;
      if (!mayAccess(thread, number, box.base, offset, inside))
        return false;
      std::memcpy(row + (begin - box.column) * kElement,
                  reinterpret_cast<const char *>(box.base + offset), inside);
    }
    for (int64_t chunk = 0; chunk < kRowChunks; ++chunk) {
      int64_t place = to + line * kRowBytes + (chunk ^ line % kRowChunks) * kChunk;
      if (!mayFill(thread, number + 1, place))
        return false;
      std::memcpy(own->shared + place, row + chunk * kChunk, kChunk);
      own->bulkCopies.fill(barrier, place / kChunk, number + 1);
    }
  }
  return report(thread, number + 1, own->bulkCopies.countCopy(barrier, bytes));
}
