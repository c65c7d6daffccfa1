//===- DeviceTable.cpp - Whatever device table is read gives times -----------------===//

#include "Readers.h"
#include "llmmem/Device/DeviceModel.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llmmem;

static std::string print(const DeviceModel &device) {
  return llvm::formatv("{0:2}", device.toJson()).str();
}

void fuzz::readDeviceTable(llvm::StringRef bytes) {
  llvm::Expected<DeviceModel> device = parseDeviceModel(bytes, "table.json");
  if (!device)
    return require(!llvm::toString(device.takeError()).empty());
  std::string printed = print(*device);
  llvm::Expected<DeviceModel> again = parseDeviceModel(printed, "table.json");
  require(static_cast<bool>(again));
  require(print(*again) == printed);
  for (int64_t work : {int64_t(0), int64_t(1), int64_t(1) << 40, INT64_MAX})
    for (llvm::StringRef kernel : {"", "linear", "gelu"}) {
      require(device->time(work, 0, NumberFormat::F32, kernel) >= 0);
      require(device->time(0, work, NumberFormat::F32, kernel) >= 0);
    }
}
