//===- Access.cpp - Whether a thread may touch these bytes now -------------===//

#include "State.h"

using namespace llmmem::emulation;

static const char *verb(const Site &site) {
  return site.kind == Site::Kind::Write ? "writes " : "reads ";
}

std::string BlockState::nameOf(const Site &site) const {
  if (site.isOfPeer)
    return "the shared memory of block " + textOf(idsIn(visited, grid));
  if (site.buffer == kSharedMemory)
    return "shared memory";
  if (site.buffer == kConstantTable)
    return "a constant table";
  return "argument " + std::to_string(accessed);
}

bool AccessState::mayAccess(const Thread &thread, int64_t number, int64_t base, int64_t offset,
                            int64_t bytes) {
  const Site &site = program.sites[number];
  // Addresses are arbitrary, and their differences wrap.
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
  const char *begin = isShared ? own->shared.bytes.get() : arguments[accessed].begin;
  int64_t limit = isShared ? sharedBytes : arguments[accessed].bytes;
  int64_t first = static_cast<int64_t>(address - reinterpret_cast<uint64_t>(begin));
  if (!isInside(thread, number, first, limit, offset, bytes))
    return false;
  if (address % site.alignment != 0) {
    fail(&thread, number,
         verb(site) + std::to_string(bytes) + " bytes at byte " + std::to_string(first) + " of " +
             nameOf(site) + ": the address is not a multiple of " + std::to_string(site.alignment));
    return false;
  }
  return isShared ? mayAccessShared(thread, number, first, site.bytes)
                  : mayAccessArgument(thread, number, arguments[accessed], first, bytes);
}

bool AccessState::mayReadTable(const Thread &thread, int64_t number, int64_t offset) {
  const Site &site = program.sites[number];
  if (site.kind == Site::Kind::Write) {
    fail(&thread, number, "writes a constant table");
    return false;
  }
  return isInside(thread, number, offset, site.extent, offset, site.bytes);
}

