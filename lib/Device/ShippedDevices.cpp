//===- ShippedDevices.cpp - The device tables that come with llmmem ---------===//

#include "llmmem/Device/DeviceModel.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;
using namespace llmmem;

/// These are the files of Tables/, in the order of CMakeLists.txt.
static constexpr StringLiteral tables[] = {
#include "Tables.inc"
};

ArrayRef<DeviceModel> llmmem::shippedDevices() {
  static const std::vector<DeviceModel> devices = [] {
    std::vector<DeviceModel> read;
    for (StringRef table : tables) {
      Expected<DeviceModel> device = parseDeviceModel(table, "shipped device table");
      if (!device)
        reportFatalInternalError(device.takeError());
      read.push_back(std::move(*device));
    }
    return read;
  }();
  return devices;
}
