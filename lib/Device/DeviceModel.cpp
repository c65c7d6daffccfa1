//===- DeviceModel.cpp - Device tables -------------------------------------===//

#include "llmmem/Device/DeviceModel.h"
#include "llmmem/Device/CardName.h"
#include "llmmem/Device/Topology.h"
#include "llmmem/Support/JsonReader.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace llmmem;

int64_t DeviceModel::flopsPerNs(NumberFormat numbers) const {
  auto unpacked = [&](StringRef name) {
    auto known = flopsPerNsUnpacked.find(name);
    return known == flopsPerNsUnpacked.end() ? flopsPerNsF32 : known->second;
  };
  switch (numbers) {
  case NumberFormat::F32:
    return flopsPerNsF32;
  case NumberFormat::BF16:
    return flopsPerNsBF16;
  case NumberFormat::F64:
    return flopsPerNsF64;
  case NumberFormat::I4:
    return unpacked("i4");
  case NumberFormat::I8:
    return unpacked("i8");
  case NumberFormat::F8:
    return unpacked("f8");
  }
  llvm_unreachable("every format of numbers is handled above");
}

int64_t DeviceModel::time(int64_t flops, int64_t bytes, NumberFormat numbers,
                          StringRef kernel) const {
  int64_t rate = flopsPerNs(numbers);
  int64_t busy =
      std::max(flops / rate + (flops % rate != 0), bytes / bytesPerNs + (bytes % bytesPerNs != 0));
  if (auto known = permilleOfKernels.find(kernel); known != permilleOfKernels.end()) {
    __int128 scaled = (static_cast<__int128>(busy) * known->second + 999) / 1000;
    busy = scaled > INT64_MAX ? INT64_MAX : static_cast<int64_t>(scaled);
  }
  return busy > INT64_MAX - launchNs ? INT64_MAX : busy + launchNs;
}

std::optional<int64_t> DeviceModel::hostTime(int64_t bytes) const {
  if (hostBytesPerNs == 0)
    return std::nullopt;
  return bytes / hostBytesPerNs + (bytes % hostBytesPerNs != 0);
}

const DeviceLink *DeviceModel::linkTo(DeviceLink::To to) const {
  auto link = llvm::find_if(links, [&](const DeviceLink &way) { return way.to == to; });
  return link == links.end() ? nullptr : &*link;
}

std::optional<int64_t> DeviceModel::transferTime(int64_t messages, int64_t bytes,
                                                 GroupPlace place) const {
  const DeviceLink *link = linkTo(DeviceLink::To::Device);
  if (!link)
    return std::nullopt;
  auto over = [&](const DeviceLink &way, int64_t share, int64_t of) {
    __int128 bandwidth = static_cast<__int128>(std::min(way.upBytesPerNs, way.downBytesPerNs)) *
                         std::max<int64_t>(share, 1);
    __int128 scaled = static_cast<__int128>(bytes) * std::max<int64_t>(of, 1);
    return static_cast<__int128>(messages) * way.latencyNs + (scaled + bandwidth - 1) / bandwidth +
           launchNs;
  };
  __int128 ns = over(*link, 1, 1);
  if (place.crossesNodes)
    if (const DeviceLink *between = linkTo(DeviceLink::To::Node))
      ns = std::max(ns, over(*between, place.perNode, devicesPerNode));
  return ns > INT64_MAX ? INT64_MAX : static_cast<int64_t>(ns);
}

/// Returns value * numerator / denominator, rounded up; saturates.
static int64_t scaled(int64_t value, int64_t numerator, int64_t denominator) {
  __int128 product = static_cast<__int128>(value) * numerator + denominator - 1;
  return product / denominator > INT64_MAX ? INT64_MAX
                                           : static_cast<int64_t>(product / denominator);
}

