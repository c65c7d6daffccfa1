//===- LlmAnnotations.td - Attributes that passes leave on ops -*- tablegen -*-===//
//
// This is the one list of the dialect's discardable attributes. It generates their names
// (`LlmDialect::kPhase`), the typed helpers of MLIR (`getPhaseAttrHelper()`), the table in the
// dialect's description, and the dialect's verifier, which refuses an `llm.*` attribute that is not
// here, holds something else or stands in the wrong place.
//
// Their values are attributes of MLIR itself wherever a tool without this dialect must read them.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_LLMANNOTATIONS
#define LLMMEM_DIALECT_LLMANNOTATIONS

include "mlir/IR/EnumAttr.td"

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

// An annotation with a fixed set of words is a string in the text and an enum in C++.
class Llm_Words<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::llmmem::llm";
}

def Llm_Role : Llm_Words<"Role", "What an argument of a step is", [
  I32EnumAttrCase<"Param", 0, "param">,
  I32EnumAttrCase<"OptimizerState", 1, "optimizer_state">,
  I32EnumAttrCase<"Gradient", 2, "gradient">,
  I32EnumAttrCase<"Input", 3, "input">,
  I32EnumAttrCase<"KvCache", 4, "kv_cache">,
  I32EnumAttrCase<"Seed", 5, "seed">]>;

def Llm_Phase : Llm_Words<"Phase", "The part of a step that an op belongs to", [
  I32EnumAttrCase<"Forward", 0, "forward">,
  I32EnumAttrCase<"Backward", 1, "backward">,
  I32EnumAttrCase<"Update", 2, "update">]>;

def Llm_Decision : Llm_Words<"Decision", "What a plan does with a result", [
  I32EnumAttrCase<"Keep", 0, "keep">,
  I32EnumAttrCase<"Recompute", 1, "recompute">,
  I32EnumAttrCase<"Offload", 2, "offload">,
  I32EnumAttrCase<"Unsaved", 3, "unsaved">]>;

def Llm_CostSource : Llm_Words<"CostSource", "Who says what an op of a foreign graph costs", [
  I32EnumAttrCase<"Written", 0, "written">,
  I32EnumAttrCase<"Table", 1, "table">,
  I32EnumAttrCase<"Traffic", 2, "traffic">]>;

//===----------------------------------------------------------------------===//
// Values and places
//===----------------------------------------------------------------------===//

// Says what an annotation holds. `check` is a function of include/llmmem/Dialect/Annotation.h that
// receives the op and the attribute; `expected` ends the sentence "'llm.name' is ..., expected
// ...".
class Llm_Value<string storageType, string checkFunction, string expectedText> {
  string storage = storageType;
  string check = checkFunction;
  string expected = expectedText;
}
def Llm_IsRole : Llm_Value<"::mlir::StringAttr", "isRole", "one of param, optimizer_state, gradient, input, kv_cache, seed">;
def Llm_IsPhase : Llm_Value<"::mlir::StringAttr", "isPhase", "one of forward, backward, update">;
def Llm_AreDecisions : Llm_Value<"::mlir::ArrayAttr", "areDecisions", "an array of keep, recompute, offload, unsaved">;
def Llm_IsCostSource : Llm_Value<"::mlir::StringAttr", "isCostSource", "one of written, table, traffic">;
def Llm_IsText : Llm_Value<"::mlir::StringAttr", "isText", "a string">;
def Llm_AreTexts : Llm_Value<"::mlir::ArrayAttr", "areTexts", "an array of strings">;
def Llm_IsNumber : Llm_Value<"::mlir::IntegerAttr", "isNumber", "a number">;
def Llm_IsBlock : Llm_Value<"::mlir::IntegerAttr", "isBlock", "a number from 0 to 1048575 as i64">;
def Llm_IsLibraryWorkspace : Llm_Value<"::mlir::IntegerAttr", "isLibraryWorkspace",
    "a multiple of 256 on an op that multiplies matrices">;
