//===- DeviceTables.h - Each device table loaded once ----------------------===//
//
// The passes of one run of a pass manager price ops with the same table, which is a file or a text
// to parse. As an MLIR analysis it is loaded by the first pass that needs it, and no change of the
// program makes it invalid: `getAnalysis<DeviceTables>().get(device, step)`.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_ANALYSIS_DEVICETABLES_H
#define LLMMEM_ANALYSIS_DEVICETABLES_H

#include "llmmem/Device/DeviceModel.h"
#include "mlir/Pass/AnalysisManager.h"

namespace llmmem {

class DeviceTables {
public:
  explicit DeviceTables(mlir::Operation *) {}

  /// Returns the table of this name or file; null, after a diagnostic at `where`, if it cannot be
  /// loaded.
  const DeviceModel *get(llvm::StringRef nameOrFile, mlir::Operation *where);

  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &) const { return false; }

private:
  llvm::StringMap<DeviceModel> tables;
};

} // namespace llmmem

#endif // LLMMEM_ANALYSIS_DEVICETABLES_H
