//===- HostCopy.cpp - What overlaps the launches, and what conflicts with it ===//

#include "State.h"
#include <cstring>

using namespace llmmem::emulation;

//===----------------------------------------------------------------------===//
// What is in flight
//===----------------------------------------------------------------------===//

/// Names what runs in a queue, by its number.
static constexpr const char *kNames[] = {"a copy to the host", "a copy from the host",
                                         "an update on the host"};

/// Says why these bytes may not be accessed now: something that nothing has waited for writes them,
/// or reads what the access writes. Returns an empty string where they may. An access that runs
/// after queue `after` never conflicts with it.
std::string StepState::meetsFlight(const HostBytes &bytes, bool writes, int64_t after) const {
  for (int64_t queue = 0; queue < kHostQueues; ++queue)
    for (const HostFlight &flight : flights[queue]) {
      bool meetsTarget = flight.doesWrite(bytes);
      if (queue == after || (!meetsTarget && !(writes && flight.doesRead(bytes))))
        continue;
      return std::string("which ") + kNames[queue] + (meetsTarget ? " writes" : " reads") +
             ", and nothing has waited for it";
    }
  return "";
}

void StepState::waitForHost(int64_t queue) {
  if (!flights[queue].empty())
    flights[queue].pop_front();
  else if (!found)
    failInRuntime(std::string("waits for ") + (queue == kQueueOfUpdates ? "an update" : "a copy") +
                  " that nothing has started");
}

/// A capture of the step on a device cannot end so either.
void StepState::endStep() {
  for (int64_t queue = 0; queue < kHostQueues && !found; ++queue)
    if (!flights[queue].empty()) {
      call = flights[queue].front().call;
      failInRuntime(std::string("ends the step, and nothing has waited for ") + kNames[queue] +
                    ", which starts here");
    }
}

/// Returns whether the runtime may read all of these bytes as the value; otherwise records a fault.
bool StepState::mayReadAs(Buffer &buffer, const HostBytes &bytes, int64_t value, const char *verb) {
  Argument read;
  read.bytes = bytes.count;
  read.buffer = &buffer;
  read.first = bytes.begin - buffer.begin;
  read.value = static_cast<int32_t>(value);
  int64_t byte = read.firstTaken(0, bytes.count);
  if (byte >= 0)
    failInRuntime(std::string(verb) + " byte " + std::to_string(byte) + " as value " +
                  std::to_string(value) + ", which does not hold it");
  return byte < 0;
}

static void giveTo(Buffer &buffer, const HostBytes &bytes, int64_t value) {
  std::fill_n(buffer.owners.begin() + (bytes.begin - buffer.begin), bytes.count,
              static_cast<int32_t>(value));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void StepState::copyHost(HostCopy copy, int64_t direction, bool isStarted) {
  if (found)
    return;
  const HostBytes from = {copy.from, copy.bytes}, to = {copy.to, copy.bytes};
  Buffer *source = bufferOf(copy.from, copy.bytes), *target = bufferOf(copy.to, copy.bytes);
  if (!source || !target)
    return failInRuntime("copies " + std::to_string(copy.bytes) +
                         " bytes that do not lie inside a buffer of the step");
  if (std::string why = meetsFlight(from, /*writes=*/false); !why.empty())
    return failInRuntime("copies bytes " + why);
  if (std::string why = meetsFlight(to, /*writes=*/true); !why.empty())
    return failInRuntime("copies to bytes " + why);
  const Call &record = program.calls[copy.call];
  if (!mayReadAs(*source, from, record.values[0], "copies"))
    return;
  std::memcpy(copy.to, copy.from, copy.bytes);
  giveTo(*target, to, record.values[1]);
  if (isStarted)
    flights[direction].push_back({{from}, {to}, copy.call});
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

/// Like a copy it runs at once, and is in flight until it is waited for.
void StepState::updateOnHost(const HostUpdate &update, bool isStarted) {
  if (found)
    return;
  const Call &record = program.calls[update.call];
  // One that is not started runs in the step's order, which itself waits for no other update.
  const int64_t after = isStarted ? int64_t(kQueueOfUpdates) : -1;
  HostFlight flight;
  flight.call = update.call;
  for (size_t number = 0; number < record.values.size(); ++number) {
    HostBytes bytes = {reinterpret_cast<const char *>(update.words[number]), update.sizes[number]};
    Buffer *buffer = bufferOf(bytes.begin, bytes.count);
    if (!buffer)
      return failInRuntime("updates " + std::to_string(bytes.count) +
                           " bytes that do not lie inside a buffer of the step");
    bool writes = record.writes[number];
    if (std::string why = meetsFlight(bytes, writes, after); !why.empty())
      return failInRuntime((writes ? "updates bytes " : "updates by bytes ") + why);
    if (!writes && !mayReadAs(*buffer, bytes, record.values[number], "updates by"))
      return;
    (writes ? flight.writes : flight.reads).push_back(bytes);
  }
  update.run(update.words);
  for (size_t number = 0; number < record.values.size(); ++number) {
    HostBytes bytes = {reinterpret_cast<const char *>(update.words[number]), update.sizes[number]};
    if (record.writes[number])
      giveTo(*bufferOf(bytes.begin, bytes.count), bytes, record.values[number]);
  }
  if (isStarted)
    flights[kQueueOfUpdates].push_back(std::move(flight));
}