def Llm_AreNumbers : Llm_Value<"::mlir::DenseI64ArrayAttr", "areNumbers", "array<i64: ...>">;
def Llm_AreViews : Llm_Value<"::mlir::DenseI64ArrayAttr", "areViews",
    "array<i64: ...> with the number of an operand, or -1, for each result">;
def Llm_AreOperandLists : Llm_Value<"::mlir::ArrayAttr", "areOperandLists",
    "an array<i64: ...> of numbers of operands for each result">;
def Llm_IsResident : Llm_Value<"::mlir::UnitAttr", "isResident", "no value, on an op without operands">;
def Llm_IsReal : Llm_Value<"::mlir::FloatAttr", "isReal", "a floating-point number">;
def Llm_IsFlag : Llm_Value<"::mlir::UnitAttr", "isFlag", "no value">;
def Llm_IsStart : Llm_Value<"::mlir::UnitAttr", "isStart", "no value, on a collective or a copy to or from the host">;
def Llm_IsDictionary : Llm_Value<"::mlir::DictionaryAttr", "isDictionary", "a dictionary">;
def Llm_AreDictionaries : Llm_Value<"::mlir::ArrayAttr", "areDictionaries", "an array of dictionaries">;
def Llm_AreSymbols : Llm_Value<"::mlir::ArrayAttr", "areSymbols", "an array of symbols">;
def Llm_AreLocations : Llm_Value<"::mlir::ArrayAttr", "areLocations", "an array of locations">;
def Llm_ArePlaces : Llm_Value<"::mlir::ArrayAttr", "arePlaces", "an array of #llm.place<...>">;
def Llm_IsCost : Llm_Value<"::llmmem::llm::CostAttr", "isCost", "#llm.cost<...>">;
def Llm_IsTraining : Llm_Value<"::llmmem::llm::TrainingAttr", "isTraining", "#llm.training<...>">;
def Llm_IsMesh : Llm_Value<"::llmmem::llm::MeshAttr", "isMesh", "#llm.mesh<...>">;
def Llm_IsTensorType : Llm_Value<"::mlir::TypeAttr", "isTensorType", "a type of tensors of static shape">;
def Llm_IsSharding : Llm_Value<"::llmmem::llm::ShardingAttr", "isSharding", "#llm.sharding<...>">;
def Llm_IsDataParallel : Llm_Value<"::llmmem::llm::DataParallelAttr", "isDataParallel", "#llm.data_parallel<...>">;

// Says where an annotation may stand.
class Llm_Place<string caseName, string spelling> {
  string cpp = "AnnotationPlace::" # caseName;
  string text = spelling;
}
def Llm_OnArgument : Llm_Place<"Argument", "argument">;
def Llm_OnOp : Llm_Place<"Op", "op">;
def Llm_OnArgumentOrOp : Llm_Place<"ArgumentOrOp", "argument, op">;
def Llm_OnFunction : Llm_Place<"Function", "function">;
def Llm_OnModule : Llm_Place<"Module", "module">;

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

class Llm_Annotation<string cppName, string attributeName, Llm_Value annotationValue, Llm_Place annotationPlace,
    string text> {
  string cpp = cppName; // Follows `LlmDialect::k`.
  string name = attributeName;
  Llm_Value value = annotationValue;
  Llm_Place place = annotationPlace;
  string meaning = text;
}

// The importer and `differentiate` say these of a step.
def Llm_TrainingAnnotation : Llm_Annotation<"Training", "training", Llm_IsTraining, Llm_OnModule,
    "how `differentiate` makes a training step of the forward function">;
def Llm_MeshAnnotation : Llm_Annotation<"Mesh", "mesh", Llm_IsMesh, Llm_OnFunction,
    "the axes that the ranks of a run are arranged by; without it there is one rank">;
def Llm_ShardingAnnotation : Llm_Annotation<"Sharding", "sharding", Llm_IsSharding, Llm_OnArgumentOrOp,
    "over which axes its dimensions, or those of an op's first result, are split; `parallelize` takes it as given">;
