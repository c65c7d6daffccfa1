//===- Topology.cpp - The devices of a cluster, and what joins them --------===//

#include "llmmem/Device/Topology.h"
#include "llmmem/Device/CardName.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/JsonReader.h"
#include "llmmem/Support/JsonTree.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llmmem;

int64_t Topology::numDevices() const {
  int64_t devices = 0;
  for (const DeviceKind &kind : kinds)
    devices += kind.count;
  return devices;
}

int64_t Topology::leastMemory() const {
  int64_t least = INT64_MAX;
  for (const DeviceKind &kind : kinds)
    least = std::min(least, kind.memory);
  return least;
}

const DeviceKind &Topology::slowest() const {
  return *llvm::min_element(kinds, [](const DeviceKind &a, const DeviceKind &b) {
    return a.table.flopsPerNsBF16 < b.table.flopsPerNsBF16;
  });
}

namespace {
constexpr int64_t mostDevices = 1 << 20;

class TopologyReader {
public:
  explicit TopologyReader(StringRef json) : reader(json) {}

  Expected<Topology> run() {
    read();
    if (Error error = reader.finish())
      return std::move(error);
    return std::move(topology);
  }

private:
  bool read() {
    bool hasLinks = reader.members(
        {{"name", topology.name},
         {"devices", [&] { return reader.array([&] { return readKind(); }); }},
         {"devices_per_node", topology.devicesPerNode, 1},
         {"within_node", [&] { return readLink(within.emplace(), DeviceLink::To::Device); }},
         {"between_nodes", [&] { return readLink(between.emplace(), DeviceLink::To::Node); }}});
    return hasLinks && check() && addLinks();
  }

  bool readKind() {
    DeviceKind kind;
    std::string table, memory, reserve;
    bool read = reader.members(
        {{"table", [&] { return reader.string(table) && readTable(table, kind); }},
         {"memory", [&] { return reader.string(memory) && readMemory(memory, kind.memory); }},
         {"reserve", [&] { return reader.string(reserve) && readMemory(reserve, kind.reserve); }},
         {"count", kind.count, 1}});
    if (!read)
      return false;
    if (table.empty() || memory.empty() || !kind.count)
      return reader.fail("devices must have 'table', 'memory' and 'count', as in {\"table\": "
                         "\"h100\", \"memory\": \"80GB\", \"count\": 8}");
    if (kind.count > mostDevices - topology.numDevices())
      return reader.fail("expected at most " + Twine(mostDevices) + " devices in all");
    if (kind.reserve >= kind.memory)
      return reader.fail("'reserve' is part of 'memory', which is " + formatByteSize(kind.memory) +
                         "; give a smaller one");
    kind.memory -= kind.reserve;
    topology.kinds.push_back(std::move(kind));
    return true;
  }

  /// A topology in the place of a table could name itself.
  static bool namesTopology(StringRef name) {
    StringRef file = name.split('#').first;
    Expected<std::unique_ptr<MemoryBuffer>> text =
        file.ends_with(".json") ? readTextFile(file) : createStringError("no file");
    if (text)
      return isTopology((*text)->getBuffer());
    consumeError(text.takeError()); // who loads the table says it
    return false;
  }

  bool readTable(StringRef name, DeviceKind &kind) {
    if (namesTopology(name))
      return reader.fail("'" + name + "' is a topology; give the table of one device");
    Expected<DeviceModel> table = loadDeviceModel(name);
    if (!table)
      return reader.fail(toString(table.takeError()));
    kind.table = std::move(*table);
    return kind.table.devicesPerNode == 0 ||
           reader.fail("'" + name + "' has nodes of its own; give the table of one device");
  }

  bool readMemory(StringRef text, int64_t &memory) {
    Expected<int64_t> bytes = parseByteSize(text);
    if (!bytes)
      return reader.fail(toString(bytes.takeError()));
    memory = *bytes;
    return true;
  }

  bool readLink(DeviceLink &link, DeviceLink::To to) {
    link.to = to;
    link.name = to == DeviceLink::To::Node ? "between nodes" : "within a node";
    link.source = "topology";
    if (!reader.members({{required("bytes_per_ns"), link.upBytesPerNs, 1},
                         {required("latency_ns"), link.latencyNs}},
                        "a link"))
      return false;
    link.downBytesPerNs = link.upBytesPerNs;
    return true;
  }

