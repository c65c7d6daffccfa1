//===- ReportKernelTraffic.cpp - Bytes moved against the least possible ----===//

#include "LaunchShapes.h"
#include "llmmem/Codegen/Emitter/Expectations.h"
#include "llmmem/Codegen/Gpu/HostCopyCalls.h"
#include "llmmem/Conversion/Passes.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/KernelAnalysis/KernelTraffic.h"
#include "llmmem/Support/TextFile.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace llmmem {
#define GEN_PASS_DEF_REPORTKERNELTRAFFIC
#include "llmmem/Conversion/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

namespace {
struct Traffic {
  std::string name;
  int64_t launches = 0, asked = 0, moved = 0, least = 0;
  bool isEstimate = false;

  double ratio() const { return least ? static_cast<double>(moved) / least : 1.0; }
};

/// Describes the launches of one kernel by one host function.
struct LaunchTraffic : Traffic {
  bool multiplies = false;
};

/// Describes the launches of one host function together.
struct HostTraffic : Traffic {
  int64_t calls = 0;
  std::vector<LaunchTraffic> parts;
};

struct ReportKernelTraffic : public llmmem::impl::ReportKernelTrafficBase<ReportKernelTraffic> {
  using ReportKernelTrafficBase::ReportKernelTrafficBase;

  void runOnOperation() override {
    if (failed(checkSizes(getOperation())))
      return signalPassFailure();
    llvm::StringMap<int64_t> calls;
    llvm::StringSet<> haveWorkspace;
    getOperation().walk([&](func::CallOp call) {
      if (isHostUpdate(call))
        return;
      ++calls[call.getCallee()];
      if (call->hasAttr(llm::LlmDialect::kWorkspace))
        haveWorkspace.insert(call.getCallee());
    });
    std::vector<HostTraffic> rows;
    for (auto host : getOperation().getOps<func::FuncOp>()) {
      if (host.isExternal() || !calls.contains(host.getName()))
        continue;
      FailureOr<HostTraffic> row = measure(host, haveWorkspace.contains(host.getName()));
      if (failed(row))
        return signalPassFailure();
      row->calls = calls[host.getName()];
      rows.push_back(*row);
    }
    print(rows);
    if (json.empty())
      return;
    if (llvm::Error error = writeJson(rows)) {
      getOperation().emitError(llvm::toString(std::move(error)));
      signalPassFailure();
    }
  }

  /// Returns the number of the last buffer, which is the workspace where there is one.
  static int64_t numberOfWorkspace(func::FuncOp host) {
    int64_t number = -1;
    for (auto [own, type] : llvm::enumerate(host.getArgumentTypes()))
      if (isa<MemRefType>(type))
        number = static_cast<int64_t>(own);
    return number;
  }