def Llm_ShardAnnotation : Llm_Annotation<"Shard", "shard", Llm_AreTexts, Llm_OnArgument,
    "axes over which it, or the part that `llm.sharding` gives, is split into equal parts in row-major order; a rank holds the part of its position">;
def Llm_WholeAnnotation : Llm_Annotation<"Whole", "whole", Llm_IsTensorType, Llm_OnArgument,
    "type of what all ranks hold together of an argument with `llm.shard` or `llm.sharding`; checkpoints have its shape">;
def Llm_ServerAnnotation : Llm_Annotation<"Server", "server", Llm_AreTexts, Llm_OnArgument,
    "axes along whose group only position 0 holds the whole argument; the others hold no bytes">;
def Llm_DataParallelAnnotation : Llm_Annotation<"DataParallel", "data_parallel", Llm_IsDataParallel, Llm_OnArgument,
    "the axes that its gradient is summed over, and the parts of its update that they split">;
def Llm_MicroBatchesAnnotation : Llm_Annotation<"MicroBatches", "micro_batches", Llm_IsNumber, Llm_OnFunction,
    "how many micro-batches a rank's part of the batch is; of a function with the argument `micro_batch`, how often it runs">;
def Llm_MicroBatchAnnotation : Llm_Annotation<"MicroBatch", "micro_batch", Llm_IsNumber, Llm_OnOp,
    "the micro-batch that it belongs to, where one function has all of them">;
def Llm_StageAnnotation : Llm_Annotation<"Stage", "stage", Llm_IsNumber, Llm_OnFunction,
    "the position along the axis `pp` of the ranks that run it">;
def Llm_PipelineAnnotation : Llm_Annotation<"Pipeline", "pipeline", Llm_IsDictionary, Llm_OnModule,
    "how the stages in it run: `schedule`, `stages`, `micro_batches`, `chunks`">;
def Llm_RoleAnnotation : Llm_Annotation<"Role", "role", Llm_IsRole, Llm_OnArgument,
    "what it is: `param`, `optimizer_state`, `gradient`, `input`, `kv_cache`, `seed`">;
def Llm_FrozenAnnotation : Llm_Annotation<"Frozen", "frozen", Llm_IsFlag, Llm_OnArgument,
    "a parameter that is not trained: it gets no gradient, no state and no update">;
def Llm_TransposedAnnotation : Llm_Annotation<"Transposed", "transposed", Llm_IsFlag, Llm_OnArgument,
    "a matrix of parameters that checkpoints hold transposed, and that is initialised in their order">;
def Llm_WeightDecayAnnotation : Llm_Annotation<"WeightDecay", "weight_decay", Llm_IsReal, Llm_OnArgument,
    "the weight decay of a parameter, which overrides that of `llm.training`">;
def Llm_InitialAnnotation : Llm_Annotation<"Initial", "initial", Llm_IsReal, Llm_OnArgument,
    "the number that a state begins as where no file gives it; 0 without">;
def Llm_DonatedAnnotation : Llm_Annotation<"Donated", "donated", Llm_IsNumber, Llm_OnArgument,
    "index of the function result that reuses its bytes">;
def Llm_ContextAnnotation : Llm_Annotation<"Context", "context", Llm_IsNumber, Llm_OnFunction,
    "the largest number of tokens of a sequence, for a step with caches">;
def Llm_NameAnnotation : Llm_Annotation<"Name", "name", Llm_IsText, Llm_OnArgumentOrOp,
    "the public name of a parameter; a name for people">;
def Llm_ResultNamesAnnotation : Llm_Annotation<"ResultNames", "result_names", Llm_AreTexts, Llm_OnOp,
    "names of its results, for a group with several">;
def Llm_PhaseAnnotation : Llm_Annotation<"Phase", "phase", Llm_IsPhase, Llm_OnOp,
    "`forward`, `backward` or `update`">;
def Llm_BlockAnnotation : Llm_Annotation<"Block", "block", Llm_IsBlock, Llm_OnOp,
    "the transformer layer that it belongs to">;