std::optional<MeasuredTime> DeviceModel::measuredTransferTime(StringRef op, int64_t ranks,
                                                              int64_t bytes) const {
  auto known = collectivesNs.find({op.str(), ranks});
  if (known == collectivesNs.end())
    return std::nullopt;
  const std::map<int64_t, int64_t> &nsOfBytes = known->second;
  auto above = nsOfBytes.lower_bound(bytes);
  if (above == nsOfBytes.end()) {
    auto [largest, ns] = *std::prev(above);
    return MeasuredTime{scaled(ns, bytes, largest)};
  }
  if (above->first == bytes || above == nsOfBytes.begin())
    return MeasuredTime{above->second, above->first == bytes};
  auto below = std::prev(above);
  // A larger one may have been faster; then the line falls.
  int64_t more = above->second - below->second, part = bytes - below->first,
          span = above->first - below->first;
  return MeasuredTime{more >= 0 ? below->second + scaled(more, part, span)
                                : above->second + scaled(-more, span - part, span)};
}

static constexpr std::pair<StringLiteral, DeviceLink::To> endsOfLinks[] = {
    {"device", DeviceLink::To::Device},
    {"node", DeviceLink::To::Node},
    {"host", DeviceLink::To::Host}};

static json::Array collectivesToJson(const DeviceModel &model) {
  json::Array entries;
  for (const auto &[key, nsOfBytes] : model.collectivesNs)
    for (auto [bytes, ns] : nsOfBytes)
      entries.push_back(
          json::Object{{"op", key.first}, {"ranks", key.second}, {"bytes", bytes}, {"ns", ns}});
  return entries;
}

json::Value DeviceModel::toJson() const {
  json::Object rates{{"bf16", flopsPerNsBF16}, {"f32", flopsPerNsF32}, {"f64", flopsPerNsF64}};
  for (const auto &[held, rate] : flopsPerNsUnpacked)
    rates[held] = rate;
  json::Object kernels, measured;
  for (const auto &[kind, permille] : permilleOfKernels)
    kernels[kind] = 1e-3 * static_cast<double>(permille);
  for (const auto &[kernel, ns] : measuredNs)
    measured[kernel] = ns;
  json::Array ways;
  for (const DeviceLink &link : links)
    ways.push_back(json::Object{{"name", link.name},
                                {"to", wordOf(endsOfLinks, link.to)},
                                {"up_bytes_per_ns", link.upBytesPerNs},
                                {"down_bytes_per_ns", link.downBytesPerNs},
                                {"latency_ns", link.latencyNs},
                                {"source", link.source}});
  json::Object table{{"name", name},
                     {"source", source},
                     {"flops_per_ns", std::move(rates)},
                     {"bytes_per_ns", bytesPerNs},
                     {"launch_ns", launchNs},
                     {"basis", hasMeasuredRates ? "measured" : "datasheet"},
                     {"epilogues", fusesEpilogues ? "auto" : "separate"},
                     {"library_workspace_bytes", libraryWorkspace},
                     {"links", std::move(ways)},
                     {"collectives", collectivesToJson(*this)},
                     {"kernels", std::move(kernels)},
                     {"measured", std::move(measured)}};
  if (hostBytesPerNs > 0)
    table["host"] = json::Object{{"bytes_per_ns", hostBytesPerNs}, {"source", hostSource}};
  if (gpu)
    table["gpu"] = gpu->toJson();
  if (devicesPerNode > 0)
    table["devices_per_node"] = devicesPerNode;
  if (memoryBytes > 0) {
    table["memory_bytes"] = memoryBytes;
    table["reserve_bytes"] = reserveBytes;
  }
  return table;
}

namespace {
// Where the rates of a table come from, and whether products of the device take what follows them.
constexpr std::pair<StringLiteral, bool> bases[] = {{"measured", true}, {"datasheet", false}};
constexpr std::pair<StringLiteral, bool> epilogues[] = {{"auto", true}, {"separate", false}};

/// Reads one table; see the header for its form.
class TableReader {
public:
  explicit TableReader(StringRef json) : reader(json) {}

