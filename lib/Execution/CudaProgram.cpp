//===- CudaProgram.cpp - The kernels of a step, ready to load --------------===//

#include "CudaProgram.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace llmmem;

CudaProgram CudaProgram::takeFrom(ModuleOp module) {
  CudaProgram program;
  llvm::StringMap<size_t> modules;
  for (auto binary : llvm::make_early_inc_range(module.getOps<gpu::BinaryOp>())) {
    modules[binary.getName()] = program.ptx.size();
    program.ptx.push_back(cast<gpu::ObjectAttr>(binary.getObjects()[0]).getObject().str());
    binary.erase();
  }
  for (Attribute name : module->getAttrOfType<ArrayAttr>(llm::LlmDialect::kKernels)) {
    auto symbol = cast<SymbolRefAttr>(name);
    program.kernels.push_back(
        {modules.lookup(symbol.getRootReference()), symbol.getLeafReference().str()});
  }
  module->removeAttr(llm::LlmDialect::kKernels);
  return program;
}