def Llm_CoreAttentionAnnotation : Llm_Annotation<"CoreAttention", "core_attention", Llm_IsFlag, Llm_OnOp,
    "it lies between the scores and the matmul with the values">;

// A graph of another compiler says these of itself, by hand or by an op table
// (docs/Design/Graphs.md). Ops that implement `BufferOpInterface` and `CostOpInterface` answer
// instead.
def Llm_EntryAnnotation : Llm_Annotation<"Entry", "entry", Llm_IsText, Llm_OnModule,
    "name of the function that is the step">;
def Llm_LossAnnotation : Llm_Annotation<"Loss", "loss", Llm_IsNumber, Llm_OnFunction,
    "index of the result that is the loss">;
def Llm_ViewsAnnotation : Llm_Annotation<"Views", "views", Llm_AreViews, Llm_OnOp,
    "for each result the operand that it is a view of; -1 where it has bytes of its own">;
def Llm_InPlaceAnnotation : Llm_Annotation<"InPlace", "in_place", Llm_AreOperandLists, Llm_OnOp,
    "for each result the operands whose bytes it may reuse">;
def Llm_InArgumentAnnotation : Llm_Annotation<"InArgument", "in_argument", Llm_AreNumbers, Llm_OnOp,
    "for each result the argument whose bytes it overwrites, once no op reads them; -1 where there is none">;
def Llm_PureAnnotation : Llm_Annotation<"Pure", "pure", Llm_IsFlag, Llm_OnOp,
    "running it twice gives the same bits and changes nothing else">;
def Llm_ResidentAnnotation : Llm_Annotation<"Resident", "resident", Llm_IsResident, Llm_OnOp,
    "a constant, whose results are held throughout, as arguments are">;
def Llm_CostFromAnnotation : Llm_Annotation<"CostFrom", "cost_from", Llm_IsCostSource, Llm_OnOp,
    "the source of its `llm.cost`: `written` by hand, an op `table`, or its `traffic` alone">;

// `annotate-memory` computes these.
def Llm_CostAnnotation : Llm_Annotation<"Cost", "cost", Llm_IsCost, Llm_OnOp,
    "modelled cost of one run (in the chunk of `llm.chunk`, where there is one)">;
def Llm_BytesAnnotation : Llm_Annotation<"Bytes", "bytes", Llm_AreNumbers, Llm_OnOp,
    "bytes of each result">;

// `plan-checkpoints` decides these.
def Llm_PolicyAnnotation : Llm_Annotation<"Policy", "policy", Llm_IsText, Llm_OnFunction,
    "the policy that decided">;
def Llm_BudgetAnnotation : Llm_Annotation<"Budget", "budget", Llm_IsNumber, Llm_OnFunction,
    "budget in bytes">;
def Llm_HostBudgetAnnotation : Llm_Annotation<"HostBudget", "host_budget", Llm_IsNumber, Llm_OnFunction,
    "budget of the host's memory, in bytes">;
def Llm_DecisionAnnotation : Llm_Annotation<"Decision", "decision", Llm_AreDecisions, Llm_OnOp,
    "for each result `keep`, `recompute`, `offload` (to the host and back), or `unsaved` where the backward does not read it">;
def Llm_ChunkAnnotation : Llm_Annotation<"Chunk", "chunk", Llm_IsNumber, Llm_OnOp,
    "the rows of a chunk, decided but not yet set (`ChunkedOpInterface`)">;
def Llm_ScheduleAnnotation : Llm_Annotation<"Schedule", "schedule", Llm_AreNumbers, Llm_OnFunction,
    "the ops in execution order, each by its `llm.id`">;
def Llm_CopiesAnnotation : Llm_Annotation<"Copies", "copies", Llm_AreNumbers, Llm_OnFunction,
    "the offloaded values: for each the `llm.id` of its op and the number of the result, and the ns of its device-to-host and its host-to-device copy; in the schedule the first copy of value k is the number of the ops + 2k, and the second the next number">;
def Llm_PlacesAnnotation : Llm_Annotation<"Places", "places", Llm_ArePlaces, Llm_OnFunction,
    "where each result of each run of the schedule lies, and each workspace, for `apply-checkpoints`">;
