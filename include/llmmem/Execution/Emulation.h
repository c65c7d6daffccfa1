//===- Emulation.h - What the emulator runs, and its faults as diagnostics --===//
//
//   Emulation emulation = Emulation::takeFrom(module);   // after emulate-gpu-kernels
//   emulation::Emulator emulator(emulation.program());
//   ... run ...
//   if (const emulation::Fault *fault = emulator.fault())
//     emulation.report(*fault);
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_EMULATION_H
#define LLMMEM_EXECUTION_EMULATION_H

#include "llmmem/Emulation/Emulator.h"
#include "mlir/IR/BuiltinOps.h"

namespace llmmem {

class Emulation {
public:
  /// Removes the attribute of `emulate-gpu-kernels` from the module and builds the program from it.
  static Emulation takeFrom(mlir::ModuleOp module);

  const emulation::Program &program() const { return described; }
  /// Emits an error at the op at fault, with the op, the launch and the call as notes.
  void report(const emulation::Fault &fault) const;

private:
  void readSite(mlir::DictionaryAttr site);
  void readKernel(mlir::DictionaryAttr kernel);
  void readLaunch(mlir::DictionaryAttr launch);
  void readCall(mlir::DictionaryAttr call);

  emulation::Program described;
  // Hold, by number, what only diagnostics need.
  std::vector<mlir::Location> sites, launches, calls;
  std::vector<std::string> texts;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_EMULATION_H
