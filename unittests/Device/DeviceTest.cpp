//===- DeviceTest.cpp - Shipped tables, modelled times, geometry of GPUs ---===//

#include "llmmem/Device/DeviceModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace llmmem;

static std::string textOf(const DeviceModel &device) {
  return llvm::formatv("{0:2}", device.toJson()).str();
}

static DeviceModel shipped(llvm::StringRef name) {
  llvm::Expected<DeviceModel> device = loadDeviceModel(name);
  if (!device) {
    ADD_FAILURE() << llvm::toString(device.takeError());
    return {};
  }
  return *device;
}

static std::string errorOf(llvm::StringRef table) {
  llvm::Expected<DeviceModel> device = parseDeviceModel(table, "table.json");
  return device ? "" : llvm::toString(device.takeError());
}

TEST(DeviceTest, readsEveryShippedTableAsItPrintsIt) {
  ASSERT_GE(shippedDevices().size(), 17u);
  for (const DeviceModel &device : shippedDevices()) {
    EXPECT_FALSE(device.source.empty()) << device.name;
    llvm::Expected<DeviceModel> again = parseDeviceModel(textOf(device), device.name);
    ASSERT_TRUE(static_cast<bool>(again)) << llvm::toString(again.takeError());
    EXPECT_EQ(textOf(*again), textOf(device));
    EXPECT_EQ(shipped(device.name).name, device.name);
  }
}

/// Each format has the rate that the table states; formats that kernels unpack have that of f32
/// where the table states none.
TEST(DeviceTest, takesTheRateOfTheNumbers) {
  DeviceModel h100 = shipped("h100");
  EXPECT_EQ(h100.flopsPerNs(NumberFormat::BF16), h100.flopsPerNsBF16);
  EXPECT_EQ(h100.flopsPerNs(NumberFormat::F64), h100.flopsPerNsF64);
  EXPECT_EQ(h100.flopsPerNs(NumberFormat::I4), h100.flopsPerNsF32);
  h100.flopsPerNsUnpacked["i4"] = 7;
  EXPECT_EQ(h100.flopsPerNs(NumberFormat::I4), 7);
  EXPECT_EQ(h100.flopsPerNs(NumberFormat::I8), h100.flopsPerNsF32);
}

/// The example of DeviceModel.h.
TEST(DeviceTest, modelsAProductByTheRoofline) {
  constexpr int64_t flops = int64_t(2) * 8192 * 4096 * 4096;
  EXPECT_EQ(shipped("h100").time(flops, 0, NumberFormat::BF16), 277936 + 2000);
}

TEST(DeviceTest, namesTheTablesThatAreShipped) {
  llvm::Expected<DeviceModel> device = loadDeviceModel("h1000");
  ASSERT_FALSE(static_cast<bool>(device));
  std::string message = llvm::toString(device.takeError());
  for (const DeviceModel &known : shippedDevices())
    EXPECT_NE(message.find(known.name), std::string::npos) << known.name;
}

/// Kernels of both exist, so their tables must have a geometry, and for the model of tiles a rate
/// each.
TEST(DeviceTest, hasTheGpusThatKernelsAreWrittenFor) {
  EXPECT_EQ(&tunedGpu(), &tunedGpu());
  EXPECT_GT(tunedGpu().blockSharedBytes, leastGpu().blockSharedBytes);
  EXPECT_EQ(tunedGpu().registers, leastGpu().registers);
  EXPECT_EQ(tunedGpu().toJson().getObject("per_clock")->size(), 17u); // all rates and their source
}

/// A cluster lies in one group, so what is left of each runs no block of it.
TEST(DeviceTest, placesClustersInGroups) {
  GpuGeometry gpu;
  gpu.multiprocessors = 10;
  gpu.groups = {6, 4};
  EXPECT_EQ(gpu.blocksAtOnce(1), 10);
  EXPECT_EQ(gpu.blocksAtOnce(2), 10);
  EXPECT_EQ(gpu.blocksAtOnce(4), 8);
  gpu.groups.clear();
  EXPECT_EQ(gpu.blocksAtOnce(4), 10);
  EXPECT_EQ(tunedGpu().blocksAtOnce(8), 120);
}

TEST(DeviceTest, refusesAGeometryThatNoGpuHas) {
  auto tableOf = [](llvm::StringRef gpu) {
    return (R"({"flops_per_ns": {"bf16": 1, "f32": 1, "f64": 1}, "bytes_per_ns": 1, "gpu": )" +
            gpu + "}")
        .str();
  };
  auto expectError = [&](llvm::StringRef gpu, llvm::StringRef expected) {
    std::string message = errorOf(tableOf(gpu));
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  };
  EXPECT_EQ(errorOf(tableOf(R"({"multiprocessors": 4, "block_shared_bytes": 1024})")), "");
  expectError(R"({"multiprocessors": 4})",
              "a gpu must have 'multiprocessors' and 'block_shared_bytes'");
  expectError(R"({"multiprocessors": 0})", "gpu.multiprocessors");
  expectError(R"({"sms": 4})", "multiprocessors, clock_mhz");
  expectError(R"({"per_clock": {"lanes": -1}})", "expected a positive number");
  expectError(R"({"per_clock": {"warps": 1}})", "wgmma_multiply_adds");
}
