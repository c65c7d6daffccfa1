//===- Passes.td - The way of the data, one pass a stage -------*- tablegen -*-===//
//
// The passes stand in the order in which they run. Options live here and nowhere else.
// `plan-checkpoints` and `report-memory` are implemented in lib/Reports, all others in
// lib/Transforms.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_PASSES
#define LLMMEM_TRANSFORMS_PASSES

include "llmmem/Transforms/TrainingPasses.td"
include "llmmem/Transforms/GuestPasses.td"
include "llmmem/Transforms/KernelPasses.td"

def MoveStateToHost : StepPass<"move-state-to-host"> {
  let summary = "Lets the optimizer's state, or parameters, lie on the host between steps";
  let description = [{
    Each argument of role `optimizer_state` that is no scalar moves to the host's memory. A host-to-device copy stands before its
    first reader, and a device-to-host copy into the argument stands after its new value (`include/llmmem/Transforms/StateOnHost.h`).
    With `parameters`, those of role `param` move too, except for small ones, and come for each op that reads them. With `updates`,
    elementwise updates run on the host: their gradients go to the host, new parameters come to the device, and state stays.

    *Requires*: a step that is not planned, whose state is donated to results. *Ensures*: the device holds state in its arena
    alone, and copies have their ns in `llm.cost`.

    ```mlir --move-state-to-host=link=25GB/s
    func.func @step(%p: tensor<1024xf32> {llm.role = "param", llm.donated = 0 : i64}, %g: tensor<1024xf32>,
        %m: tensor<1024xf32> {llm.role = "optimizer_state", llm.name = "p.momentum", llm.donated = 1 : i64},
        %lr: tensor<f32>) -> (tensor<1024xf32>, tensor<1024xf32>) {
      %p1, %m1 = llm.sgd %p, %g, %lr state(%m) {momentum = 0.9 : f64, weight_decay = 0.0 : f64, llm.phase = "update"}
         : (tensor<1024xf32>, tensor<1024xf32>, tensor<f32>, tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1024xf32>)
      return %p1, %m1 : tensor<1024xf32>, tensor<1024xf32>
    }
    // becomes
    func.func @step(..., %m: tensor<1024xf32, #llm.host> ..., %lr: tensor<f32>) -> (tensor<1024xf32>, tensor<1024xf32, #llm.host>) {
      %down = llm.copy_down %m {llm.cost = #llm.cost<flops = 0, bytes = 4096, ns = 164, workspace = 0>, ...
      %p1, %m1 = llm.sgd %p, %g, %lr state(%down) ...
      %up = llm.copy_up %m1 into(%m) ...
      return %p1, %up : tensor<1024xf32>, tensor<1024xf32, #llm.host>
    ```
  }];
  let options = [
    DeviceOption,
    LinkOption,
    LinkLatencyOption,
    Option<"optimizer", "optimizer", "bool", "true", "Whether the optimizer's state moves">,
    Option<"parameters", "parameters", "bool", "false", "Whether parameters move">,
    Option<"updates", "updates", "bool", "false", "Whether updates run on the host, where their state is">,
  ];
  let statistics = [Statistic<"numMoved", "moved", "Arguments that lie on the host">];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def AnnotateMemory : StepPass<"annotate-memory"> {
  let summary = "Writes bytes, costs, phases and blocks onto the ops of the step";
  let description = [{
    Makes the memory analysis readable in the text: `llm.bytes` for each result, `llm.cost` for each op. An op
    without a phase gets `forward`.

    *Requires*: a step of statically shaped straight-line ops with costs. *Ensures*: nothing but attributes has changed; a
    step that cannot be planned is refused with a located diagnostic.

    ```mlir
    func.func @step(%x: tensor<4x64xf32>, %w: tensor<64x32xf32>) -> tensor<4x32xf32> {
      %y = llm.linear %x, %w layout(in_out) : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
      return %y : tensor<4x32xf32>
    }
    // becomes
    %y = llm.linear %x, %w layout(in_out) {llm.bytes = array<i64: 512>,
        llm.cost = #llm.cost<flops = 16384, bytes = 9728, ns = 2003, workspace = 0>, llm.phase = "forward"} ...
    ```
  }];
  let options = [
    DeviceOption,
  ];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def PlanCheckpoints : StepPass<"plan-checkpoints"> {
  let summary = "Decides what to keep, what to recompute and in which order";
  let description = [{
    Hands the step as a Problem to the planner and writes the answer: `llm.id` on every op, `llm.schedule` on the function (the ids of
    the ops in execution order, again where recomputed), `llm.places` (the offset of each result of each run in it, and of each
    workspace), `llm.decision` on the ops of saved values, `llm.chunk` on ops that work in chunks (the plan of each chunk is compared,
    and the cheapest in all is taken), `llm.certificate`, `llm.policy` and `llm.budget`.
    A step whose matmuls could take what follows them (`include/llmmem/Transforms/Epilogues.h`) is planned with each
    choice, and becomes what the cheapest plan is made for; `llm.epilogues` says what was compared. Where a GPU's library
    is to compute epilogues, which decides last bits, the cheapest step is taken before the budget is looked at.
    With `host-budget` values may also leave for the host (`include/llmmem/Planning/Offload/OffloadProblem.h`): `llm.copies` says
    which, and their copies have numbers of their own in the schedule.

    *Requires*: what `annotate-memory` requires. *Ensures*: no op has changed except matmuls that took their epilogue; where no plan was found the pass
    fails, and says the least peak found, the proved lower bound and what would do; with `explain=all` the largest values at the position, too.

    ```mlir --plan-checkpoints=budget=10kB
    // x, w and v hold 3,072 bytes throughout, a 2,048, h 4,096 and r 2,048: where a is not kept, 10 kB are enough.
    func.func @step(%x: tensor<64x8xf32>, %w: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<64x8xf32> {
      %a = llm.gelu %x {llm.phase = "forward"} : tensor<64x8xf32>
      %h = llm.linear %a, %w layout(in_out) {llm.phase = "forward"} : (tensor<64x8xf32>, tensor<8x16xf32>) -> tensor<64x16xf32>
      %r = llm.linear %h, %v layout(in_out) {llm.phase = "forward"} : (tensor<64x16xf32>, tensor<16x8xf32>) -> tensor<64x8xf32>
      %d = llm.mul %r, %a {llm.phase = "backward"} : tensor<64x8xf32>
      return %d : tensor<64x8xf32>
    }
    // becomes
    func.func @step(...) -> tensor<64x8xf32> attributes {llm.budget = 10000 : i64,
        llm.certificate = {... cost_lower_bound_ns = 10010 : i64, ...},
        llm.places = [#llm.place<op = 0, instance = 0, result = 0, bytes = 2048, offset = 4096>, ...
                      #llm.place<op = 0, instance = 1, result = 0, bytes = 2048, offset = 0>, ...], llm.policy = "budget",
        llm.schedule = array<i64: 0, 1, 2, 0, 3>} {
      %a = llm.gelu %x {llm.decision = ["recompute"], llm.id = 0 : i64, llm.phase = "forward"} : tensor<64x8xf32>
      ...
      %r = llm.linear %h, %v layout(in_out) {llm.decision = ["keep"], llm.id = 2 : i64, llm.phase = "forward"} ...
    ```
  }];
  let options = [
    PolicyOption,
    BudgetOption,
    DeviceOption,
    SecondsOption,
    Option<"chunk", "chunk", "std::string", "\"auto\"", "Rows at a time of ops that work in chunks: auto, whole, or so many">,
    EpiloguesOption,
    SavedBitsOption,
    OverlapOption,
    HostBudgetOption,
    LinkOption,
    LinkLatencyOption,
    EmitProblemOption,
    EmitPlanOption,
    EmitProofOption,
    ExplainOption,
    Option<"failureReport", "failure-report", "std::string", "\"\"", "Write what is known of a budget that no plan keeps, as a llmmem-memory-report, to a file">,
  ];
  let statistics = [
    Statistic<"numKept", "saved values kept", "Saved values that stay in memory until the backward reads them">,
    Statistic<"numRecomputed", "saved values recomputed", "Saved values that the backward computes again">,
    Statistic<"numOffloaded", "saved values offloaded", "Saved values that leave for the host and come back">,
  ];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def ApplyCheckpoints : StepPass<"apply-checkpoints"> {
  let summary = "Reorders and clones ops as the schedule says, and puts each result at its place";
  let description = [{
    *Requires*: a step with `llm.schedule` and an `llm.id` on every op that is no view and no constant. *Ensures*: ops work in the chunks of
    `llm.chunk`; the ops stand in the schedule's order; each repeat is a clone with `llm.clone_of` and
    `llm.instance`, and each reader reads the latest run before it, or what the last copy brought back from the host
    (`llm.copies`); where there are `llm.places`, each result of each run lies at the place of its name, and the step has what
    `plan-arena` writes; schedule, places and copies are consumed, and so are the ids of ops without clones. A step that was edited
    after its plan was made is refused, with what the plan says and what the step has.

    ```mlir
    func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.schedule = array<i64: 0, 1, 0, 2>} {
      %a = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
      %b = llm.silu %a {llm.id = 1 : i64} : tensor<64xf32>
      %c = llm.mul %b, %a {llm.id = 2 : i64} : tensor<64xf32>
      return %c : tensor<64xf32>
    }
    // becomes
    func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> {
      %a = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
      %b = llm.silu %a : tensor<64xf32>
      %again = llm.gelu %x {llm.clone_of = 0 : i64, llm.instance = 1 : i64} : tensor<64xf32>
      %c = llm.mul %b, %again : tensor<64xf32>
      return %c : tensor<64xf32>
    }
    ```
  }];
  let statistics = [Statistic<"numClones", "clones", "Ops that run again">];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def PlanArena : StepPass<"plan-arena"> {
  let summary = "Gives every value and workspace of a step without a plan its place in one arena";
  let description = [{
    Packs the live ranges of the ops as they stand. A step that `apply-checkpoints` has placed keeps the places of its plan.

    *Ensures*: every op carries `llm.offsets`, one per result (-1: the bytes are an argument's), an op with a
    workspace `llm.workspace`, the function `llm.arena` and `llm.peak`, and `llm.host_arena` where values lie on the host;
    fails where `llm.budget` or `llm.host_budget` is exceeded.

    ```mlir
    func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> {
      %a = llm.gelu %x : tensor<64xf32>
      %b = llm.silu %a : tensor<64xf32>
      %c = llm.mul %a, %b : tensor<64xf32>
      return %c : tensor<64xf32>
    }
    // becomes
    func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 512 : i64, llm.peak = 768 : i64} {
      %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
      %b = llm.silu %a {llm.offsets = array<i64: 256>} : tensor<64xf32>
      %c = llm.mul %a, %b {llm.offsets = array<i64: 0>} : tensor<64xf32>
      return %c : tensor<64xf32>
    }
    ```
  }];
  let options = [
    DeviceOption,
  ];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def StartCollectives : StepPass<"start-collectives"> {
  let summary = "Starts each collective as early, and waits for it as late, as bytes and operands allow";
  let description = [{
    A collective over more than one rank gets `llm.started` and moves up, to after the op that makes what it reads or
    uses bytes which it writes. Its `llm.wait` stands before the first op that reads its result or writes bytes which it
    uses, or before the step ends (`include/llmmem/Transforms/StartCollectives.h`).

    *Requires*: a step with `llm.offsets` and `llm.arena`, without starts. *Ensures*: no offset has changed, `llm.peak` is that
    of the new order, and views of a result stand after its wait.

    ```mlir
    func.func @step(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<64xf32>
        attributes {llm.arena = 1024 : i64, llm.mesh = #llm.mesh<dp = 2>, llm.peak = 1280 : i64} {
      %f = llm.silu %y {llm.offsets = array<i64: 512>} : tensor<64xf32>
      %sum = llm.all_reduce %x over ["dp"] {llm.offsets = array<i64: 0>, llm.workspace = array<i64: 256, 256>} : tensor<64xf32>
      %g = llm.gelu %f {llm.offsets = array<i64: 512>} : tensor<64xf32>
      %z = llm.mul %sum, %g {llm.offsets = array<i64: 768>} : tensor<64xf32>
      return %z : tensor<64xf32>
    }
    // becomes
    %sum = llm.all_reduce %x over ["dp"] {llm.offsets = array<i64: 0>, llm.started, llm.workspace = array<i64: 256, 256>} : tensor<64xf32>
    %f = llm.silu %y {llm.offsets = array<i64: 512>} : tensor<64xf32>
    %g = llm.gelu %f {llm.offsets = array<i64: 512>} : tensor<64xf32>
    %there = llm.wait %sum {llm.offsets = array<i64: 0>} : tensor<64xf32>
    %z = llm.mul %there, %g {llm.offsets = array<i64: 768>} : tensor<64xf32>
    ```
  }];
  let statistics = [Statistic<"numStarts", "starts", "Collectives that run at the same time as other ops">];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def StartHostCopies : StepPass<"start-host-copies"> {
  let summary = "Starts each copy to and from the host as early, and waits for it as late, as bytes and operands allow";
  let description = [{
    Does what `start-collectives` does, by the same rules (`include/llmmem/Transforms/StartCollectives.h`), with two differences:
    device-to-host copies run one after another, and so do host-to-device copies, but a copy that needs the end of one of the
    other direction stands after its wait.

    *Requires*: a step with `llm.offsets` and `llm.arena`, without starts. *Ensures*: no offset has changed, `llm.peak` is that
    of the new order, and views of a result stand after its wait.

    ```mlir
    func.func @step(%x: tensor<64xf32>) -> tensor<64xf32>
        attributes {llm.arena = 512 : i64, llm.host_arena = 256 : i64, llm.peak = 768 : i64} {
      %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
      %f = llm.silu %a {llm.offsets = array<i64: 256>} : tensor<64xf32>
      %up = llm.copy_up %a {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
      %g = llm.gelu %f {llm.offsets = array<i64: 0>} : tensor<64xf32>
      %down = llm.copy_down %up {llm.offsets = array<i64: 256>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
      %z = llm.mul %g, %down {llm.offsets = array<i64: 0>} : tensor<64xf32>
      return %z : tensor<64xf32>
    }
    // becomes
    %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
    %up = llm.copy_up %a {llm.offsets = array<i64: 0>, llm.started} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
    %f = llm.silu %a {llm.offsets = array<i64: 256>} : tensor<64xf32>
    %left = llm.wait %up {llm.offsets = array<i64: 0>} : tensor<64xf32, #llm.host>
    %g = llm.gelu %f {llm.offsets = array<i64: 0>} : tensor<64xf32>
    %down = llm.copy_down %left {llm.offsets = array<i64: 256>, llm.started} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
    %back = llm.wait %down {llm.offsets = array<i64: 256>} : tensor<64xf32>
    %z = llm.mul %g, %back {llm.offsets = array<i64: 0>} : tensor<64xf32>
    ```
  }];
  let statistics = [Statistic<"numStarts", "starts", "Copies and updates that run at the same time as other ops">];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def VerifyPlan : StepPass<"verify-plan"> {
  let summary = "Re-derives lifetimes, overlaps and the peak, and refuses a false claim";
  let description = [{
    Calls nothing of the planner, of the extraction, of the placement or of the liveness analysis, and counts bytes by
    itself. It reads what an op states (its views, what it may overwrite, its cost) from the op, as those do. Each broken
    rule is an error at the op that breaks it, with the rule's name in brackets
    (`include/llmmem/Analysis/PlanVerifier.h` lists them). Whatever the step claims is checked as far as its own ops can
    refute it: the certificate and `llm.epilogues` too.

    *Requires*: a step with `llm.offsets` and `llm.arena`. *Ensures*: the budget holds, or the pass fails.

    ```mlir
    // %a is read after %b is written, so they must not share bytes.
    func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 768 : i64} {
      %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
      %b = llm.silu %a {llm.offsets = array<i64: 0>} : tensor<64xf32>
      %c = llm.mul %a, %b {llm.offsets = array<i64: 0>} : tensor<64xf32>
      return %c : tensor<64xf32>
    }
    // is refused
    // error: [overlap] result 0 at bytes 0 to 256 meets a value that is still held
    // note: which stands at byte 0 and is read later
    ```
  }];
}

def ReportMemory : StepPass<"report-memory"> {
  let summary = "Prints resident, saved and peak bytes of a planned step";
  let description = [{
    Prints for people on stderr, for programs as JSON, and for tests and tools as remarks of the category `llmmem-memory`
    (`peak`, `arena`, `resident`, `saved`, `saved-block`, `recompute`). Changes nothing.

    ```mlir --report-memory=print=true
    func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 512 : i64, llm.peak = 768 : i64} {
      %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
      %b = llm.silu %a {llm.offsets = array<i64: 256>} : tensor<64xf32>
      %c = llm.mul %a, %b {llm.offsets = array<i64: 0>} : tensor<64xf32>
      return %c : tensor<64xf32>
    }
    // prints
    // input ... 256 bytes
    // peak ... 768 B (768 bytes) at op 1, llm.silu
    // arena ... 512 B (512 bytes), fragmentation 0.000 %
    ```
  }];
  let options = [
    PrintReportOption,
    ReportJsonOption,
    DeviceOption,
  ];
}

#endif // LLMMEM_TRANSFORMS_PASSES
