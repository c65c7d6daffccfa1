//===- GuestPasses.td - Steps that other compilers made --------*- tablegen -*-===//

#ifndef LLMMEM_TRANSFORMS_GUESTPASSES
#define LLMMEM_TRANSFORMS_GUESTPASSES

include "llmmem/Transforms/Options.td"

def InlineCalls : Pass<"inline-calls", "::mlir::ModuleOp"> {
  let summary = "Puts what the step calls in the place of its calls";
  let description = [{
    Calls are inlined inside of regions, too, and where ops are unregistered and have regions, which MLIR's own inliner does not survive.
    Private functions without callers are erased.

    *Requires*: callees of one block, no recursion. *Ensures*: the step calls nothing; `entry`, where it is given, is the
    step of all later passes (`llm.entry`).

    ```mlir
    func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = llm.add %x, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    // becomes
    func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = llm.add %x, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
  }];
  let options = [
    EntryOption,
  ];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def DescribeOps : StepPass<"describe-ops"> {
  let summary = "Writes what an op table says of the step's ops onto them";
  let description = [{
    Ops that do not implement `CostOpInterface`, registered or not, get `llm.cost`, `llm.views`, `llm.in_place`, `llm.pure`
    and `llm.resident` by their name. What stands on an op already is kept.

    *Requires*: calls are inlined. *Ensures*: every op has a cost, or it is refused by name and place.

    ```mlir --describe-ops --allow-unregistered-dialect
    func.func @step(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "stablehlo.add"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    // becomes
    %0 = "stablehlo.add"(%arg0, %arg1) {llm.cost = #llm.cost<flops = 4, bytes = 48, ns = 0, workspace = 0>,
        llm.cost_from = "table", llm.in_place = [array<i64: 0, 1>], llm.pure} ...
    ```
  }];
  let options = [
    OpTableOption,
    UnpricedOption,
  ];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def CarryCaptures : StepPass<"carry-captures"> {
  let summary = "Hands loops what they read from outside as operands";
  let description = [{
    A plan keeps what an op reads, and what it reads are its operands. So values that the body of a loop reads from around it
    become values that it carries and never changes. Constants move in front of the loop; what a loop hands on
    unchanged is read where it came from. Unregistered ops with regions, whose form is not known here, get what these read as further
    operands and as arguments of each region, until `export-graph` takes them back; and calls by which XLA places a value
    on the host become copies. Of equal constants of tensors the first one stays, as they are one buffer;
    those of unregistered ops all stay, since such an op may do more than its attributes say.

    *Ensures*: the same bits; no loop reads anything from outside but constants.

    ```mlir --carry-captures
    func.func @step(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %y = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
        %b = arith.mulf %a, %w : tensor<4xf32>
        scf.yield %b : tensor<4xf32>
      }
      return %y : tensor<4xf32>
    }
    // becomes
    %0:2 = scf.for %arg2 = %c0 to %c8 step %c1 iter_args(%arg3 = %arg0, %arg4 = %arg1) -> (tensor<4xf32>, tensor<4xf32>) {
      %1 = arith.mulf %arg3, %arg4 : tensor<4xf32>
      scf.yield %1, %arg4 : tensor<4xf32>, tensor<4xf32>
    }
    return %0#0 : tensor<4xf32>
    ```
  }];
}

def AdoptStep : StepPass<"adopt-step"> {
  let summary = "Finds the loss, donated arguments, roles and phases of another compiler's step";
  let description = [{
    Does for a graph that another tool differentiated what `differentiate` does for its own: which result is the loss, which
    arguments their results overwrite (`tf.aliasing_output`, `jax.buffer_donor`, `bufferization.writable`), what each
    argument is, and where the backward begins. A remark says what was found. What stands there already is kept.

    *Requires*: `describe-ops` ran. *Ensures*: ops without effects whose results have no readers are gone, which a remark counts;
    nothing else but attributes has changed.

    ```mlir --adopt-step --allow-unregistered-dialect
    func.func @step(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
      %loss = "test.forward"(%w, %x) {llm.cost = #llm.cost<flops = 8, bytes = 36, ns = 0, workspace = 0>, llm.pure}
        : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
      %dw = "test.backward"(%w, %x) {llm.cost = #llm.cost<flops = 8, bytes = 48, ns = 0, workspace = 0>, llm.pure}
        : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %new = "test.update"(%w, %dw) {llm.cost = #llm.cost<flops = 8, bytes = 48, ns = 0, workspace = 0>,
        llm.in_place = [array<i64: 0>], llm.pure} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %new, %loss : tensor<4xf32>, tensor<f32>
    }
    // becomes
    func.func @step(%arg0: tensor<4xf32> {llm.donated = 0 : i64, llm.role = "param" ...
    %0 = "test.forward"(%arg0, %arg1) {... llm.phase = "forward" ...
    %1 = "test.backward"(%arg0, %arg1) {... llm.phase = "backward" ...
    %2 = "test.update"(%arg0, %1) {... llm.in_argument = array<i64: 0> ...
    ```
  }];
  let options = [
    LossOption,
  ];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def ExportGraph : Pass<"export-graph", "::mlir::ModuleOp"> {
  let summary = "Makes a planned step of StableHLO a program of StableHLO alone";
  let description = [{
    In front of each run of clones all that is held there, and what they read, passes one `optimization_barrier`; then every `llm.*` attribute is removed. The printed text (with `--mlir-print-op-generic`) is what JAX and other
    users of StableHLO read.

    *Requires*: a step of StableHLO or MHLO, planned or not. *Ensures*: no attribute of llmmem is left.

    ```mlir --export-graph --allow-unregistered-dialect
    func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "stablehlo.tanh"(%x) {llm.id = 0 : i64, llm.pure} : (tensor<4xf32>) -> tensor<4xf32>
      %1 = "stablehlo.negate"(%0) {llm.pure} : (tensor<4xf32>) -> tensor<4xf32>
      %2 = "stablehlo.tanh"(%x) {llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.pure} : (tensor<4xf32>) -> tensor<4xf32>
      %3 = "stablehlo.add"(%1, %2) {llm.pure} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %3 : tensor<4xf32>
    }
    // becomes
    %0 = "stablehlo.tanh"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "stablehlo.negate"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    %2:2 = "stablehlo.optimization_barrier"(%arg0, %1) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %3 = "stablehlo.tanh"(%2#0) : (tensor<4xf32>) -> tensor<4xf32>
    %4 = "stablehlo.add"(%2#1, %3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let statistics = [
    Statistic<"numBarriers", "num-barriers", "Barriers written">,
  ];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

#endif // LLMMEM_TRANSFORMS_GUESTPASSES