  Expected<DeviceModel> run() {
    readTable();
    if (Error error = reader.finish())
      return std::move(error);
    return std::move(model);
  }

private:
  bool readTable() {
    bool read = reader.members(
        {{"name", model.name},
         {"source", model.source},
         {"basis", [&] { return reader.word(model.hasMeasuredRates, bases); }},
         {"memory_bytes", model.memoryBytes, 1},
         {"reserve_bytes", model.reserveBytes},
         {required("flops_per_ns"), [&] { return readRates(); }},
         {required("bytes_per_ns"), model.bytesPerNs, 1},
         {"launch_ns", model.launchNs},
         {"library_workspace_bytes", model.libraryWorkspace},
         {"epilogues", [&] { return reader.word(model.fusesEpilogues, epilogues); }},
         {"links", [&] { return reader.array([&] { return readLink(); }); }},
         {"pcie", [&] { return readSlot(); }},
         {"host", [&] { return readHost(); }},
         {"devices_per_node", model.devicesPerNode},
         {"gpu", [&] { return model.gpu.emplace().read(reader); }},
         {"collectives", [&] { return reader.array([&] { return readCollective(); }); }},
         {"kernels",
          [&] { return reader.object([&](StringRef kind) { return readFactor(kind); }); }},
         {"measured",
          [&] {
            return reader.object(
                [&](StringRef kernel) { return reader.integer(model.measuredNs[kernel], 1); });
          }}},
        "a device table");
    if (!read)
      return false;
    if (model.reserveBytes > 0 && model.reserveBytes >= model.memoryBytes)
      return reader.fail("'reserve_bytes' is part of 'memory_bytes'; give that, and a larger one");
    if (pcieGeneration > 0 && !addSlot())
      return false;
    return (model.devicesPerNode > 0) == (model.linkTo(DeviceLink::To::Node) != nullptr) ||
           reader.fail("'devices_per_node' and a link to \"node\" go together; give both");
  }

  bool readRates() {
    auto unpacked = [&](StringRef held) {
      return reader.integer(model.flopsPerNsUnpacked[held], 1);
    };
    return reader.members({{required("bf16"), model.flopsPerNsBF16, 1},
                           {required("f32"), model.flopsPerNsF32, 1},
                           {required("f64"), model.flopsPerNsF64, 1},
                           {"i4", [&] { return unpacked("i4"); }},
                           {"i8", [&] { return unpacked("i8"); }},
                           {"f8", [&] { return unpacked("f8"); }}},
                          "'flops_per_ns'");
  }

  bool readSlot() {
    constexpr int64_t kLast = 6;
    return reader.integer(pcieGeneration, 3) &&
           (pcieGeneration <= kLast ||
            reader.fail("expected the generation of the slot, 3 to " + Twine(kLast)));
  }

  /// Adds the links of a PCIe slot of 16 lanes: to the host, and to other devices where the table
  /// has no link of its own to them. Each generation has twice the bandwidth of the one before; 4.0
  /// has 32 GB/s in each direction.
  bool addSlot() {
    const int64_t bytesPerNs = int64_t(2) << pcieGeneration;
    DeviceLink slot;
    slot.upBytesPerNs = slot.downBytesPerNs = bytesPerNs;
    slot.source = formatv("PCIe {0}.0 x16: {1} GB/s both ways; latency assumed", pcieGeneration,
                          2 * bytesPerNs);
    if (!model.linkTo(DeviceLink::To::Device)) {
      slot.name = "pcie to devices";
      slot.to = DeviceLink::To::Device;
      slot.latencyNs = 2000;
      if (!addLink(slot))
        return false;
    }
    slot.name = "pcie";
    slot.to = DeviceLink::To::Host;
    slot.latencyNs = 10000;
    return addLink(std::move(slot));
  }

  bool readHost() {
    return reader.members(
        {{required("bytes_per_ns"), model.hostBytesPerNs, 1}, {"source", model.hostSource}},
        "a host");
  }

