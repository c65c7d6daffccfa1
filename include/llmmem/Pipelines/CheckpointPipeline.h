//===- CheckpointPipeline.h - From a model to a verified plan --------------===//
//
// The whole way of the data as one pipeline: inline-calls, parallelize (where there is a mesh),
// split-micro-batches, differentiate (where there is a @loss), describe-ops and adopt-step (of what
// another compiler made), move-state-to-host (where the optimizer's state lies there),
// group-loss-head, group-kernels, reserve-library-workspace, annotate-memory, plan-checkpoints,
// apply-checkpoints, start-collectives (where they overlap), start-host-copies (where values lie on
// the host), verify-plan, report-memory.
//
// `CheckpointPipelineOptions` is the one place where an option of it has a name, a default, a
// sentence and a check: the flags of llmmem-opt are made from it. Example:
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

/// Whether elementwise ops and row reductions share kernels.
enum class KernelGrouping { Grouped, Apart };

/// Where the optimizer's state or parameters lie between steps, or where updates run.
enum class StatePlace { Device, Host };

/// What options of the type take.
inline llvm::cl::ValuesClass statePlaces() {
  return llvm::cl::values(clEnumValN(StatePlace::Device, "device", ""),
                          clEnumValN(StatePlace::Host, "host", ""));
}

/// What a plan's matrices are multiplied by: `Auto` is a library where a device is named whose
/// table has one, else generated kernels.
enum class PlannedProducts { Auto, Generated, Library };

/// What makes the collectives of the step that is planned.
enum class CollectiveSource { Mpi, Nccl };

