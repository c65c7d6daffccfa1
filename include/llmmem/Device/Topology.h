//===- Topology.h - The devices of a cluster, and what joins them ----------===//
//
// A topology is what `--mesh=auto` chooses for. Example, two nodes of eight:
//
// clang-format off
//   {"name": "two nodes",
//    "devices": [{"table": "h100", "memory": "80GB", "count": 16}],
//    "devices_per_node": 8,
//    "between_nodes": {"bytes_per_ns": 400, "latency_ns": 5000}}
// clang-format on
//
//   devices            kinds of devices in the order of ranks: a device table (a shipped one or a
//                      file, `--checkpoint-device`), the memory of one, and how many there are. A
//                      node has devices of one kind. "reserve": "2GB" leaves that much of the
//                      memory for what no plan counts (HeldOutside.h); without it, nothing
//   devices_per_node   may be left out: all devices are in one node
//   within_node        {"bytes_per_ns", "latency_ns"} of a device's link to others in its node, one
//                      direction; may be left out: as the tables say
//   between_nodes      the same of a node's links to other nodes, which its devices share; needed
//                      where there are several nodes
//
// A topology may stand where a device table does (`--checkpoint-device=cluster.json`): it is the
// table of its slowest devices, with the links above; `cluster.json#1` is that of its second kind.
// Cards of one node need no file: `8xh100` (CardName.h) is a topology, too. Each card has the
// memory of its table less the reserve. What a group pays then depends on where its ranks are
// (GroupPlace in DeviceModel.h).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DEVICE_TOPOLOGY_H
#define LLMMEM_DEVICE_TOPOLOGY_H

#include "llmmem/Device/DeviceModel.h"

namespace llmmem {

struct DeviceKind {
  DeviceModel table;  // with the links of the topology
  int64_t memory = 0; // for plans: what the topology says less the reserve
  int64_t reserve = 0;
  int64_t count = 0;
};

/// Says what ranks have together that run one program: the pace of the slowest of their devices and
/// the memory of the least.
struct SharedDevices {
  size_t kind = 0; // of the slowest
  int64_t memory = 0;
};

struct Topology {
  std::string name;
  std::vector<DeviceKind> kinds; // in the order of ranks
  int64_t devicesPerNode = 0;

  int64_t numDevices() const;
  /// Returns the memory of the device that has the least.
  int64_t leastMemory() const;
  /// Returns the kind with the least FLOPs per ns in bf16; the first of equal ones.
  const DeviceKind &slowest() const;
  /// Returns what ranks `first` to `first + count - 1` share.
  SharedDevices devicesOf(int64_t first, int64_t count) const;
};

/// Returns whether `text` is JSON that has devices, as a topology does and a device table does not.
bool isTopology(llvm::StringRef text);

/// Reads a topology's text; `where` comes before the error, which says line, column, what was
/// expected there, and what is missing.
llvm::Expected<Topology> parseTopology(llvm::StringRef text, llvm::StringRef where);
/// Loads a file, or makes the topology of several cards of one node, as `8xh100`.
llvm::Expected<Topology> loadTopology(llvm::StringRef fileOrCards);

} // namespace llmmem

#endif // LLMMEM_DEVICE_TOPOLOGY_H
