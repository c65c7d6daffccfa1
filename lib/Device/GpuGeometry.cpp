//===- GpuGeometry.cpp - Multiprocessors, caches and rates of a GPU --------===//

#include "llmmem/Device/GpuGeometry.h"
#include "llmmem/Device/DeviceModel.h"
#include "llmmem/Support/JsonReader.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace llmmem;

static constexpr std::pair<StringLiteral, int64_t GpuGeometry::*> counts[] = {
    {"multiprocessors", &GpuGeometry::multiprocessors},
    {"clock_mhz", &GpuGeometry::clockMHz},
    {"registers", &GpuGeometry::registers},
    {"threads", &GpuGeometry::threads},
    {"shared_bytes", &GpuGeometry::sharedBytes},
    {"block_shared_bytes", &GpuGeometry::blockSharedBytes},
    {"l2_bytes", &GpuGeometry::l2Bytes}};

static constexpr std::pair<StringLiteral, double ClockRates::*> rates[] = {
    {"lanes", &ClockRates::lanes},
    {"multiply_adds", &ClockRates::multiplyAdds},
    {"mma_multiply_adds", &ClockRates::mmaMultiplyAdds},
    {"wgmma_multiply_adds", &ClockRates::wgmmaMultiplyAdds},
    {"shared_bytes", &ClockRates::sharedBytes},
    {"cache_bytes", &ClockRates::cacheBytes},
    {"apart_bytes", &ClockRates::apartBytes},
    {"stored_bytes", &ClockRates::storedBytes},
    {"peer_bytes", &ClockRates::peerBytes},
    {"dram_bytes", &ClockRates::dramBytes},
    {"copy_latency", &ClockRates::copyLatency},
    {"meeting", &ClockRates::meeting},
    {"pairing", &ClockRates::pairing},
    {"launch", &ClockRates::launch},
    {"shared_step", &ClockRates::sharedStep},
    {"mma_step_dram_bytes", &ClockRates::mmaStepDramBytes}};

int64_t GpuGeometry::blocksAtOnce(int64_t cluster) const {
  // Every group has an even number of multiprocessors.
  if (cluster <= 2 || groups.empty())
    return multiprocessors;
  int64_t blocks = 0;
  for (int64_t ofGroup : groups)
    blocks += ofGroup / cluster * cluster;
  return blocks;
}

/// The keys of a list and the others, as messages name them: "a, b, source".
template <typename Keys>
static std::string namesOf(const Keys &keys, StringRef others) {
  std::string names;
  for (const auto &[key, member] : keys)
    names += key.str() + ", ";
  return names + others.str();
}

static bool readPositive(JsonReader &reader, double &number) {
  return reader.real(number) &&
         ((number > 0 && number <= 1e15) || reader.fail("expected a positive number up to 1e15"));
}

static bool readRates(JsonReader &reader, ClockRates &clock) {
  return reader.object([&](StringRef key) {
    if (const auto *known = find_if(rates, [&](const auto &it) { return it.first == key; });
        known != std::end(rates))
      return readPositive(reader, clock.*(known->second));
    return key == "source" ? reader.string(clock.source)
                           : reader.unknownKey(key, namesOf(rates, "source"));
  });
}

bool GpuGeometry::read(JsonReader &reader) {
  bool isRead = reader.object([&](StringRef key) {
    if (const auto *known = find_if(counts, [&](const auto &it) { return it.first == key; });
        known != std::end(counts))
      return reader.integer(this->*(known->second), 1);
    if (key == "groups")
      return reader.array([&] { return reader.integer(groups.emplace_back(), 1); });
    if (key == "per_clock")
      return readRates(reader, perClock);
    return key == "source" ? reader.string(source)
                           : reader.unknownKey(key, namesOf(counts, "groups, per_clock, source"));
  });
  return isRead && ((multiprocessors > 0 && blockSharedBytes > 0) ||
                    reader.fail("a gpu must have 'multiprocessors' and 'block_shared_bytes'"));
}

json::Object GpuGeometry::toJson() const {
  json::Object gpu{{"source", source}}, clock{{"source", perClock.source}};
  for (const auto &[key, member] : counts)
    if (this->*member > 0)
      gpu[key] = this->*member;
  for (const auto &[key, member] : rates)
    if (perClock.*member > 0)
      clock[key] = perClock.*member;
  if (!groups.empty())
    gpu["groups"] = json::Array(groups);
  if (clock.size() > 1)
    gpu["per_clock"] = std::move(clock);
  return gpu;
}

/// Reads a shipped table; unittests/Device checks that the requested ones exist.
static const GpuGeometry &shippedGpu(StringRef name) {
  for (const DeviceModel &device : shippedDevices())
    if (device.name == name && device.gpu)
      return *device.gpu;
  reportFatalInternalError("no table with a gpu is shipped for " + name);
}

const GpuGeometry &llmmem::tunedGpu() {
  static const GpuGeometry &gpu = shippedGpu("h100");
  return gpu;
}

const GpuGeometry &llmmem::leastGpu() {
  static const GpuGeometry &gpu = shippedGpu("a100");
  return gpu;
}