struct CheckpointPipelineOptions : mlir::PassPipelineOptions<CheckpointPipelineOptions> {
  Option<std::string> entry{
      *this, "entry", llvm::cl::value_desc("name"),
      llvm::cl::desc(
          "The function that is the step, of a graph that another compiler made; without "
          "it @step, @forward or @main")};
  Option<std::string> opTable{
      *this, "op-table", llvm::cl::value_desc("file"),
      llvm::cl::desc("What ops of other compilers cost and do, as a llmmem-op-table, beside "
                     "StableHLO, MHLO and CHLO")};
  Option<Unpriced> unpriced{
      *this,
      "unpriced",
      llvm::cl::init(Unpriced::Refuse),
      llvm::cl::value_desc("choice"),
      llvm::cl::desc("What becomes of ops that nobody describes: refuse, or by-bytes (priced by "
                     "what they read and write, and never run again)"),
      llvm::cl::values(clEnumValN(Unpriced::Refuse, "refuse", ""),
                       clEnumValN(Unpriced::ByBytes, "by-bytes", ""))};
  Option<int64_t> loss{
      *this, "loss", llvm::cl::init(-1), llvm::cl::value_desc("number"),
      llvm::cl::desc("Which result of another compiler's step is the loss; without it the only "
                     "floating-point number")};
  Option<std::string> mesh{
      *this, "mesh", llvm::cl::value_desc("axis=ranks"),
      llvm::cl::desc(
          "Make the step of one rank of so many: each has its part of the batch (dp), of heads, "
          "widths and vocabulary (tp): dp=2,tp=4; auto chooses for a topology")};
  Option<std::string> topology{
      *this, "topology", llvm::cl::value_desc("file"),
      llvm::cl::desc("Devices, their memory and their links, which mesh=auto chooses for")};
  Option<int64_t> devices{
      *this, "devices", llvm::cl::init(0), llvm::cl::value_desc("number"),
      llvm::cl::desc("How many of the topology's devices mesh=auto uses (all of them)")};
  Option<std::string> meshReport{
      *this, "mesh-report", llvm::cl::value_desc("file"),
      llvm::cl::desc("Write which strategies mesh=auto compared, and why they lost, as JSON")};
  Option<bool> meshOnly{*this, "mesh-only",
                        llvm::cl::desc("Choose and report, and leave the module as it is")};
  Option<int64_t> zero{
      *this, "zero", llvm::cl::init(0), llvm::cl::value_desc("stage"),
      llvm::cl::desc("What ranks split over dp beside the batch: 0 nothing, 1 optimizer state, 2 "
                     "gradients too, 3 parameters too (ZeRO)")};
  Option<bool> sequenceParallel{
      *this, "sequence-parallel", llvm::cl::init(false),
      llvm::cl::desc("Split norms, residuals and dropout between the products of tp along the "
                     "sequence")};
  Option<std::string> bucketBytes{
      *this, "bucket-bytes", llvm::cl::init("25MB"), llvm::cl::value_desc("bytes"),
      llvm::cl::desc("Gradients (and parts of parameters) of together at most so many bytes share "
                     "a collective over dp; 0: each has its own")};
  Option<std::string> dataParallel{
      *this, "data-parallel", llvm::cl::init("all-reduce"), llvm::cl::value_desc("who updates"),
      llvm::cl::desc("Who updates parameters: all-reduce (each rank of dp, by the sum of all), or "
                     "server (the first rank of dp alone, which has the optimizer's state)")};
  Option<int64_t> microBatches{
      *this, "micro-batches", llvm::cl::init(1), llvm::cl::value_desc("number"),
      llvm::cl::desc("Equal parts of a rank's batch that a step runs one after another, adding up "
                     "their gradients")};
  Option<std::string> pipeline{
      *this, "pipeline", llvm::cl::init("1f1b"), llvm::cl::value_desc("schedule"),
      llvm::cl::desc("In which order the stages of a mesh with pp run micro-batches: gpipe, 1f1b, "
                     "interleaved, zero-bubble")};
  Option<int64_t> chunks{
      *this, "pipeline-chunks", llvm::cl::init(2), llvm::cl::value_desc("number"),
      llvm::cl::desc("Parts of the model that a stage of pipeline=interleaved has")};
  Option<std::string> budget{
      *this, "budget", llvm::cl::value_desc("bytes"),
      llvm::cl::desc("Plan recomputation so that resident bytes and arena stay under this: 40GB, "
                     "37.25GiB, 123456; one for all pipeline stages, or one for each: 80GB,40GB; "
                     "min: the least that can be found")};
  Option<std::string> policy{
      *this, "policy", llvm::cl::value_desc("policy"),
      llvm::cl::desc("What decides what is kept (none, or budget where a budget is given)")};
  Option<std::string> device{
      *this, "device", llvm::cl::init("h100"), llvm::cl::value_desc("name or file"),
      llvm::cl::desc(
          "Device table that prices ops: h100, rtx4090 and others, cpu, or a .json file; one for "
          "all pipeline stages, or one for each: h100,a100")};
  Option<double> seconds{*this, "seconds", llvm::cl::init(10), llvm::cl::value_desc("number"),
                         llvm::cl::desc("Bound on the planner's search; where state or parameters "
                                        "lie on the host, on each of about a dozen")};
  Option<KernelGrouping> kernels{
      *this, "kernels", llvm::cl::init(KernelGrouping::Grouped),
      llvm::cl::desc("What lives only inside a kernel has no bytes: grouped (elementwise ops and "
                     "row reductions share kernels), or apart (each op is a kernel of its own)"),
      llvm::cl::values(clEnumValN(KernelGrouping::Grouped, "grouped", ""),
                       clEnumValN(KernelGrouping::Apart, "apart", ""))};
  Option<std::string> lossChunk{
      *this, "loss-chunk", llvm::cl::init("auto"), llvm::cl::value_desc("tokens"),
      llvm::cl::desc("Tokens whose logits are held at a time: a number, auto (the plan chooses), "
                     "whole, or apart (the loss and its gradients stay several ops)")};
  Option<Epilogues> epilogues{
      *this,
      "epilogues",
      llvm::cl::init(Epilogues::Auto),
      llvm::cl::value_desc("choice"),
      llvm::cl::desc("Which matmuls take what follows them: auto (what the cheapest plan has; with "
                     "products=library one choice for every budget), separate, unshared (matmuls "
                     "that nothing else reads), fused, or generated (also what only generated "
                     "matmuls can take)"),
      EpiloguesValues{/*withAuto=*/true}};
  Option<PlannedProducts> products{
      *this,
      "products",
      llvm::cl::init(PlannedProducts::Auto),
      llvm::cl::value_desc("source"),
      llvm::cl::desc("What multiplies matrices on the GPU that is planned or lowered for: "
                     "generated (kernels of llmmem), library (cuBLASLt; the plan holds the "
                     "workspace that the device table gives it, and chooses among its epilogues), "
                     "or auto (library where a device is named whose table has one)"),
      llvm::cl::values(clEnumValN(PlannedProducts::Auto, "auto", ""),
                       clEnumValN(PlannedProducts::Generated, "generated", ""),
                       clEnumValN(PlannedProducts::Library, "library", ""))};
  Option<CollectiveSource> collectives{
      *this,
      "collectives",
      llvm::cl::init(CollectiveSource::Mpi),
      llvm::cl::value_desc("source"),
      llvm::cl::desc("What sums over ranks: mpi (the plan holds the buffer of its sums; any device "
                     "can run it), or nccl (on GPUs, without that buffer)"),
      llvm::cl::values(clEnumValN(CollectiveSource::Mpi, "mpi", ""),
                       clEnumValN(CollectiveSource::Nccl, "nccl", ""))};
  Option<bool> overlap{
      *this, "overlap",
      llvm::cl::desc("Run collectives beside compute: each starts as early and is waited for as "
                     "late as the plan allows")};
  Option<int64_t> savedBits{
      *this, "saved-bits", llvm::cl::init(0), llvm::cl::value_desc("8"),
      llvm::cl::desc("Saved values may be held in 8 bits, where that is cheaper than to run ops "
                     "again; changes gradients")};
  Option<std::string> hostBudget{
      *this, "host-budget", llvm::cl::value_desc("bytes"),
      llvm::cl::desc("Values may leave for so much of the host's memory and come back, where that "
                     "is shorter than to run ops again: 64GB")};
  Option<StatePlace> optimizerOn{
      *this,
      "optimizer-on",
      llvm::cl::init(StatePlace::Device),
      llvm::cl::value_desc("memory"),
      llvm::cl::desc("Where the optimizer's state lies between steps: device, or host (each value "
                     "comes for its update and leaves again, as in ZeRO-Offload)"),
      statePlaces()};
  Option<StatePlace> parametersOn{
      *this,
      "parameters-on",
      llvm::cl::init(StatePlace::Device),
      llvm::cl::value_desc("memory"),
      llvm::cl::desc(
          "Where parameters lie: device, or host (each comes for the ops that read it, and "
          "its new value leaves, as in ZeRO-Infinity; small ones stay)"),
      statePlaces()};
  Option<StatePlace> updateOn{
      *this,
      "update-on",
      llvm::cl::init(StatePlace::Device),
      llvm::cl::value_desc("memory"),
      llvm::cl::desc("With optimizer-on=host: where updates run: device, or host (gradients go up "
                     "and new parameters come down, as in ZeRO-Offload; on a CPU, not yet on a "
                     "GPU)"),
      statePlaces()};
  Option<std::string> link{
      *this, "link", llvm::cl::value_desc("rate"),
      llvm::cl::desc("With host-budget, optimizer-on=host or parameters-on=host: what copies move, "
                     "each way (25GB/s) "
                     "or up and down "
                     "(25GB/s,20GB/s); without, what the device's table says")};
  Option<int64_t> linkLatency{
      *this, "link-latency", llvm::cl::init(-1), llvm::cl::value_desc("ns"),
      llvm::cl::desc("With them: ns that each copy takes beside its bytes")};
  Option<bool> arenaBufferize{
      *this, "arena-bufferize",
      llvm::cl::desc(
          "Write the planned step of linalg over views of one arena, its last argument")};
  Option<bool> memoryReport{*this, "memory-report",
                            llvm::cl::desc("Print resident, saved and peak bytes on stderr")};
  Option<std::string> memoryReportJson{
      *this, "memory-report-json", llvm::cl::value_desc("file"),
      llvm::cl::desc("Write the report as JSON (- is stdout, then give -o)")};
  Option<std::string> emitProblem{
      *this, "emit-problem", llvm::cl::value_desc("file"),
      llvm::cl::desc("Write what the planner sees as a llmmem-problem")};
  Option<std::string> emitPlan{*this, "emit-plan", llvm::cl::value_desc("file"),
                               llvm::cl::desc("Write what the planner decides as a llmmem-plan")};
  Option<std::string> explain{
      *this, "explain", llvm::cl::ValueOptional, llvm::cl::value_desc("value"),
      llvm::cl::desc(
          "Say on stderr why a value or op is kept or run again, by its name; all: every "
          "saved value, what holds the peak, what more budget would buy, and, where "
          "there is no plan, what is held")};
  Option<std::string> emitProof{
      *this, "emit-proof", llvm::cl::value_desc("file"),
      llvm::cl::desc("Write what proves the plan's bounds, checked, as a llmmem-proof")};

  /// The policy and the bytes that are meant: a budget alone means the policy `budget`, `min` means
  /// `least-peak`, neither means `none`.
  std::string policyMeant() const;
  std::string budgetMeant() const;

  /// Every option above, by name.
  std::vector<llvm::cl::Option *> all();
};

/// Who multiplies by `products` and, where that is `Auto`, by the tables that `device` names, or
/// `topology`: of several stages a library where each has one. Generated kernels where none is
/// named, as a plan for a library holds workspace that no other device needs, and where a table
/// cannot be read, which `checkOptions` refuses.
MatmulSource productsOf(const CheckpointPipelineOptions &options);

/// The first of `options` that is wrong in itself or beside another, as `readCheckpointRequest` and
/// the device table have it, and what would be right. `spell` is how the user writes an option:
/// "budget" is --checkpoint-budget.
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
