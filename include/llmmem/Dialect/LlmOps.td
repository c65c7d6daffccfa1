//===- LlmOps.td - The whole dialect ---------------------------*- tablegen -*-===//

#ifndef LLMMEM_DIALECT_LLMOPS
#define LLMMEM_DIALECT_LLMOPS

include "llmmem/Dialect/LlmForwardOps.td"
include "llmmem/Dialect/LlmBackwardOps.td"
include "llmmem/Dialect/LlmExpertOps.td"
include "llmmem/Dialect/LlmShapeOps.td"
include "llmmem/Dialect/LlmLossOps.td"
include "llmmem/Dialect/LlmRelativeOps.td"
include "llmmem/Dialect/LlmUpdateOps.td"
include "llmmem/Dialect/LlmCacheOps.td"
include "llmmem/Dialect/LlmLatentOps.td"
include "llmmem/Dialect/LlmCollectiveOps.td"
include "llmmem/Dialect/LlmHostCopyOps.td"
include "llmmem/Dialect/LlmHostOps.td"
include "llmmem/Dialect/LlmPipelineOps.td"
include "llmmem/Dialect/LlmKernelOps.td"

#endif // LLMMEM_DIALECT_LLMOPS
