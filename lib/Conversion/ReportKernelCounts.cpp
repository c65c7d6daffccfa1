//===- ReportKernelCounts.cpp - What makes GPU kernels slow ----------------===//

#include "LaunchShapes.h"
#include "llmmem/Conversion/Passes.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/KernelAnalysis/KernelCounts.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace llmmem {
#define GEN_PASS_DEF_REPORTKERNELCOUNTS
#include "llmmem/Conversion/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

/// Returns the bytes of all workgroup attributions.
static int64_t sharedBytesOf(gpu::GPUFuncOp kernel) {
  int64_t bytes = 0;
  for (BlockArgument attribution : kernel.getWorkgroupAttributions()) {
    auto type = cast<MemRefType>(attribution.getType());
    bytes += type.getNumElements() * bytesOfNumber(type.getElementType());
  }
  return bytes;
}

/// Returns the bytes of all buffers that the kernel receives.
static int64_t bufferBytesOf(gpu::GPUFuncOp kernel) {
  int64_t bytes = 0;
  for (Type type : kernel.getArgumentTypes())
    if (auto buffer = dyn_cast<MemRefType>(type))
      bytes += buffer.getNumElements() * bytesOfNumber(buffer.getElementType());
  return bytes;
}

namespace {
/// Describes one launch of a host function.
struct LaunchRow {
  std::string host, kernel;
  int64_t calls, sharedBytes, bufferBytes;
  LaunchShape shape;
  KernelCounts counts;
};

struct ReportKernelCounts : public llmmem::impl::ReportKernelCountsBase<ReportKernelCounts> {
  using ReportKernelCountsBase::ReportKernelCountsBase;

  void runOnOperation() override {
    if (failed(checkSizes(getOperation())))
      return signalPassFailure();
    llvm::StringMap<int64_t> calls;
    getOperation().walk([&](func::CallOp call) { ++calls[call.getCallee()]; });
    std::vector<LaunchRow> rows;
    for (auto host : getOperation().getOps<func::FuncOp>())
      if (!host.isExternal() && calls.contains(host.getName()) &&
          failed(countLaunches(host, calls[host.getName()], rows)))
        return signalPassFailure();
    print(rows);
    if (failed(refuseConflicts(rows)))
      return signalPassFailure();
    if (json.empty())
      return;
    if (llvm::Error error = writeJson(rows)) {
      getOperation().emitError(llvm::toString(std::move(error)));
      signalPassFailure();
    }
  }

  static LogicalResult countLaunches(func::FuncOp host, int64_t calls,
                                     std::vector<LaunchRow> &rows) {
    WalkResult walked = host.walk([&](gpu::LaunchFuncOp launch) {
      FailureOr<LaunchShape> shape = shapeOf(launch);
      if (failed(shape))
        return WalkResult::interrupt();
      rows.push_back({host.getName().str(), shape->kernel.getName().str(), calls,
                      sharedBytesOf(shape->kernel) + shape->dynamicBytes,
                      bufferBytesOf(shape->kernel), *shape,
                      countKernel(shape->kernel, shape->grid, shape->block)});
      return WalkResult::advance();
    });
    return failure(walked.wasInterrupted());
  }

  /// Names the worst op of each kernel that has one.
  LogicalResult refuseConflicts(ArrayRef<LaunchRow> rows) {
    LogicalResult result = success();
    for (const LaunchRow &row : rows) {
      auto worst =
          llvm::max_element(row.counts.accesses, [](const AccessCounts &a, const AccessCounts &b) {
            return a.degree < b.degree;
          });
      if (worst != row.counts.accesses.end() && worst->degree > mostConflicts)
        result = worst->op->emitOpError("needs ")
                 << worst->degree << " passes of shared memory for lanes that could go together, "
                 << "in kernel '" << row.kernel << "'; expected at most "
                 << mostConflicts.getValue() << ": other places, a swizzle or padding";
    }
    return result;
  }

  static void print(ArrayRef<LaunchRow> rows) {
    constexpr const char *form =
        "{0,-44} {1,8} {2,8} {3,10} {4,9} {5,12} {6,12} {7,12} {8,8} {9,12} {10,12}{11}\n";
    llvm::errs() << llvm::formatv(form, "kernel", "launches", "blocks", "mma", "barriers",
                                  "instructions", "passes", "fewest", "conflict", "sectors",
                                  "fewest", "");
    auto whole = [](double number) { return std::llround(number); };
    for (const LaunchRow &row : rows) {
      const KernelCounts &counts = row.counts;
      llvm::errs() << llvm::formatv(
          form, row.kernel, row.shape.times, row.shape.blocks(), whole(counts.mmas + counts.wgmmas),
          whole(counts.barriers), whole(counts.instructions), whole(counts.sharedUnits()),
          whole(counts.fewestSharedUnits()), counts.degree(), whole(counts.sectors()),
          whole(counts.fewestSectors()), counts.isEstimate ? " (data decides)" : "");
    }
  }

  static llvm::json::Object figuresOf(const AccessCounts &access) {
    std::string location;
    llvm::raw_string_ostream(location) << access.op->getLoc();
    return llvm::json::Object{{"op", access.op->getName().getStringRef()},
                              {"location", location},
                              {"memory", access.isShared ? "shared" : "global"},
                              {"write", access.isWrite},
                              {"requests", access.requests},
                              {access.isShared ? "passes" : "sectors", access.units},
                              {"fewest", access.fewest},
                              {"conflict", access.degree}};
  }

  static llvm::json::Object figuresOf(const LaunchRow &row) {
    const KernelCounts &counts = row.counts;
    llvm::json::Array sites;
    for (const AccessCounts &access : counts.accesses)
      sites.push_back(figuresOf(access));
    return llvm::json::Object{{"host", row.host},
                              {"kernel", row.kernel},
                              {"calls", row.calls},
                              {"launches", row.shape.times},
                              {"blocks", row.shape.blocks()},
                              {"threads", row.shape.threads()},
                              {"shared_bytes", row.sharedBytes},
                              {"buffer_bytes", row.bufferBytes},
                              {"mma", counts.mmas},
                              {"wgmma", counts.wgmmas},
                              {"needed_wgmma", counts.neededWgmmas.value_or(counts.wgmmas)},
                              {"cluster", counts.clusterBlocks},
                              {"peer_bytes", counts.peerBytes},
                              {"multicast_sectors", counts.multicastSectors},
                              {"most_sectors", counts.mostSectors},
                              {"barriers", counts.barriers},
                              {"instructions", counts.instructions},
                              {"beside_wgmma", counts.inLoopsOfWgmma},
                              {"busiest", counts.busiest},
                              {"behind_wgmma", counts.dependentOnWgmma},
                              {"special", counts.specials},
                              {"special_behind_wgmma", counts.specialsDependentOnWgmma},
                              {"passes", counts.sharedUnits()},
                              {"fewest_passes", counts.fewestSharedUnits()},
                              {"conflict", counts.degree()},
                              {"sectors", counts.sectors()},
                              {"fewest_sectors", counts.fewestSectors()},
                              {"estimate", counts.isEstimate},
                              {"sites", std::move(sites)}};
  }

  llvm::Error writeJson(ArrayRef<LaunchRow> rows) {
    llvm::json::Array launches;
    for (const LaunchRow &row : rows)
      launches.push_back(figuresOf(row));
    llvm::json::Object report{
        {"format", "llmmem-kernel-counts"}, {"version", 1}, {"launches", std::move(launches)}};
    return writeTextFile(json,
                         llvm::formatv("{0:2}\n", llvm::json::Value(std::move(report))).str());
  }
};
} // namespace
