//===- Access.cpp - Whether a thread may touch these bytes now -------------===//

#include "State.h"

using namespace llmmem::emulation;

static const char *verb(const Site &site) {
  return site.kind == Site::Kind::Write ? "writes " : "reads ";
}

std::string Emulator::State::nameOf(const Site &site) const {
  if (site.buffer == kSharedMemory)
    return "shared memory";
  if (site.buffer == kConstantTable)
    return "a constant table";
  return "argument " + std::to_string(accessed);
}

bool Emulator::State::mayAccess(const Thread &thread, int64_t number, int64_t base,
                                int64_t offset) {
  const Site &site = program.sites[number];
  // Addresses are arbitrary: their differences wrap.
  uint64_t address = static_cast<uint64_t>(base) + static_cast<uint64_t>(offset);
  if (site.buffer == kConstantTable)
    return mayReadTable(thread, number, offset);
  bool isShared = site.buffer == kSharedMemory;
  accessed = argumentAt(site, base);
  if (!isShared && accessed < 0) {
    fail(&thread, number,
         verb(site) + std::string("at an address where no argument of the launch begins"));
    return false;
  }
  const char *begin = isShared ? shared : arguments[accessed].begin;
  int64_t limit = isShared ? sharedBytes : arguments[accessed].bytes;
  int64_t first = static_cast<int64_t>(address - reinterpret_cast<uint64_t>(begin));
  if (!isInside(thread, site, number, first, limit, offset))
    return false;
  if (address % site.alignment != 0) {
    fail(&thread, number,
         verb(site) + std::to_string(site.bytes) + " bytes at byte " + std::to_string(first) +
             " of " + nameOf(site) + ": the address is not a multiple of " +
             std::to_string(site.alignment));
    return false;
  }
  return isShared ? mayAccessShared(thread, number, first)
                  : mayAccessArgument(thread, number, arguments[accessed], first);
}

bool Emulator::State::mayReadTable(const Thread &thread, int64_t number, int64_t offset) {
  const Site &site = program.sites[number];
  if (site.kind == Site::Kind::Write) {
    fail(&thread, number, "writes a constant table");
    return false;
  }
  return isInside(thread, site, number, offset, site.extent, offset);
}

bool Emulator::State::isInside(const Thread &thread, const Site &site, int64_t number,
                               int64_t first, int64_t limit, int64_t offset) {
  auto fits = [&](int64_t begin, int64_t bytes) {
    return begin >= 0 && bytes >= site.bytes && begin <= bytes - site.bytes;
  };
  // A view of the whole buffer needs no check of its own.
  bool insideView = site.extent < 0 || site.extent == limit || fits(offset, site.extent);
  if (fits(first, limit) && insideView)
    return true;
  std::string what = verb(site) + std::to_string(site.bytes) + " bytes at byte ";
  if (insideView)
    fail(&thread, number,
         what + std::to_string(first) + " of " + nameOf(site) + ", which has " +
             std::to_string(limit));
  else
    fail(&thread, number,
         what + std::to_string(offset) + " of a part of " + nameOf(site) + " that has " +
             std::to_string(site.extent));
  return false;
}

bool Emulator::State::mayAccessShared(const Thread &thread, int64_t number, int64_t first) {
  const Site &site = program.sites[number];
  // Shared memory is undefined when a block begins.
  Now sinceBlock = {now.block, now.block, now.epoch};
  AccessHistory::Race race;
  bool isWrite = site.kind == Site::Kind::Write;
  if (!isWrite)
    if (int64_t byte = sharedHistory.firstUnwritten(first, site.bytes, now.block); byte >= 0) {
      fail(&thread, number,
           "reads byte " + std::to_string(byte) +
               " of shared memory, which this block has not written");
      return false;
    }
  bool ordered = isWrite ? sharedHistory.write(first, site.bytes, thread.record, sinceBlock, race)
                         : sharedHistory.read(first, site.bytes, thread.record, sinceBlock, race);
  return ordered || reportRace(thread, number, race, race.byte);
}

bool Emulator::State::mayAccessArgument(const Thread &thread, int64_t number, Argument &argument,
                                        int64_t first) {
  const Site &site = program.sites[number];
  Buffer &buffer = *argument.buffer;
  int64_t place = argument.first + first;
  bool isWrite = site.kind == Site::Kind::Write;
  if (isWrite && !argument.writable) {
    fail(&thread, number, "writes " + nameOf(site) + ", which the call does not list in 'writes'");
    return false;
  }
  if (argument.watched) {
    AccessHistory::Race race;
    bool ordered = isWrite ? buffer.history.write(place, site.bytes, thread.record, now, race)
                           : buffer.history.read(place, site.bytes, thread.record, now, race);
    if (!ordered)
      return reportRace(thread, number, race, race.byte - argument.first);
  }
  if (isWrite) {
    std::fill_n(buffer.owners.begin() + place, site.bytes, argument.value);
    return true;
  }
  if (!argument.asksOwners)
    return true;
  int64_t byte = argument.firstTaken(first, site.bytes);
  if (byte < 0)
    return true;
  int32_t owner = buffer.owners[argument.first + byte];
  fail(&thread, number,
       "reads byte " + std::to_string(byte) + " of " + nameOf(site) + " as value " +
           std::to_string(argument.value) +
           (owner == kNobody ? ", but nothing has been written there"
                             : ", but value " + std::to_string(owner) + " was written there"));
  return false;
}

bool Emulator::State::reportRace(const Thread &thread, int64_t number,
                                 const AccessHistory::Race &race, int64_t byte) {
  auto block = std::upper_bound(blockTimes.begin(), blockTimes.end(), race.other.time()) -
               blockTimes.begin() - 1;
  auto idsIn = [](int64_t linear, Triple sizes) {
    return Triple{linear % sizes[0], linear / sizes[0] % sizes[1], linear / sizes[0] / sizes[1]};
  };
  const Site &site = program.sites[number];
  std::string message = verb(site) + ("byte " + std::to_string(byte)) + " of " + nameOf(site) +
                        ", which thread " + textOf(idsIn(race.other.thread(), this->block));
  if (race.other.time() < now.block)
    message += " of block " + textOf(idsIn(block, grid));
  message += race.otherWrites ? " has written" : " has read";
  message += race.other.time() < now.block ? " in the same launch" : " with no barrier between";
  fail(&thread, number, message);
  return false;
}

//===----------------------------------------------------------------------===//
// Synchronization
//===----------------------------------------------------------------------===//

bool Emulator::State::maySynchronize(const Thread &thread, int64_t number, int32_t mask) {
  if (mask == -1)
    return true;
  fail(&thread, number, "synchronizes a part of its warp; expected the mask of a whole warp (-1)");
  return false;
}

bool Emulator::State::mayShuffle(const Thread &thread, int64_t number, int32_t width) {
  bool isPower = width >= 1 && width <= kWarp && (width & (width - 1)) == 0;
  if (isPower && thread.lane() < width)
    return true;
  std::string text = std::to_string(width);
  if (isPower)
    fail(&thread, number,
         "is lane " + std::to_string(thread.lane()) + " of its warp and takes part in a shuffle " +
             "of the first " + text + " lanes");
  else
    fail(&thread, number, "shuffles " + text + " lanes, expected a power of 2 up to 32");
  return false;
}
