//===- Plugin.cpp - llmmem inside mlir-opt ----------------------------------===//
//
//   mlir-opt-22 --load-pass-plugin=libllmmem-plugin.so --load-dialect-plugin=libllmmem-plugin.so \
//     --pass-pipeline='builtin.module(llmmem-checkpoint{budget=40GB})' step.mlir
//
// The dialect plugin is for programs whose text has ops of `llm`. The passes bring what they need
// themselves.
//
//===----------------------------------------------------------------------===//

#include "llmmem/InitAll.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "llmmem", LLMMEM_VERSION, [] { llmmem::registerAllPasses(); }};
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "llmmem", LLMMEM_VERSION,
          [](mlir::DialectRegistry *registry) { llmmem::registerAllDialects(*registry); }};
}
