//===- Options.td - Options of passes and pipelines --------*- tablegen -*-===//
//
// An option that several passes have, or a pass and a pipeline, stands here once: its name, its
// type, its default and its sentence. `mlir-tblgen` makes options of passes from it, and
// `llmmem-tblgen` those of pipelines (Pipelines/CheckpointOptions.td). What the planner is asked
// without passes, too, comes from Planning/PlannerOptions.td.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_OPTIONS
#define LLMMEM_TRANSFORMS_OPTIONS

include "llmmem/Planning/PlannerOptions.td"
include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Kinds of options
//===----------------------------------------------------------------------===//

/// An option whose value --help shows as `valueName`; `others` holds more that cl::opt takes.
class NamedOption<string member, string argument, string type, string default, string valueName, string text,
                  string others = "">
  : Option<member, argument, type, default, text,
           "::llvm::cl::value_desc(\"" # valueName # "\")" # !if(!empty(others), "", ", " # others)>;

/// The values of an enumeration, each of which is [enumerator, word].
class Words<string type, list<list<string>> words> {
  string values = "::llvm::cl::values("
    # !interleave(!foreach(word, words, "clEnumValN(" # type # "::" # word[0] # ", \"" # word[1] # "\", \"\")"), ", ") # ")";
}

/// An option that takes one word of several.
class ChoiceOption<string member, string argument, string type, string default, string valueName, list<list<string>> words,
                   string text>
  : NamedOption<member, argument, type, type # "::" # default, valueName, text, Words<type, words>.values>;

/// What passes make of an option of the planner: the same option, with more to say.
class PlannerForm<PlannerOption planner, string more = "", string default = planner.defaultValue>
  : NamedOption<planner.cppName, planner.argument, planner.type, default, planner.valueName, planner.description # more>;

/// What a pipeline makes of an option of its passes: the same option, with more to say. The pass
/// gets its value.
class PipelineForm<Option pass, string more = "", string others = "">
  : Option<pass.cppName, pass.argument, pass.type, pass.defaultValue, pass.description # more,
           pass.additionalOptFlags # others> {
  Option ofPass = pass;
}

/// The same under a name, with a default and a sentence of the pipeline's own.
class PipelineName<Option pass, string member, string argument, string default, string valueName, string text>
  : NamedOption<member, argument, pass.type, default, valueName, text> {
  Option ofPass = pass;
}

//===----------------------------------------------------------------------===//
// Programs of other compilers
//===----------------------------------------------------------------------===//

def EntryOption : NamedOption<"entry", "entry", "std::string", "", "name",
  "The function that is the step, of a graph that another compiler made; without it @step, @forward or @main">;
def OpTableOption : NamedOption<"opTable", "op-table", "std::string", "", "file",
  "What ops of other compilers cost and do, as a llmmem-op-table, in addition to StableHLO, MHLO and CHLO">;
def UnpricedOption : ChoiceOption<"unpriced", "unpriced", "::llmmem::Unpriced", "Refuse", "choice",
  [["Refuse", "refuse"], ["ByBytes", "by-bytes"]],
  "What becomes of ops that nobody describes: refuse, or by-bytes (priced by what they read and write, and never run again)">;
def LossOption : NamedOption<"loss", "loss", "int64_t", "-1", "number",
  "Which result of another compiler's step is the loss; without it the only floating-point number">;

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

def MeshOption : NamedOption<"mesh", "mesh", "std::string", "", "axis=ranks",
  "Make the step of one rank of so many: each has its part of the batch (dp), of the batch and of experts (ep), of each sequence (cp), of heads, widths and vocabulary (tp), or of the blocks (pp): dp=2,cp=2,tp=4">;
def ZeroOption : NamedOption<"zero", "zero", "int64_t", "0", "stage",
  "What ranks split over dp, ep and cp in addition to the batch: 0 nothing, 1 optimizer state, 2 gradients too, 3 parameters too (ZeRO)">;
def SequenceParallelOption : Option<"sequenceParallel", "sequence-parallel", "bool", "false",
  "Split norms, residuals and dropout between the products of tp along the sequence">;
