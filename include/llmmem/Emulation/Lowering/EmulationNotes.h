//===- EmulationNotes.h - What emulate-gpu-kernels says of a module --------===//
//
// An attribute of the module, that lib/Execution/Emulation.cpp makes an emulation::Program of:
//
//   llm.emulation = {
//     sites = [{kind = "read", buffer = 0, bytes = 16, alignment = 16, extent = 8192,
//               text = "%3 = vector.load ...", location = loc(...)}, ...],
//     kernels = [{name = "gelu", buffer_bytes = array<i64: 8192, 8192>, shared_bytes = 0, meets}],
//     launches = [{kernel = 0, parameters = array<i64: 0, 1>, location = loc(...)}],
//     calls = [{values = array<i64: 4, 7>, writes = array<i64: 1>, location = loc(...)}]}
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EMULATION_LOWERING_EMULATIONNOTES_H
#define LLMMEM_EMULATION_LOWERING_EMULATIONNOTES_H

#include "llvm/ADT/StringRef.h"

namespace llmmem {

constexpr llvm::StringLiteral kEmulationAttr = "llm.emulation";
/// On calls of host functions (docs/Design/Gpu.md).
constexpr llvm::StringLiteral kCallValuesAttr = "values", kCallWritesAttr = "writes";

} // namespace llmmem

#endif // LLMMEM_EMULATION_LOWERING_EMULATIONNOTES_H
