//===- HostCopy.cpp - Copies between device and host, and who meets them ---===//

#include "State.h"
#include <cstring>

using namespace llmmem::emulation;

/// Why these bytes may not be accessed now: a copy that nothing has waited for writes them, or
/// reads what the access writes. Empty where they may.
std::string Emulator::State::meetsFlight(const char *begin, int64_t bytes, bool writes) const {
  for (size_t direction = 0; direction < flights.size(); ++direction)
    for (const HostCopy &copy : flights[direction]) {
      bool meetsTarget = copy.isWritten(begin, bytes);
      if (!meetsTarget && !(writes && copy.isRead(begin, bytes)))
        continue;
      return std::string("which a copy ") + (direction == 0 ? "to the host " : "from the host ") +
             (meetsTarget ? "writes" : "reads") + ", and nothing has waited for it";
    }
  return "";
}

void Emulator::State::copyHost(HostCopy copy, int64_t direction, bool isStarted) {
  if (found)
    return;
  Buffer *source = bufferOf(const_cast<char *>(copy.from), copy.bytes);
  Buffer *target = bufferOf(copy.to, copy.bytes);
  if (!source || !target)
    return failInRuntime("copies " + std::to_string(copy.bytes) +
                         " bytes that do not lie inside a buffer of the step");
  if (std::string why = meetsFlight(copy.from, copy.bytes, /*writes=*/false); !why.empty())
    return failInRuntime("copies bytes " + why);
  if (std::string why = meetsFlight(copy.to, copy.bytes, /*writes=*/true); !why.empty())
    return failInRuntime("copies to bytes " + why);
  const Call &record = program.calls[copy.call];
  Argument read;
  read.begin = const_cast<char *>(copy.from);
  read.bytes = copy.bytes;
  read.buffer = source;
  read.first = copy.from - source->begin;
  read.value = static_cast<int32_t>(record.values[0]);
  if (int64_t byte = read.firstTaken(0, copy.bytes); byte >= 0)
    return failInRuntime("copies byte " + std::to_string(byte) + " as value " +
                         std::to_string(read.value) + ", which does not hold it");
  std::memcpy(copy.to, copy.from, copy.bytes);
  std::fill_n(target->owners.begin() + (copy.to - target->begin), copy.bytes,
              static_cast<int32_t>(record.values[1]));
  if (isStarted)
    flights[direction].push_back(copy);
}

void Emulator::State::waitForHostCopy(int64_t direction) {
  if (!flights[direction].empty())
    flights[direction].pop_front();
  else if (!found)
    failInRuntime("waits for a copy that nothing has started");
}