  bool addLink(DeviceLink link) {
    for (const DeviceLink &other : model.links)
      if (other.name == link.name)
        return reader.fail("two links are named '" + link.name + "'; give each a name of its own");
    model.links.push_back(std::move(link));
    return true;
  }

  bool readLink() {
    DeviceLink link;
    return reader.members({{required("name"), link.name},
                           {required("to"), [&] { return reader.word(link.to, endsOfLinks); }},
                           {required("up_bytes_per_ns"), link.upBytesPerNs, 1},
                           {required("down_bytes_per_ns"), link.downBytesPerNs, 1},
                           {"latency_ns", link.latencyNs},
                           {"source", link.source}},
                          "a link") &&
           addLink(std::move(link));
  }

  bool readCollective() {
    std::string op;
    int64_t ranks = 0, bytes = 0, ns = 0;
    if (!reader.members({{required("op"), op},
                         {required("ranks"), ranks, 2},
                         {required("bytes"), bytes, 1},
                         {required("ns"), ns, 1}},
                        "a collective"))
      return false;
    if (!model.collectivesNs[{op, ranks}].try_emplace(bytes, ns).second)
      return reader.fail("'" + op + "' over " + std::to_string(ranks) +
                         " ranks has two times for " + std::to_string(bytes) +
                         " bytes; give it one");
    return true;
  }

  /// Reads a factor, which is kept to three decimals.
  bool readFactor(StringRef kind) {
    double times = 0;
    if (!reader.real(times))
      return false;
    // A thousandth is the finest that is kept, a million times the roofline is no measurement.
    if (!(times >= 1e-3 && times <= 1e6))
      return reader.fail("expected a number of times the roofline, 0.001 to 1000000");
    model.permilleOfKernels[kind] = std::llround(times * 1000);
    return true;
  }

  JsonReader reader;
  DeviceModel model;
  int64_t pcieGeneration = 0; // 0: no slot
};
} // namespace

Expected<DeviceModel> llmmem::parseDeviceModel(StringRef text, StringRef where) {
  Expected<DeviceModel> model = TableReader(text).run();
  if (!model)
    return createStringError(where + ": " + toString(model.takeError()));
  if (model->name.empty())
    model->name = where.str();
  return model;
}

/// Loads the table of `cluster.json#1`: the second kind of device of a topology.
static Expected<DeviceModel> loadKind(StringRef file, StringRef number) {
  Expected<Topology> topology = loadTopology(file);
  if (!topology)
    return topology.takeError();
  size_t kind = 0;
  if (number.getAsInteger(10, kind) || kind >= topology->kinds.size())
    return createStringError(file + ": expected # and the number of a kind of device, 0 to " +
                             Twine(topology->kinds.size() - 1) + ", got '" + number + "'");
  return topology->kinds[kind].table;
}

Expected<DeviceModel> llmmem::loadDeviceModel(StringRef nameOrFile) {
  if (auto [file, kind] = nameOrFile.rsplit('#'); file != nameOrFile)
    return loadKind(file, kind);
  if (nameOrFile.ends_with(".json")) {
    Expected<std::unique_ptr<MemoryBuffer>> buffer = readTextFile(nameOrFile);
    if (!buffer)
      return buffer.takeError();
    StringRef text = (*buffer)->getBuffer();
    if (!isTopology(text))
      return parseDeviceModel(text, nameOrFile);
    Expected<Topology> topology = parseTopology(text, nameOrFile);
    if (!topology)
      return topology.takeError();
    return topology->slowest().table;
  }
  Expected<NamedCards> cards = readCardName(nameOrFile);
  if (!cards)
    return cards.takeError();
  if (cards->count > 1)
    return createStringError("'" + nameOrFile + "' are " + Twine(cards->count) +
                             " devices, and this is the table of one: " + cards->table.name +
                             "; --topology=" + nameOrFile + " takes several");
  return std::move(cards->table);
}
