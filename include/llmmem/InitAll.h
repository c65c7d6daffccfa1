//===- InitAll.h - All that llmmem registers -------------------------------===//
//
// Like mlir/InitAllDialects.h and mlir/InitAllPasses.h: what a program calls before it parses.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_INITALL_H
#define LLMMEM_INITALL_H

#include "llmmem/Bufferization/Passes.h"
#include "llmmem/Codegen/Emitter/KernelOpInterface.h"
#include "llmmem/Conversion/Passes.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Emulation/Lowering/Passes.h"
#include "llmmem/Pipelines/CheckpointPipeline.h"
#include "llmmem/Pipelines/KernelPipelines.h"
#include "llmmem/Targets/Targets.h"
#include "llmmem/Transforms/Passes.h"
#include "llmmem/Transforms/TiledPasses.h"
#include "llmmem/Upstream/Models.h"

namespace llmmem {

/// The dialect `llm`, the properties of targets that its ops use, the kernels of its ops, and the
/// models of MLIR's own dialects.
inline void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<llm::LlmDialect>();
  registerTargets(registry);
  registerUpstreamModels(registry);
  registerKernelModels(registry);
}

/// Every pass and pipeline, by the names of docs/Reference.
inline void registerAllPasses() {
  registerLlmmemTransformsPasses();
  registerLlmmemTiledPasses();
  registerLlmmemBufferizationPasses();
  registerLlmmemConversionPasses();
  registerLlmmemEmulationPasses();
  registerCheckpointPipeline();
  registerKernelPipelines();
}

} // namespace llmmem

#endif // LLMMEM_INITALL_H
