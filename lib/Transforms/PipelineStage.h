//===- PipelineStage.h - The step of one stage of a pipeline -----------------===//

#ifndef LLMMEM_LIB_TRANSFORMS_PIPELINESTAGE_H
#define LLMMEM_LIB_TRANSFORMS_PIPELINESTAGE_H

#include "PipelineCuts.h"
#include "llmmem/Planning/Pipeline/PipelineExchanges.h"

namespace llmmem {

/// Holds a forward function cut into chunks, and what each stage does with them.
struct Pipeline {
  mlir::func::FuncOp loss;
  llm::TrainingAttr training;
  planning::PipelineShape shape;
  PipelineCuts cuts;
  std::vector<std::vector<planning::PipelineTask>> schedule;
  std::vector<std::vector<planning::PipelineExchange>> exchanges;
  /// Lists the stages that read each parameter of `loss`, by its number; those of none are not
  /// trained.
  llvm::DenseMap<unsigned, llvm::SmallVector<int64_t, 2>> readers;
};

/// Returns the arguments of `loss` that the chunks of a stage read, themselves or through ops that
/// belong to no chunk.
llvm::DenseSet<unsigned> findReadArguments(const Pipeline &pipeline, int64_t stage);

/// Builds @stage<number> at the end of the module. Fails after a located diagnostic.
llvm::FailureOr<mlir::func::FuncOp> buildStage(const Pipeline &pipeline, int64_t stage);

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_PIPELINESTAGE_H