def BucketBytesOption : NamedOption<"bucketBytes", "bucket-bytes", "std::string", "\"25MB\"", "bytes",
  "Gradients (and parts of parameters) of together at most so many bytes share a collective over dp; 0: each has its own">;
def DataParallelOption : NamedOption<"dataParallel", "data-parallel", "std::string", "\"all-reduce\"", "who updates",
  "Who updates parameters: all-reduce (each rank of dp, by the sum of all), or server (the first rank of dp alone, which has the optimizer's state)">;
def MicroBatchCountOption : Option<"count", "count", "int64_t", "1", "How many micro-batches a rank's batch is">;
def StagesOption : Option<"stages", "stages", "std::string", "\"\"",
  "Blocks of each stage of the pipeline, from the first on, as in 1,2,2,3; of each chunk where a stage has several">;
def ScheduleOption : Option<"schedule", "schedule", "std::string", "\"1f1b\"", "gpipe, 1f1b, interleaved, zero-bubble, zero-bubble-v or dualpipe">;

//===----------------------------------------------------------------------===//
// Devices and the host
//===----------------------------------------------------------------------===//

def DeviceOption : NamedOption<"device", "device", "std::string", "\"h100\"", "name or file",
  "Device table that prices ops: h100, rtx4090 and others, cpu, or a .json file; one for all pipeline stages, or one for each: h100,a100">;
def HostBudgetOption : PlannerForm<PlannerHostBudget>;
def LinkOption : PlannerForm<PlannerLink,
  "; it needs host-budget, optimizer-on=host or parameters-on=host, and without it the device's table says">;
def LinkLatencyOption : PlannerForm<PlannerLinkLatency, "; it needs what link needs, and without it the device's table says", "-1">;

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

def PolicyOption : PlannerForm<PlannerPolicy>;
def BudgetOption : PlannerForm<PlannerBudget, "; one for all pipeline stages, or one for each: 80GB,40GB">;
def SecondsOption : PlannerForm<PlannerSeconds, "; where state or parameters lie on the host, on each of about a dozen">;
def EpiloguesOption : NamedOption<"epilogues", "epilogues", "::llmmem::Epilogues", "::llmmem::Epilogues::Auto", "choice",
  "Which matmuls take what follows them: auto (what the cheapest plan has; with products=library one choice for every budget), separate, unshared (matmuls that nothing else reads), fused, or generated (also what only generated matmuls can take)",
  "::llmmem::EpiloguesValues{/*withAuto=*/true}">;
def SavedBitsOption : NamedOption<"savedBits", "saved-bits", "int64_t", "0", "8",
  "Saved values may be held in 8 bits, where that is cheaper than to run ops again; changes gradients">;
def OverlapOption : Option<"overlap", "overlap", "bool", "false",
  "Run collectives at the same time as compute: each starts as early and is waited for as late as the plan allows">;

//===----------------------------------------------------------------------===//
// Files and reports
//===----------------------------------------------------------------------===//

def EmitProblemOption : NamedOption<"emitProblem", "emit-problem", "std::string", "", "file",
  "Write what the planner sees as a llmmem-problem">;
def EmitPlanOption : NamedOption<"emitPlan", "emit-plan", "std::string", "", "file",
  "Write what the planner decides as a llmmem-plan">;
def EmitProofOption : PlannerForm<PlannerEmitProof>;
def ExplainOption : PlannerForm<PlannerExplain,
  "; all: every saved value, what holds the peak, what more budget would buy, and, where there is no plan, what is held">;
def PrintReportOption : Option<"print", "print", "bool", "false", "Print resident, saved and peak bytes on stderr">;
def ReportJsonOption : NamedOption<"json", "json", "std::string", "", "file", "Write the report as JSON (- is stdout)">;

//===----------------------------------------------------------------------===//
// Kinds of passes
//===----------------------------------------------------------------------===//

/// Works on the step of a module alone: @step, else @forward, else its only function (Analysis/Step.h). Leaves other
/// functions as they are; fails where there is no step, or the step has more than one block.
class StepPass<string argument> : Pass<argument, "::mlir::func::FuncOp">;

#endif // LLMMEM_TRANSFORMS_OPTIONS