def Llm_CertificateAnnotation : Llm_Annotation<"Certificate", "certificate", Llm_IsDictionary, Llm_OnFunction,
    "the proved lower bounds on cost and peak, and on the time where collectives or copies overlap; what the step takes without a budget">;
def Llm_EpiloguesAnnotation : Llm_Annotation<"Epilogues", "epilogues", Llm_AreDictionaries, Llm_OnFunction,
    "the choices of epilogues that were compared, with the cost and bytes of their plans">;
def Llm_LibraryWorkspaceAnnotation : Llm_Annotation<"LibraryWorkspace", "library_workspace", Llm_IsLibraryWorkspace, Llm_OnOp,
    "scratch bytes of a matmul library while it runs">;

def Llm_IdAnnotation : Llm_Annotation<"Id", "id", Llm_IsNumber, Llm_OnOp,
    "the number by which a plan names it; once the plan is applied, ops that have clones keep theirs">;

// `apply-checkpoints` writes these.
def Llm_CloneOfAnnotation : Llm_Annotation<"CloneOf", "clone_of", Llm_IsNumber, Llm_OnOp,
    "the number of the op that it recomputes">;
def Llm_InstanceAnnotation : Llm_Annotation<"Instance", "instance", Llm_IsNumber, Llm_OnOp,
    "which run this is; keeps CSE from merging clones">;

// `apply-checkpoints` writes these for a plan's places, and `plan-arena` for a step without a plan.
def Llm_OffsetsAnnotation : Llm_Annotation<"Offsets", "offsets", Llm_AreNumbers, Llm_OnOp,
    "arena byte offset of each result, in the arena of its memory; -1 where its bytes are an argument's">;
def Llm_WorkspaceAnnotation : Llm_Annotation<"Workspace", "workspace", Llm_AreNumbers, Llm_OnOp,
    "offset and bytes of its scratch memory in the arena">;
def Llm_ArenaAnnotation : Llm_Annotation<"Arena", "arena", Llm_IsNumber, Llm_OnFunction,
    "arena bytes">;
def Llm_HostArenaAnnotation : Llm_Annotation<"HostArena", "host_arena", Llm_IsNumber, Llm_OnFunction,
    "bytes of the arena in the host's memory">;
def Llm_PeakAnnotation : Llm_Annotation<"Peak", "peak", Llm_IsNumber, Llm_OnFunction,
    "claimed peak in bytes">;

// `start-collectives` and `start-host-copies` write this.
def Llm_StartedAnnotation : Llm_Annotation<"Started", "started", Llm_IsStart, Llm_OnOp,
    "overlaps the ops after it, until the `llm.wait` for it; it has the same meaning on a lowered loop">;

def Llm_OnHostAnnotation : Llm_Annotation<"OnHost", "on_host", Llm_IsFlag, Llm_OnOp,
    "on a started loop after lowering, and on a call of a step for a GPU: it runs on the host and, if started, overlaps the step">;

// Lowered steps say these to later passes, to profiles and to the emulator (docs/Design/Gpu.md).
def Llm_ProfileAnnotation : Llm_Annotation<"Profile", "profile", Llm_IsDictionary, Llm_OnOp,
    "on a call: the kernel, name, phase, block, FLOPs and bytes that a profile prints">;
def Llm_ValuesAnnotation : Llm_Annotation<"Values", "values", Llm_AreNumbers, Llm_OnOp,
    "on a call: the number of the value that each operand holds">;
def Llm_WritesAnnotation : Llm_Annotation<"Writes", "writes", Llm_AreNumbers, Llm_OnOp,
    "on a call: the operands that it writes">;
def Llm_RegistersAnnotation : Llm_Annotation<"Registers", "registers", Llm_IsNumber, Llm_OnOp,
    "on a barrier of a GPU kernel: the registers that a thread needs">;
