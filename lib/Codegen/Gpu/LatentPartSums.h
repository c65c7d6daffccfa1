//===- LatentPartSums.h - Sums of parts of a cache of latent rows -----------===//
//
// Blocks of threads write the sums of their parts to the workspace, and a second launch adds them.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_LATENTPARTSUMS_H
#define LLMMEM_LIB_CODEGEN_GPU_LATENTPARTSUMS_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include "llmmem/Targets/LatentParts.h"

namespace llmmem {

/// The sums of parts in the workspace, and their maxima and totals, two numbers a head: those of a
/// token of the launch, of a part, of all heads.
struct PartSums {
  Buffer sums, statistics;

  PartSums(KernelEmitter &e, const llm::LatentParts &parts, int64_t rank);
};

/// The launch that adds the parts of each head in order, for the tokens of a launch from
/// `firstToken` on.
void launchPartAdder(llm::LatentAttentionOp op, KernelEmitter &e, const llm::LatentParts &parts,
                     PartSums partSums, Index firstToken);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_LATENTPARTSUMS_H
