//===- EmitSetup.h - A plan, as the nearest setup of another framework ----------===//
//
// `--emit=megatron:flags.txt` plans the module with every policy that Megatron-LM has, over the
// same ranks, and writes the flags of the one that comes nearest to the plan: the fastest that fits
// the budget (without a budget, the bytes of the plan), or else that of the fewest bytes. The bytes
// and times of both are modelled in the same way.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PIPELINES_EMITSETUP_H
#define LLMMEM_LIB_PIPELINES_EMITSETUP_H

#include "llmmem/Pipelines/CheckpointPipeline.h"

namespace llmmem {

/// Says what is wrong with the option `emit`, and what would be right.
llvm::Error checkEmit(const CheckpointPipelineOptions &options,
                      llvm::function_ref<std::string(llvm::StringRef)> spell);

/// Holds the module as it was before the passes between the two below.
struct KeptModule {
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Keeps a copy of the module.
std::unique_ptr<mlir::Pass> createKeepModule(std::shared_ptr<KeptModule> kept);

/// Writes the setup that is nearest to the plan in the module.
std::unique_ptr<mlir::Pass> createEmitSetup(const CheckpointPipelineOptions &options,
                                            std::shared_ptr<KeptModule> kept,
                                            std::shared_ptr<CheckpointOutcome> outcome);

} // namespace llmmem

#endif // LLMMEM_LIB_PIPELINES_EMITSETUP_H
