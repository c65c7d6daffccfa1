//===- CheckpointOptions.td - The options of llmmem-checkpoint -*- tablegen -*-===//
//
// `llmmem-tblgen` generates three things from them: the struct `CheckpointPipelineOptions`, which gives each pass
// the options that it shares, the flags of `llmmem-opt` (through that struct), and a page of the reference.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PIPELINES_CHECKPOINTOPTIONS
#define LLMMEM_PIPELINES_CHECKPOINTOPTIONS

include "llmmem/Transforms/Passes.td"

/// Says where the optimizer's state or parameters lie between steps, or where updates run.
class StatePlaceOption<string member, string argument, string text>
  : ChoiceOption<member, argument, "::llmmem::StatePlace", "Device", "memory", [["Device", "device"], ["Host", "host"]], text>;

class PipelineOptions<string pipeline, list<Option> own> {
  string name = pipeline;
  list<Option> options = own;
}

def CheckpointOptions : PipelineOptions<"llmmem-checkpoint", [
  // Programs of other compilers.
  EntryOption,
  OpTableOption,
  UnpricedOption,
  LossOption,
  Option<"arenaBufferize", "arena-bufferize", "bool", "",
    "Write the planned step of linalg over views of one arena, its last argument">,

  // Ranks.
  PipelineForm<MeshOption, "; auto chooses for a topology">,
  NamedOption<"topology", "topology", "std::string", "", "file",
    "Devices, their memory and their links, which mesh=auto chooses for">,
  NamedOption<"devices", "devices", "int64_t", "0", "number",
    "How many of the topology's devices mesh=auto uses (all of them)">,
  NamedOption<"meshReport", "mesh-report", "std::string", "", "file",
    "Write which strategies mesh=auto compared, and why they lost, as JSON">,
  Option<"meshOnly", "mesh-only", "bool", "", "Choose and report, and leave the module as it is">,
  ZeroOption,
  SequenceParallelOption,
  BucketBytesOption,
  DataParallelOption,
  PipelineName<MicroBatchCountOption, "microBatches", "micro-batches", "1", "number",
    "Equal parts of a rank's batch that a step runs one after another, adding up their gradients">,
  PipelineName<ScheduleOption, "pipeline", "pipeline", "\"1f1b\"", "schedule",
    "In which order the stages of a mesh with pp run micro-batches: gpipe, 1f1b, interleaved, zero-bubble, zero-bubble-v (a V of two chunks a stage), dualpipe (from both ends; two stages have each parameter)">,
  NamedOption<"chunks", "pipeline-chunks", "int64_t", "2", "number",
    "Parts of the model that a stage of pipeline=interleaved has">,
  StagesOption,
  ChoiceOption<"collectives", "collectives", "::llmmem::CollectiveSource", "Mpi", "source", [["Mpi", "mpi"], ["Nccl", "nccl"]],
    "What sums over ranks: mpi (the plan holds the buffer of its sums; any device can run it), or nccl (on GPUs, without that buffer)">,
  OverlapOption,

  // The plan.
  PipelineForm<BudgetOption, "; min: the least that can be found">,
  NamedOption<"policy", "policy", "std::string", "", "policy",
    "What decides what is kept (none, or budget where a budget is given)">,
  DeviceOption,
  SecondsOption,
  SavedBitsOption,

  // Kernels.
  Option<"kernels", "kernels", "::llmmem::KernelGrouping", "::llmmem::KernelGrouping::Grouped",
    "What lives only inside a kernel has no bytes: grouped (elementwise ops and row reductions share kernels), or apart (each op is a kernel of its own)",
    Words<"::llmmem::KernelGrouping", [["Grouped", "grouped"], ["Apart", "apart"]]>.values>,
  NamedOption<"lossChunk", "loss-chunk", "std::string", "\"auto\"", "tokens",
    "Tokens whose logits are held at a time: a number, auto (the plan chooses), whole, or apart (the loss and its gradients stay several ops)">,
  NamedOption<"mlpChunk", "mlp-chunk", "std::string", "\"apart\"", "tokens",
    "Tokens whose feed-forward a block runs at a time, so that the wide values of these alone are held and none is saved: a number, auto (the plan chooses), whole, or apart (the default: feed-forwards stay several ops, and their values may be saved)">,
  EpiloguesOption,
  ChoiceOption<"products", "products", "::llmmem::PlannedProducts", "Auto", "source",
    [["Auto", "auto"], ["Generated", "generated"], ["Library", "library"]],
    "What multiplies matrices on the GPU that is planned or lowered for: generated (kernels of llmmem), library (cuBLASLt; the plan holds the workspace that the device table gives it, and chooses among its epilogues), or auto (library where a device is named whose table has one)">,

  // The host.
  HostBudgetOption,
  StatePlaceOption<"optimizerOn", "optimizer-on",
    "Where the optimizer's state lies between steps: device, or host (each value comes for its update and leaves again, as in ZeRO-Offload)">,
  StatePlaceOption<"parametersOn", "parameters-on",
    "Where parameters lie: device, or host (each comes for the ops that read it, and its new value leaves, as in ZeRO-Infinity; small ones stay)">,
  StatePlaceOption<"updateOn", "update-on",
    "With optimizer-on=host: where updates run: device, or host (gradients go to the host and new parameters come back, as in ZeRO-Offload)">,
  LinkOption,
  LinkLatencyOption,

  // Files and reports.
  PipelineName<PrintReportOption, "memoryReport", "memory-report", "", "", PrintReportOption.description>,
  PipelineName<ReportJsonOption, "memoryReportJson", "memory-report-json", "", "file",
    "Write the report as JSON (- is stdout, then give -o)">,
  EmitProblemOption,
  EmitPlanOption,
  EmitProofOption,
  NamedOption<"emit", "emit", "std::string", "", "framework:file",
    "Write the nearest setup of another framework, with its bytes and time next to the plan's: torchtitan, megatron, deepspeed or maxtext, and a file (- is stdout, then give -o)">,
  // Without a value it means all.
  PipelineForm<ExplainOption, "", ", ::llvm::cl::ValueOptional">,
]>;

#endif // LLMMEM_PIPELINES_CHECKPOINTOPTIONS
