//===- DeviceModel.h - From FLOPs and bytes to modelled time ---------------===//
//
// time = max(FLOPs / rate, bytes / bandwidth) + launch, in whole ns, rounded up (the roofline of
// Williams et al. 2009, plus what a launch costs). Rates are FLOPs per ns by element width,
// bandwidth is bytes per ns.
//
// clang-format off
// Tables are JSON, so that a measured one can take the place of a shipped one:
//   {"name": "h100", "source": "datasheet",
//    "flops_per_ns": {"bf16": 989000, "f32": 67000, "f64": 34000}, "bytes_per_ns": 3350, "launch_ns": 2000}
//
// These may be left out:
//   "i4": 300, "i8": 350, "f8": 340, in "flops_per_ns"
//     products of weights and caches held in these types, which kernels unpack and multiply as f32s
//     (docs/Design/FewerBits.md); without, the rate of f32
//   "library_workspace_bytes": 33554432
//     what the device's library of matmuls may have as scratch (`reserve-library-workspace`)
//   "epilogues": "separate"
//     matmuls are not to take what follows them unless a user asks for it: a library writes the whole
//     matmul before the epilogue reads it, so that one kernel saves none of the traffic that its
//     price leaves out
//   "measured": {"gelu(8x1024x3072xbf16) -> 8x1024x3072xbf16": 41216}
//     what a kernel takes in ns, launches included, by its key (Interfaces/KernelKind.h)
//   "kernels": {"attention": 3.25, "silu+mul": 1.1}
//     how many times that roofline a kind of kernel takes, launch left out; a group of ops is named by
//     what it is made of. `measured` holds before it.
//   "library linear": 1.4, as a kind or a key
//     of matmuls that the device's library multiplies, where they take another time than by generated kernels
//   "basis": "measured"
//     the rates were measured; without, they are those of a datasheet, and a step takes at least as long
//   "memory_bytes": 80000000000, "reserve_bytes": 1000000000
//     the memory of the device, and the part that a program's context and libraries take before any step runs
//   "links": [{"name": "nvlink", "to": "device", "up_bytes_per_ns": 450, "down_bytes_per_ns": 450,
//              "latency_ns": 2000, "source": "datasheet"}]
//     ways out of the device, to other devices or to the host's memory: bandwidth away from the device
//     (up) and back to it (down), and what each transfer takes in addition to its bytes
//   "pcie": 4
//     the generation of a slot of 16 lanes: a link to the host, and one to other devices where there is no better
//   "host": {"bytes_per_ns": 38, "source": "half of 16 channels of DDR5-4800 for 8 devices"}
//     what one device's share of the host's memory moves, which prices updates that run there: they do less than a
//     FLOP for each byte, so the memory holds up every host
//   "devices_per_node": 8, and a link "to": "node"
//     devices beyond a node are reached over that link, whose bandwidth is of a whole node and shared
//     by its devices. Without, all devices are in one node
//   "collectives": [{"op": "all_reduce", "ranks": 4, "bytes": 1048576, "ns": 410000}]
//     what collectives take in ns, launches included, by the ranks of a group and the bytes of the whole value
//   "gpu": {"multiprocessors": 132, "block_shared_bytes": 232448}
//     what divides a GPU's kernels into blocks of threads (GpuGeometry.h)
// clang-format on
//
// benchmarks/calibrate measures and writes such a table; its `source` says on what and when.
// A matmul with an epilogue that was not timed (`linear+gelu`) takes as much longer than the matmul
// as its roofline says.
//
// A collective takes messages * latency + bytes / bandwidth + launch over the first link to other
// devices, both directions at once, so by the slower one (the alpha-beta model); or the roofline of
// its own sums and copies where that is more. Where the op was measured over that many ranks, it
// takes what the table has: between two sizes by the line through both, below the least as that,
// above the largest in proportion. A group that crosses nodes takes the formula, over the link to
// other nodes (GroupPlace). How many messages and bytes each op has, the op says
// (CostOpInterface::getTransfer): with n ranks and S bytes of the whole value, an all_reduce 2(n-1)
// messages and 2(n-1)/n S bytes, a gather or a scatter half of that.
//
// Examples: 2 * 8192 * 4096 * 4096 FLOPs in bf16 on h100: 277,936 ns + 2,000 ns. An all_reduce of
// 64 MiB over 8 of them: 14 * 2,000 ns + 117,440,512 bytes / 450 = 288,979 ns, + 2,000 ns.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DEVICE_DEVICEMODEL_H
#define LLMMEM_DEVICE_DEVICEMODEL_H

#include "llmmem/Device/GpuGeometry.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace llmmem {