  static FailureOr<HostTraffic> measure(func::FuncOp host, bool hasWorkspace) {
    HostTraffic row;
    row.name = host.getName().str();
    SmallVector<int64_t> read(host.getNumArguments()), written(host.getNumArguments());
    WalkResult walked = host.walk([&](gpu::LaunchFuncOp launch) {
      FailureOr<LaunchShape> shape = shapeOf(launch);
      if (failed(shape))
        return WalkResult::interrupt();
      KernelTraffic traffic = measureTraffic(shape->kernel, shape->grid, shape->block);
      int64_t times = shape->times;
      row.launches += times;
      row.isEstimate |= traffic.isEstimate;
      row.parts.push_back(partOf(launch, traffic, times));
      for (auto [number, operand] : llvm::enumerate(launch.getKernelOperands()))
        if (std::optional<unsigned> argument = argumentOf(operand)) {
          row.asked += times * (traffic.asked.read[number] + traffic.asked.written[number]);
          read[*argument] += times * traffic.moved.read[number];
          written[*argument] += times * traffic.moved.written[number];
        }
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();
    const int64_t workspace = hasWorkspace ? numberOfWorkspace(host) : -1;
    for (auto [number, type] : llvm::enumerate(host.getArgumentTypes())) {
      auto buffer = dyn_cast<MemRefType>(type);
      if (!buffer)
        continue;
      int64_t bytes = bytesOfBuffer(buffer);
      int64_t needed = std::llround(static_cast<double>(bytes) * expectedShare(host, number));
      row.moved += read[number] + written[number];
      // Each byte counts once: for a table of which few rows are read, at most what is read. Only
      // the kernel itself needs a workspace.
      if (static_cast<int64_t>(number) != workspace)
        row.least += std::min(read[number], needed) + std::min(written[number], bytes);
    }
    return row;
  }

  /// Describes one launch: each byte that it accesses, once.
  static LaunchTraffic partOf(gpu::LaunchFuncOp launch, const KernelTraffic &traffic,
                              int64_t times) {
    LaunchTraffic part;
    part.name = launch.getKernelName().str();
    part.launches = times;
    part.isEstimate = traffic.isEstimate;
    for (auto [number, operand] : llvm::enumerate(launch.getKernelOperands())) {
      auto buffer = dyn_cast<MemRefType>(operand.getType());
      if (!buffer)
        continue;
      int64_t bytes = bytesOfBuffer(buffer);
      part.asked += times * (traffic.asked.read[number] + traffic.asked.written[number]);
      for (int64_t moved : {traffic.moved.read[number], traffic.moved.written[number]}) {
        part.moved += times * moved;
        part.least += times * std::min(moved, bytes);
      }
    }
    auto kernel = SymbolTable::lookupNearestSymbolFrom<gpu::GPUFuncOp>(launch, launch.getKernel());
    part.multiplies = kernel
                          .walk([](Operation *op) {
                            bool isProduct = isa<NVVM::MmaOp, NVVM::WgmmaMmaAsyncOp>(op);
                            return isProduct ? WalkResult::interrupt() : WalkResult::advance();
                          })
                          .wasInterrupted();
    return part;
  }

  /// Returns the argument of the host function that a buffer aliases.
  static std::optional<unsigned> argumentOf(Value buffer) {
    auto argument = dyn_cast<BlockArgument>(memref::skipViewLikeOps(cast<MemrefValue>(buffer)));
    if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
      return std::nullopt;
    return argument.getArgNumber();
  }

  static void printRow(const Traffic &row, StringRef name, StringRef calls) {
    llvm::errs() << llvm::formatv("{0,-44} {1,6} {2,8} {3,16} {4,16} {5,16} {6,7:F3}{7}\n", name,
                                  calls, row.launches, row.asked, row.moved, row.least, row.ratio(),
                                  row.isEstimate ? " (data decides)" : "");
  }

  static void print(ArrayRef<HostTraffic> rows) {
    llvm::errs() << llvm::formatv("{0,-44} {1,6} {2,8} {3,16} {4,16} {5,16} {6,7}\n", "kernel",
                                  "calls", "launches", "bytes asked", "bytes moved", "least",
                                  "ratio");
    int64_t moved = 0, least = 0;
    for (const HostTraffic &row : rows) {
      printRow(row, row.name, std::to_string(row.calls));
      if (row.parts.size() > 1)
        for (const LaunchTraffic &part : row.parts)
          printRow(part, "  " + part.name, "");
      moved += row.calls * row.moved;
      least += row.calls * row.least;
    }
    llvm::errs() << llvm::formatv("all calls of {0} kernels: {1} bytes moved, least {2}\n",
                                  rows.size(), moved, least);
  }

  static llvm::json::Object figuresOf(const Traffic &row) {
    return llvm::json::Object{{"kernel", row.name},        {"launches", row.launches},
                              {"asked", row.asked},        {"moved", row.moved},
                              {"least", row.least},        {"ratio", row.ratio()},
                              {"estimate", row.isEstimate}};
  }

  llvm::Error writeJson(ArrayRef<HostTraffic> rows) {
    llvm::json::Array kernels;
    for (const HostTraffic &row : rows) {
      llvm::json::Array parts;
      for (const LaunchTraffic &part : row.parts) {
        llvm::json::Object figures = figuresOf(part);
        figures["multiplies"] = part.multiplies;
        parts.push_back(std::move(figures));
      }
      llvm::json::Object figures = figuresOf(row);
      figures["calls"] = row.calls;
      figures["parts"] = std::move(parts);
      kernels.push_back(std::move(figures));
    }
    llvm::json::Object report{
        {"format", "llmmem-kernel-traffic"}, {"version", 1}, {"kernels", std::move(kernels)}};
    return writeTextFile(json,
                         llvm::formatv("{0:2}\n", llvm::json::Value(std::move(report))).str());
  }
};
} // namespace