  bool check() {
    if (topology.kinds.empty())
      return reader.fail("a topology must have 'devices', as in \"devices\": [{\"table\": "
                         "\"h100\", \"memory\": \"80GB\", \"count\": 8}]");
    int64_t devices = topology.numDevices();
    if (topology.devicesPerNode == 0 || topology.devicesPerNode >= devices)
      topology.devicesPerNode = devices;
    if (topology.devicesPerNode == devices)
      return true;
    for (const DeviceKind &kind : topology.kinds)
      if (kind.count % topology.devicesPerNode != 0)
        return reader.fail("a node has devices of one kind: " + Twine(kind.count) +
                           " devices of '" + kind.table.name + "' are no whole nodes of " +
                           Twine(topology.devicesPerNode));
    return between || reader.fail("a topology of several nodes must have 'between_nodes', as in "
                                  "\"between_nodes\": {\"bytes_per_ns\": 400, \"latency_ns\": "
                                  "5000}");
  }

  bool addLinks() {
    for (DeviceKind &kind : topology.kinds) {
      auto isWithin = [](const DeviceLink &link) { return link.to == DeviceLink::To::Device; };
      if (within) {
        llvm::erase_if(kind.table.links, isWithin);
        kind.table.links.insert(kind.table.links.begin(), *within);
      }
      if (topology.numDevices() > 1 && llvm::none_of(kind.table.links, isWithin))
        return reader.fail("the table of '" + kind.table.name +
                           "' has no link to other devices; give the topology 'within_node'");
      if (between && topology.devicesPerNode < topology.numDevices()) {
        kind.table.links.push_back(*between);
        kind.table.devicesPerNode = topology.devicesPerNode;
      }
    }
    return true;
  }

  JsonReader reader;
  Topology topology;
  std::optional<DeviceLink> within, between;
};
} // namespace

SharedDevices Topology::devicesOf(int64_t first, int64_t count) const {
  SharedDevices shared{0, INT64_MAX};
  int64_t begin = 0, slowest = INT64_MAX;
  for (auto [number, kind] : llvm::enumerate(kinds)) {
    const int64_t end = begin + kind.count;
    if (begin < first + count && first < end) {
      shared.memory = std::min(shared.memory, kind.memory);
      if (kind.table.flopsPerNsBF16 < slowest) {
        slowest = kind.table.flopsPerNsBF16;
        shared.kind = number;
      }
    }
    begin = end;
  }
  return shared;
}

bool llmmem::isTopology(StringRef text) {
  Expected<json::Value> tree = parseJsonTree(text);
  if (!tree) {
    consumeError(tree.takeError());
    return false;
  }
  const json::Object *object = tree->getAsObject();
  return object && object->get("devices");
}

Expected<Topology> llmmem::parseTopology(StringRef text, StringRef where) {
  Expected<Topology> topology = TopologyReader(text).run();
  if (!topology)
    return createStringError(where + ": " + toString(topology.takeError()));
  if (topology->name.empty())
    topology->name = where.str();
  return topology;
}

/// Returns the topology of `8xh100`: cards of one node, each with its memory less the reserve.
static Expected<Topology> topologyOfCards(StringRef name) {
  constexpr int64_t kMostOfNode = 8;
  Expected<NamedCards> cards = readCardName(name);
  if (!cards)
    return cards.takeError();
  const DeviceModel &table = cards->table;
  if (cards->count > kMostOfNode)
    return createStringError(
        "'" + name + "' are several nodes of " + Twine(kMostOfNode) +
        "; give a topology's file, whose 'between_nodes' says what joins them, to llmmem-opt "
        "--mesh=auto --topology=FILE");
  if (table.memoryBytes == 0)
    return createStringError("the table of '" + table.name +
                             "' has no 'memory_bytes'; give a topology's file with the memory");
  const std::string reserve =
      table.reserveBytes > 0 ? formatv(R"("reserve": "{0}", )", table.reserveBytes).str() : "";
  const std::string text =
      formatv(R"({{"devices": [{{"table": "{0}", "memory": "{1}", {2}"count": {3}}]})", table.name,
              table.memoryBytes, reserve, cards->count);
  return parseTopology(text, name);
}

Expected<Topology> llmmem::loadTopology(StringRef file) {
  if (splitCount(file).first > 1 && !file.ends_with(".json"))
    return topologyOfCards(file);
  Expected<std::unique_ptr<MemoryBuffer>> buffer = readTextFile(file);
  if (!buffer)
    return buffer.takeError();
  return parseTopology((*buffer)->getBuffer(), file);
}