def Llm_ClusterBlocksAnnotation : Llm_Annotation<"ClusterBlocks", "cluster_blocks", Llm_IsNumber, Llm_OnOp,
    "on a barrier of a GPU kernel's clusters: the blocks of a cluster">;
def Llm_ExpectedIterationsAnnotation : Llm_Annotation<"ExpectedIterations", "expected_iterations", Llm_IsReal, Llm_OnOp,
    "on a data-dependent loop or branch of a GPU kernel: how often its body runs on average">;
def Llm_ExpectedShareAnnotation : Llm_Annotation<"ExpectedShare", "expected_share", Llm_IsReal, Llm_OnArgument,
    "on a buffer of the host function of a GPU kernel, where data decides what is read: the share of its bytes that must be read">;
def Llm_KernelsAnnotation : Llm_Annotation<"Kernels", "kernels", Llm_AreSymbols, Llm_OnModule,
    "the GPU kernels that host code launches by number">;
def Llm_LibraryCallsAnnotation : Llm_Annotation<"LibraryCalls", "library_calls", Llm_AreLocations, Llm_OnModule,
    "the locations of the library matmuls that host code runs by number">;
def Llm_MissingProductsAnnotation : Llm_Annotation<"MissingProducts", "missing_products", Llm_AreDictionaries, Llm_OnModule,
    "forms of matmuls for which the library of a device has no algorithm, so that the converted step does not call it for them">;
def Llm_EmulationAnnotation : Llm_Annotation<"Emulation", "emulation", Llm_IsDictionary, Llm_OnModule,
    "what the emulator checks accesses and launches against">;

defvar Llm_Annotations = [
  Llm_TrainingAnnotation, Llm_MeshAnnotation, Llm_ShardingAnnotation, Llm_ShardAnnotation, Llm_WholeAnnotation,
  Llm_ServerAnnotation, Llm_DataParallelAnnotation, Llm_MicroBatchesAnnotation, Llm_MicroBatchAnnotation, Llm_StageAnnotation,
  Llm_PipelineAnnotation, Llm_RoleAnnotation, Llm_FrozenAnnotation, Llm_TransposedAnnotation, Llm_WeightDecayAnnotation, Llm_InitialAnnotation,
  Llm_DonatedAnnotation, Llm_ContextAnnotation, Llm_NameAnnotation,
  Llm_ResultNamesAnnotation, Llm_PhaseAnnotation, Llm_BlockAnnotation, Llm_CoreAttentionAnnotation,
  Llm_EntryAnnotation, Llm_LossAnnotation, Llm_ViewsAnnotation, Llm_InPlaceAnnotation,
  Llm_InArgumentAnnotation,  Llm_PureAnnotation, Llm_ResidentAnnotation, Llm_CostFromAnnotation,
  Llm_CostAnnotation, Llm_BytesAnnotation, Llm_PolicyAnnotation, Llm_BudgetAnnotation, Llm_HostBudgetAnnotation, Llm_DecisionAnnotation,
  Llm_ChunkAnnotation, Llm_ScheduleAnnotation, Llm_CopiesAnnotation, Llm_PlacesAnnotation, Llm_CertificateAnnotation,
  Llm_EpiloguesAnnotation, Llm_LibraryWorkspaceAnnotation, Llm_IdAnnotation, Llm_CloneOfAnnotation,
  Llm_InstanceAnnotation, Llm_OffsetsAnnotation, Llm_WorkspaceAnnotation, Llm_ArenaAnnotation, Llm_HostArenaAnnotation,
  Llm_PeakAnnotation, Llm_StartedAnnotation, Llm_OnHostAnnotation, Llm_ProfileAnnotation, Llm_ValuesAnnotation, Llm_WritesAnnotation,
  Llm_RegistersAnnotation, Llm_ClusterBlocksAnnotation, Llm_ExpectedIterationsAnnotation, Llm_ExpectedShareAnnotation,
  Llm_KernelsAnnotation,
  Llm_LibraryCallsAnnotation, Llm_MissingProductsAnnotation, Llm_EmulationAnnotation];

#endif // LLMMEM_DIALECT_LLMANNOTATIONS