/// Describes a way out of the device. Bandwidths are of one direction alone.
struct DeviceLink {
  enum class To { Device, Node, Host } to = To::Device;
  std::string name;
  std::string source;         // where the numbers come from
  int64_t upBytesPerNs = 0;   // away from the device
  int64_t downBytesPerNs = 0; // to the device
  int64_t latencyNs = 0;      // of each transfer
};

/// Says where the ranks of a group are. A ring that passes several devices of a node leaves it
/// once, so of the node's links, which all its devices use at once, each of them lends it a share.
///
/// Example: nodes of 8 with 400 bytes/ns between them. All-reduces over 2 ranks in each of 4 nodes
/// overlap those of the other 6 devices of a node, and have 2 / 8 of 400 bytes/ns.
struct GroupPlace {
  bool crossesNodes = false;
  int64_t perNode = 1; // ranks of the group in one node
};

struct MeasuredTime {
  int64_t ns = 0;
  bool isExact = false; // not interpolated
};

/// Lists the formats that a kernel multiplies; each has a rate of its own. F16 has that of BF16,
/// because tensor cores multiply both equally fast. Kernels unpack the formats I4, I8 and F8.
enum class NumberFormat { F32, BF16, F64, I4, I8, F8 };

/// Is a table of prices. It has many fields because each is a key of the table, whose order and
/// depth readers of the JSON know.
struct DeviceModel {
  std::string name;
  std::string source;         // where the numbers come from
  int64_t flopsPerNsBF16 = 1; // and f16, which tensor cores multiply as fast
  int64_t flopsPerNsF32 = 1;
  int64_t flopsPerNsF64 = 1;
  llvm::StringMap<int64_t> flopsPerNsUnpacked; // of numbers held as "i4", "i8" or "f8"
  int64_t bytesPerNs = 1;
  int64_t launchNs = 0;
  llvm::StringMap<int64_t> measuredNs; // of kernels by their keys
  bool fusesEpilogues = true;
  bool hasMeasuredRates = false;
  int64_t memoryBytes = 0;                    // of the device; 0: not known
  int64_t reserveBytes = 0;                   // of them, not for a step
  int64_t libraryWorkspace = 0;               // bytes
  llvm::StringMap<int64_t> permilleOfKernels; // of the roofline, where a kind's kernels were timed
  std::vector<DeviceLink> links;
  int64_t hostBytesPerNs = 0; // of what runs on the host; 0: not known
  std::string hostSource;
  int64_t devicesPerNode = 0; // 0: all devices are in one node
  std::optional<GpuGeometry> gpu;
  /// Holds the measured ns of collectives: by op and ranks, then by bytes of the whole value.
  std::map<std::pair<std::string, int64_t>, std::map<int64_t, int64_t>> collectivesNs;

  /// Returns the rate of products of such numbers.
  int64_t flopsPerNs(NumberFormat numbers) const;
  /// Returns the modelled ns of `flops` on such numbers that move `bytes`, by a kernel of a kind;
  /// saturates at the largest int64.
  int64_t time(int64_t flops, int64_t bytes, NumberFormat numbers,
               llvm::StringRef kernel = "") const;
  /// Returns the modelled ns of an update on the host that moves `bytes`; none where the table does
  /// not say what the host moves.
  std::optional<int64_t> hostTime(int64_t bytes) const;
  /// Returns the modelled ns of `bytes` in `messages` one after another to other devices, with a
  /// launch; none where the table has no link to other devices. Saturates.
  std::optional<int64_t> transferTime(int64_t messages, int64_t bytes, GroupPlace place = {}) const;
  /// Returns the way to other devices of the same node, or of others; null where there is none.
  const DeviceLink *linkTo(DeviceLink::To to) const;
  /// Returns the ns of a collective by the measured ones of the same op and ranks; none where there
  /// are none.
  std::optional<MeasuredTime> measuredTransferTime(llvm::StringRef op, int64_t ranks,
                                                   int64_t bytes) const;
  /// Returns whether times are what the device takes, and not the least that its datasheet allows.
  bool isMeasured() const {
    return hasMeasuredRates || !measuredNs.empty() || !permilleOfKernels.empty();
  }
  /// Returns the form that is read.
  llvm::json::Value toJson() const;
};

/// Loads a shipped table by its name (lib/Device/Tables), or a file that ends in `.json`. The error
/// lists the shipped tables, or gives line, column and what was expected there.
llvm::Expected<DeviceModel> loadDeviceModel(llvm::StringRef nameOrFile);

/// Lists the tables of lib/Device/Tables.
llvm::ArrayRef<DeviceModel> shippedDevices();

/// Reads a table's text; `where` comes before the error, and is the name of a table without one.
llvm::Expected<DeviceModel> parseDeviceModel(llvm::StringRef text, llvm::StringRef where);

} // namespace llmmem

#endif // LLMMEM_DEVICE_DEVICEMODEL_H