bool BlockState::isInside(const Thread &thread, int64_t number, int64_t first, int64_t limit,
                          int64_t offset, int64_t bytes) {
  const Site &site = program.sites[number];
  auto fits = [&](int64_t begin, int64_t all) {
    return begin >= 0 && all >= bytes && begin <= all - bytes;
  };
  // A view of the whole buffer needs no check of its own.
  bool insideView = site.extent < 0 || site.extent == limit || fits(offset, site.extent);
  if (fits(first, limit) && insideView)
    return true;
  std::string what = verb(site) + std::to_string(bytes) + " bytes at byte ";
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

std::string BlockState::nameOfShared(const RunningBlock &of) const {
  return &of == own ? "shared memory"
                    : "the shared memory of block " + textOf(idsIn(of.now.own, grid));
}

bool AccessState::isFreeOfWgmma(const Thread &thread, int64_t number, const std::string &verb,
                                const RunningBlock &of, int64_t first, int64_t bytes) {
  int64_t reader = of.multiplies.readerOf(first, bytes);
  if (reader < 0)
    return true;
  fail(&thread, number,
       verb + " byte " + std::to_string(first) + " of " + nameOfShared(of) +
           ", which wgmma may still read: its threads have not all waited for its group",
       reader, "the wgmma");
  return false;
}

/// What wgmma still reads may not be written, and what it will read must be fenced.
bool AccessState::mayWriteTile(const Thread &thread, int64_t number, int64_t first, int64_t bytes) {
  if (!isFreeOfWgmma(thread, number, "writes", first, bytes))
    return false;
  own->multiplies.write(thread.number, first, bytes);
  return true;
}

bool AccessState::mayAccessShared(const Thread &thread, int64_t number, int64_t first,
                                  int64_t bytes) {
  const Site &site = program.sites[number];
  Now sinceBlock = own->sinceBlock();
  AccessHistory::Race race;
  bool isWrite = site.kind == Site::Kind::Write;
  if (int64_t byte = own->copies.firstUnfinished(first, bytes); byte >= 0)
    return reportUnfinishedCopy(thread, number,
                                verb(site) + ("byte " + std::to_string(byte)) + " of shared memory",
                                *own, byte);
  if (bulkCopies.touches(placeIn(*own, first), bytes))
    return mayAccessFilled(thread, number, first, bytes);
  if (!isWrite)
    if (int64_t byte = own->history.firstUnwritten(first, bytes, own->now.block); byte >= 0) {
      fail(&thread, number,
           "reads byte " + std::to_string(byte) +
               " of shared memory, which this block has not written");
      return false;
    }
  if (isWrite && kernel->hasWgmma && !mayWriteTile(thread, number, first, bytes))
    return false;
  bool ordered = isWrite ? own->history.write(first, bytes, thread.record, sinceBlock, race)
                         : own->history.read(first, bytes, thread.record, sinceBlock, race);
  return ordered || reportRace(thread, number, race, race.byte);
}

bool AccessState::mayAccessArgument(const Thread &thread, int64_t number, Argument &argument,
                                    int64_t first, int64_t bytes) {
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
    bool ordered = isWrite ? buffer.history.write(place, bytes, thread.record, own->now, race)
                           : buffer.history.read(place, bytes, thread.record, own->now, race);
    if (!ordered)
      return reportRace(thread, number, race, race.byte - argument.first);
  }
  if (isWrite) {
    std::fill_n(buffer.owners.begin() + place, bytes, argument.value);
    return true;
  }
  if (!argument.asksOwners)
    return true;
  int64_t byte = argument.firstTaken(first, bytes);
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

bool BlockState::reportRace(const Thread &thread, int64_t number, const AccessHistory::Race &race,
                            int64_t byte) {
  uint32_t when = race.other.time();
  bool isInLaunch = when < own->now.block || race.other.has(AccessRecord::kSeveralBlocks);
  bool areSeveral = race.other.has(AccessRecord::kSeveralBlocks | AccessRecord::kSeveralOfCluster);
  bool isInCluster = !isInLaunch && (areSeveral || own->now.isOfOther(when));
  const Site &site = program.sites[number];
  std::string message =
      verb(site) + ("byte " + std::to_string(byte)) + " of " + nameOf(site) + ", which ";
  if (areSeveral)
    message += isInLaunch ? "several blocks have" : "several blocks of the cluster have";
  else
    message +=
        "thread " + textOf(idsIn(race.other.thread(), this->block)) +
        (isInLaunch || isInCluster ? " of block " + textOf(idsIn(blockAt(when), grid)) : "") +
        " has";
  message += race.otherWrites ? " written" : " read";
  message += isInLaunch    ? " in the same launch"
             : isInCluster ? " with no barrier of the cluster between"
                           : " with no barrier between";
  fail(&thread, number, message);
  return false;
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

bool AccessState::mayCopy(const Thread &thread, int64_t number, int64_t base, int64_t offset,
                          int64_t bytes) {
  int64_t all = program.sites[number].bytes;
  if (bytes < 0 || bytes > all) {
    fail(&thread, number,
         "reads " + std::to_string(bytes) + " bytes in a copy of " + std::to_string(all));
    return false;
  }
  return bytes == 0 || mayAccess(thread, number, base, offset, bytes);
}

bool AccessState::startCopy(const Thread &thread, int64_t number, int64_t base, int64_t offset) {
  const Site &site = program.sites[number];
  if (!mayAccess(thread, number, base, offset, site.bytes))
    return false;
  int64_t first = static_cast<int64_t>(static_cast<uint64_t>(base) + static_cast<uint64_t>(offset) -
                                       reinterpret_cast<uint64_t>(own->shared.bytes.get()));
  own->copies.start(thread.number, {first, site.bytes, number});
  return true;
}

void AccessState::finishCopies(const Thread &thread, int64_t groups) {
  // No other access has occurred since the copies began, because that would have been a fault.
  Now sinceBlock = own->sinceBlock();
  AccessHistory::Race none;
  own->copies.finish(thread.number, groups, [&](const AsyncCopies::Copy &copy) {
    own->history.write(copy.first, copy.bytes, thread.record, sinceBlock, none);
    if (kernel->hasWgmma)
      own->multiplies.write(thread.number, copy.first, copy.bytes);
  });
}

bool BlockState::reportUnfinishedCopy(const Thread &thread, int64_t number, const std::string &what,
                                      const RunningBlock &of, int64_t byte, const char *whose) {
  const AsyncCopies::Unfinished &copy = of.copies.unfinishedAt(byte);
  fail(&thread, number,
       what + ", to which thread " + textOf(idsIn(copy.thread, block)) + whose +
           " copies: it has not waited for the copy's group",
       copy.site, "the copy");
  return false;
}

//===----------------------------------------------------------------------===//
// Synchronization
//===----------------------------------------------------------------------===//

bool AccessState::maySynchronize(const Thread &thread, int64_t number, int32_t mask) {
  if (mask == -1)
    return true;
  fail(&thread, number, "synchronizes a part of its warp; expected the mask of a whole warp (-1)");
  return false;
}

bool AccessState::mayShuffle(const Thread &thread, int64_t number, int32_t width) {
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
