//===- DeviceTables.cpp - Each device table loaded once --------------------===//

#include "llmmem/Analysis/DeviceTables.h"

using namespace mlir;
using namespace llmmem;

const DeviceModel *DeviceTables::get(StringRef nameOrFile, Operation *where) {
  if (auto known = tables.find(nameOrFile); known != tables.end())
    return &known->second;
  llvm::Expected<DeviceModel> table = loadDeviceModel(nameOrFile);
  if (!table) {
    where->emitError() << llvm::toString(table.takeError());
    return nullptr;
  }
  return &tables.try_emplace(nameOrFile, std::move(*table)).first->second;
}
