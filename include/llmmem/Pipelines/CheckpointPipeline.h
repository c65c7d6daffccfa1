//===- CheckpointPipeline.h - From a model to a verified plan --------------===//
//
// One pipeline runs the whole way of the data: inline-calls, parallelize (where there is a mesh),
// split-micro-batches, differentiate (where there is a @loss), describe-ops and adopt-step (of what
// another compiler made), move-state-to-host (where the optimizer's state lies there),
// group-loss-head, group-kernels, reserve-library-workspace, annotate-memory, plan-checkpoints,
// apply-checkpoints, start-collectives (where they overlap), start-host-copies (where values lie on
// the host), verify-plan, report-memory.
//
// CheckpointOptions.td alone defines the name, the default and the description of each of its
// options. The struct, the flags of llmmem-opt and the options of each pass are generated from it.
// Example:
//
//   mlir-opt --pass-pipeline='builtin.module(llmmem-checkpoint{budget=40GB device=a100})'
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PIPELINES_CHECKPOINTPIPELINE_H
#define LLMMEM_PIPELINES_CHECKPOINTPIPELINE_H

#include "llmmem/Codegen/Emitter/KernelOptions.h"
#include "llmmem/Reports/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace llmmem {

/// Says whether elementwise ops and row reductions share kernels.
enum class KernelGrouping { Grouped, Apart };

/// Says where the optimizer's state or parameters lie between steps, or where updates run.
enum class StatePlace { Device, Host };

/// Says what a plan's matrices are multiplied by: `Auto` is a library where a device is named whose
/// table has one, else generated kernels.
enum class PlannedProducts { Auto, Generated, Library };

/// Says what makes the collectives of the step that is planned.
enum class CollectiveSource { Mpi, Nccl };

struct CheckpointPipelineOptions : mlir::PassPipelineOptions<CheckpointPipelineOptions> {
#define GEN_PIPELINE_CHECKPOINTOPTIONS
#include "llmmem/Pipelines/CheckpointOptions.h.inc"

  /// Returns the options of a pass with the values of those that it shares. Its other options have
  /// their defaults.
  template <typename OptionsOfPass>
  OptionsOfPass of() const {
    OptionsOfPass taken;
    copyTo(taken);
    return taken;
  }

  /// Returns the policy and the bytes that are meant: a budget alone means the policy `budget`,
  /// `min` means `least-peak`, neither means `none`.
  std::string policyMeant() const;
  std::string budgetMeant() const;

  /// Returns the framework that `emit` names, and the file: `-` where it names none.
  std::pair<llvm::StringRef, llvm::StringRef> emitMeant() const;

  /// Returns every option above, by name.
  std::vector<llvm::cl::Option *> all();
};

/// Returns who multiplies by `products` and, where that is `Auto`, by the tables that `device`
/// names, or `topology`: of several stages a library where each has one. Generated kernels multiply
/// where none is named, as a plan for a library holds workspace that no other device needs, and
/// where a table cannot be read, which `checkOptions` refuses.
MatmulSource productsOf(const CheckpointPipelineOptions &options);

/// Returns an error that names the first of `options` that is wrong in itself or together with
/// another, as `readCheckpointRequest` and the device table have it, and what would be right.
/// `spell` is how the user writes an option: "budget" is --checkpoint-budget.
llvm::Error checkOptions(const CheckpointPipelineOptions &options,
                         llvm::function_ref<std::string(llvm::StringRef)> spell);

/// Appends the passes; `outcome` receives what the IR does not say (status, seconds), and may be
/// null. `checkOptions` must hold.
void buildCheckpointPipeline(mlir::OpPassManager &passes, const CheckpointPipelineOptions &options,
                             std::shared_ptr<CheckpointOutcome> outcome);

/// Makes the pipeline `llmmem-checkpoint` of a module.
void registerCheckpointPipeline();

} // namespace llmmem

#endif // LLMMEM_PIPELINES_CHECKPOINTPIPELINE_H
