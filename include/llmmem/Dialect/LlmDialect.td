//===- LlmDialect.td - The dialect of transformer steps --------*- tablegen -*-===//

#ifndef LLMMEM_DIALECT_LLMDIALECT
#define LLMMEM_DIALECT_LLMDIALECT

include "mlir/IR/OpBase.td"

def LlmDialect : Dialect {
  let name = "llm";
  let cppNamespace = "::llmmem::llm";
  let summary = "Training steps of transformers on statically shaped tensors.";
  let description = [{
    The ops that GPT-2, Llama, Mistral and Qwen2 need, forward, backward and update. All are pure functions of
    tensors: `into` operands are values that a result may take over, never hidden state.

    Rounding. Every op computes in f32 (f64 on f64 tensors) and rounds once, when it stores a result. Sums run in
    a fixed order. So equal operands give equal bits, wherever and however often an op runs.

    Shapes. `x` is [batch, seq, width] unless an op says else. Heads lie side by side in the width:
    head i is columns i*d to (i+1)*d.

    Facts of the whole step are attributes that other passes read and write:

    | attribute | on | meaning |
    |---|---|---|
    | `llm.role` | argument | `param`, `optimizer_state`, `gradient`, `input`, `kv_cache`, `seed` |
    | `llm.name` | argument, op | the public name of a parameter; a name for people |
    | `llm.donated` | argument | index of the function result that takes over its bytes |
    | `llm.result_names` | kernel | names of its results, where it has several |
    | `llm.phase` | op | `forward`, `backward`, `update` |
    | `llm.block` | op | the transformer layer it belongs to |
    | `llm.core_attention` | op | lies between the scores and the product with the values |
    | `llm.cost`, `llm.bytes` | op | modelled cost of a run (in the chunk of `llm.chunk`, where there is one), bytes of each result |
    | `llm.chunk` | op | rows at a time, decided and not yet set (`ChunkedOpInterface`) |
    | `llm.decision` | op | for each result: `keep`, `recompute`, or `unsaved` |
    | `llm.id` | op | its number, where it has clones |
    | `llm.clone_of`, `llm.instance` | op | the number of the op that it runs again, and which run this is; keeps CSE from merging clones |
    | `llm.library_workspace` | op | bytes that a library of products may have while it runs |
    | `llm.offsets`, `llm.workspace` | op | places in the arena, in bytes |
    | `llm.schedule`, `llm.placement`, `llm.policy`, `llm.budget`, `llm.certificate`, `llm.arena`, `llm.peak` | function | the plan and what it claims |
    | `llm.epilogues` | function | the choices of epilogues that were compared, with their plans' cost and bytes |
  }];
  let hasConstantMaterializer = 0;
  let useDefaultAttributePrinterParser = 1;
  // A misspelt phase or role would silently change what a plan counts.
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    static constexpr llvm::StringLiteral kRole = "llm.role";
    static constexpr llvm::StringLiteral kName = "llm.name";
    static constexpr llvm::StringLiteral kResultNames = "llm.result_names";
    static constexpr llvm::StringLiteral kDonated = "llm.donated";
    static constexpr llvm::StringLiteral kPhase = "llm.phase";
    static constexpr llvm::StringLiteral kBlock = "llm.block";
    static constexpr llvm::StringLiteral kCoreAttention = "llm.core_attention";
    static constexpr llvm::StringLiteral kInstance = "llm.instance";
    static constexpr llvm::StringLiteral kId = "llm.id";
    static constexpr llvm::StringLiteral kCloneOf = "llm.clone_of";
    static constexpr llvm::StringLiteral kCost = "llm.cost";
    static constexpr llvm::StringLiteral kBytes = "llm.bytes";
    static constexpr llvm::StringLiteral kPolicy = "llm.policy";
    static constexpr llvm::StringLiteral kDecision = "llm.decision";   // keep | recompute, on saved values' ops
    static constexpr llvm::StringLiteral kChunk = "llm.chunk";         // the chunk that the plan chose
    static constexpr llvm::StringLiteral kSchedule = "llm.schedule";   // op positions in execution order
    static constexpr llvm::StringLiteral kPlacement = "llm.placement"; // the schedule's offsets, consumed by plan-arena
    static constexpr llvm::StringLiteral kCertificate = "llm.certificate";
    static constexpr llvm::StringLiteral kEpilogues = "llm.epilogues"; // the choices that were compared
    static constexpr llvm::StringLiteral kOffsets = "llm.offsets";     // arena byte offset of each result
    static constexpr llvm::StringLiteral kWorkspace = "llm.workspace"; // [offset, bytes]
    static constexpr llvm::StringLiteral kArena = "llm.arena";         // arena bytes, on the function
    static constexpr llvm::StringLiteral kBudget = "llm.budget";       // budget bytes, on the function
    static constexpr llvm::StringLiteral kPeak = "llm.peak";           // claimed peak bytes, on the function
    static constexpr llvm::StringLiteral kTraining = "llm.training";   // #llm.training, on the module
  }];
}

#endif // LLMMEM_DIALECT_LLMDIALECT
