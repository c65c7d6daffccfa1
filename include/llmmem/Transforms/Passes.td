//===- Passes.td - The way of the data, one pass a stage -------*- tablegen -*-===//
//
// In the order in which they run. Options live here and nowhere else.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_PASSES
#define LLMMEM_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Options of several passes
//===----------------------------------------------------------------------===//

def DeviceOption : Option<"device", "device", "std::string", "\"h100\"",
  "Device table: h100, rtx4090 and others, cpu, or a .json file; of stages one for all, or one for each: h100,a100">;

class EpiloguesOption<string name, string default, string withAuto>
  : Option<name, name, "::llmmem::Epilogues", default, "Which matmuls take what follows them",
           "::llmmem::EpiloguesValues{/*withAuto=*/" # withAuto # "}">;

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// Works on the step of a module alone: @step, else @forward, else its only function (Analysis/Step.h). Leaves other
/// functions as they are; fails where there is no step, or the step has more than one block.
class StepPass<string argument> : Pass<argument, "::mlir::func::FuncOp">;

def Parallelize : Pass<"parallelize", "::mlir::ModuleOp"> {
  let summary = "Turns @loss of a whole batch, or a step of inference, into that of one rank of a mesh";
  let description = [{
    Data parallel over the axis `dp`, with a ZeRO stage, and tensor parallel over `tp`, with or without splitting the sequence
    between its products; `include/llmmem/Transforms/Parallelize.h` says what is split.

    *Requires*: a forward function `@loss` of statically shaped tensors, arguments with `llm.role`, ops that implement
    `ShardingOpInterface` where they read what depends on inputs. *Ensures*: `@loss` is what every rank runs, under
    `llm.mesh`; its loss is the mean over the whole batch; `differentiate` makes the training step of a rank of it.
    Where there is no `@loss`, the module's `@decode`, `@prefill` or `@forward` is split over `tp` in its place: its results are whole on
    every rank, but for caches, of which a rank has its heads.

    ```mlir --parallelize=mesh=dp=2
    func.func @loss(%x: tensor<6x4xf32> {llm.role = "input"}, %t: tensor<6xi32> {llm.role = "input"},
                    %w: tensor<8x4xf32> {llm.name = "w", llm.role = "param"}) -> tensor<f32> {
      %y = llm.linear %x, %w layout(out_in) : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
      %loss, %lse = llm.cross_entropy %y, %t : (tensor<6x8xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
      return %loss : tensor<f32>
    }
    // becomes
    func.func @loss(%x: tensor<3x4xf32> {llm.role = "input", llm.shard = ["dp"], llm.whole = tensor<6x4xf32>},
                    %t: tensor<3xi32> {llm.role = "input", llm.shard = ["dp"], llm.whole = tensor<6xi32>},
                    %w: tensor<8x4xf32> {llm.data_parallel = #llm.data_parallel<axes = ["dp"], zero = 0>, llm.name = "w",
                                         llm.role = "param"}) -> tensor<f32> attributes {llm.mesh = #llm.mesh<dp = 2>} {
      %y = llm.linear %x, %w layout(out_in) : (tensor<3x4xf32>, tensor<8x4xf32>) -> tensor<3x8xf32>
      %own = llm.count_targets %t : tensor<3xi32> -> tensor<i32>
      %count = llm.all_reduce %own over ["dp"] : tensor<i32>
      %part, %lse = llm.cross_entropy %y, %t count(%count)
         : (tensor<3x8xf32>, tensor<3xi32>, tensor<i32>) -> (tensor<f32>, tensor<3xf32>)
      %loss = llm.all_reduce %part over ["dp"] {llm.name = "llm.cross_entropy.sum"} : tensor<f32>
      return %loss : tensor<f32>
    }
    ```
  }];
  let options = [
    Option<"mesh", "mesh", "std::string", "", "Axes and their sizes: dp=2,tp=4">,
    Option<"zero", "zero", "int64_t", "0",
      "What is split over dp beside the batch: 0 nothing, 1 optimizer state, 2 gradients too, 3 parameters too (ZeRO)">,
    Option<"sequenceParallel", "sequence-parallel", "bool", "false",
      "Split norms, residuals and dropout between the products of tp along the sequence">,
    Option<"bucketBytes", "bucket-bytes", "std::string", "\"25MB\"",
      "Values of together at most so many bytes share a collective over dp; 0: each has its own">,
    Option<"dataParallel", "data-parallel", "std::string", "\"all-reduce\"",
      "Who updates: all-reduce (each rank of dp), or server (the first alone, which has the optimizer's state)">,
  ];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def SplitMicroBatches : Pass<"split-micro-batches", "::mlir::ModuleOp"> {
  let summary = "Turns @loss of a rank's batch into that of one of its micro-batches";
  let description = [{
    `include/llmmem/Transforms/MicroBatches.h` says what is split. What `differentiate` makes of it is a step that runs
    once for each micro-batch, and an update behind them.

    *Requires*: as `parallelize`, behind which it stands where there are ranks. *Ensures*: `@loss` has the argument
    `micro_batch` and `llm.micro_batches`; its results of all micro-batches add up to the loss of the batch.

    ```mlir --split-micro-batches=count=2
    func.func @loss(%x: tensor<6x4xf32> {llm.name = "x", llm.role = "input"},
                    %t: tensor<6xi32> {llm.name = "t", llm.role = "input"},
                    %w: tensor<8x4xf32> {llm.name = "w", llm.role = "param"}) -> tensor<f32> {
      %y = llm.linear %x, %w layout(out_in) : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
      %loss, %lse = llm.cross_entropy %y, %t : (tensor<6x8xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
      return %loss : tensor<f32>
    }
    // becomes
    func.func @loss(%x: tensor<6x4xf32> {llm.name = "x", llm.role = "input"},
                    %t: tensor<6xi32> {llm.name = "t", llm.role = "input"},
                    %w: tensor<8x4xf32> {llm.name = "w", llm.role = "param"},
                    %number: tensor<i32> {llm.name = "micro_batch", llm.role = "input"}) -> tensor<f32>
        attributes {llm.micro_batches = 2 : i64} {
      %tn = llm.micro_batch %t at(%number) {llm.name = "t.micro_batch", of = 2 : i64} : (tensor<6xi32>, tensor<i32>) -> tensor<3xi32>
      %xn = llm.micro_batch %x at(%number) {llm.name = "x.micro_batch", of = 2 : i64} : (tensor<6x4xf32>, tensor<i32>) -> tensor<3x4xf32>
      %y = llm.linear %xn, %w layout(out_in) : (tensor<3x4xf32>, tensor<8x4xf32>) -> tensor<3x8xf32>
      %all = llm.count_targets %t : tensor<6xi32> -> tensor<i32>
      %loss, %lse = llm.cross_entropy %y, %tn count(%all)
         : (tensor<3x8xf32>, tensor<3xi32>, tensor<i32>) -> (tensor<f32>, tensor<3xf32>)
      return %loss : tensor<f32>
    }
    ```
  }];
  let options = [
    Option<"count", "count", "int64_t", "1", "How many micro-batches a rank's batch is">,
  ];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def Differentiate : Pass<"differentiate", "::mlir::ModuleOp"> {
  let summary = "Turns @loss into @step: forward, backward and optimizer update";
  let description = [{
    *Requires*: a function `@loss` of statically shaped tensors whose first result is a scalar, arguments with
    `llm.role`, ops that implement `DifferentiableOpInterface` between parameters and the loss, and
    `llm.training` on the module. *Ensures*: `@loss` is replaced by `@step`, straight-line, each op with `llm.phase`
    and the `llm.block` of the forward op it came from; every updated argument is donated.

    ```mlir
    module attributes {llm.training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64,
        beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>} {
      func.func @loss(%x: tensor<3x4xf32> {llm.role = "input"}, %t: tensor<3xi32> {llm.role = "input"},
                      %w: tensor<8x4xf32> {llm.name = "w", llm.role = "param"}) -> tensor<f32> {
        %y = llm.linear %x, %w layout(out_in) : (tensor<3x4xf32>, tensor<8x4xf32>) -> tensor<3x8xf32>
        %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x8xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
        return %loss : tensor<f32>
      }
    }
    // becomes
    func.func @step(%x: tensor<3x4xf32> {llm.role = "input"}, %t: tensor<3xi32> {llm.role = "input"},
                    %w: tensor<8x4xf32> {llm.donated = 1 : i64, llm.name = "w", llm.role = "param"},
                    %lr: tensor<f32> {llm.name = "learning_rate", llm.role = "input"},
                    %number: tensor<i32> {llm.name = "step", llm.role = "input"}) -> (tensor<f32>, tensor<8x4xf32>) {
      %y = llm.linear %x, %w layout(out_in) {llm.phase = "forward"} ...
      %loss, %lse = llm.cross_entropy %y, %t {llm.phase = "forward"} ...
      %one = llm.fill {llm.name = "loss.gradient", llm.phase = "backward", value = 1.0 : f64} : tensor<f32>
      %dy = llm.cross_entropy_grad %y, %lse, %t, %one {llm.phase = "backward"} ...
      %dw = llm.linear_weight_grad %x, %dy layout(out_in) {llm.name = "w.gradient", llm.phase = "backward"} ...
      %new = llm.sgd %w, %dw, %lr {llm.name = "w.update", llm.phase = "update", weight_decay = 0.1 : f64} ...
      return %loss, %new : tensor<f32>, tensor<8x4xf32>
    }
    ```
  }];
  let options = [
    Option<"ifPresent", "if-present", "bool", "false", "Leave a module without @loss as it is, if it has a step">,
  ];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def BuildStages : Pass<"build-stages", "::mlir::ModuleOp"> {
  let summary = "Turns @loss of a micro-batch into the steps of the stages of a pipeline";
  let description = [{
    What `differentiate` is for ranks that run one program. `include/llmmem/Transforms/PipelineStages.h` says what the
    stages are, [Pipeline](../../../docs/Design/Pipeline.md) what they do.

    *Requires*: `@loss` of a micro-batch under a mesh with the axis `pp`, and as `differentiate`. *Ensures*: `@loss` is
    replaced by `@stage0`, `@stage1`, ..., whose exchanges fit each other; the module has `llm.pipeline`.

    ```mlir
    module attributes {llm.training = #llm.training<optimizer = sgd, gradients = resident, beta1 = 0.9 : f64,
        beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64, clip_norm = 0.0 : f64>} {
      func.func @loss(%x: tensor<2x4xf32> {llm.name = "x", llm.role = "input"},
                      %t: tensor<2xi32> {llm.name = "t", llm.role = "input"},
                      %w: tensor<4x4xf32> {llm.name = "w", llm.role = "param"},
                      %v: tensor<8x4xf32> {llm.name = "v", llm.role = "param"},
                      %n: tensor<i32> {llm.name = "micro_batch", llm.role = "input"}) -> tensor<f32>
          attributes {llm.mesh = #llm.mesh<pp = 2>, llm.micro_batches = 1 : i64} {
        %all = llm.count_targets %t : tensor<2xi32> -> tensor<i32>
        %own = llm.micro_batch %x at(%n) {of = 1 : i64} : (tensor<2x4xf32>, tensor<i32>) -> tensor<2x4xf32>
        %target = llm.micro_batch %t at(%n) {of = 1 : i64} : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
        %h = llm.linear %own, %w layout(out_in) {llm.block = 0 : i64} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
        %y = llm.linear %h, %v layout(out_in) {llm.block = 1 : i64} : (tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<2x8xf32>
        %loss, %lse = llm.cross_entropy %y, %target count(%all)
           : (tensor<2x8xf32>, tensor<2xi32>, tensor<i32>) -> (tensor<f32>, tensor<2xf32>)
        return %loss : tensor<f32>
      }
    }
    // becomes
    func.func @stage0(...
      %h = llm.linear ...
      %dh = llm.exchange(%h) over ["pp"] {from = array<i64: 1>, llm.name = "send F0, receive B0", ...
      %dw = llm.linear_weight_grad ...
    func.func @stage1(...
      %h1 = llm.exchange() over ["pp"] {from = array<i64: 0>, llm.name = "receive F0", ...
      %loss, %lse = llm.cross_entropy ...
      llm.exchange(%dh1) over ["pp"] {from = array<i64>, llm.name = "send B0", ...
    ```
  }];
  let options = [
    Option<"schedule", "schedule", "std::string", "\"1f1b\"", "gpipe, 1f1b, interleaved or zero-bubble">,
    Option<"chunks", "chunks", "int64_t", "1", "Parts of the model that a stage of `interleaved` has">,
    DeviceOption,
    Option<"budget", "budget", "std::string", "\"\"", "Bytes that a rank may hold, which cuts heed: one for all stages, or one for each: 80GB,40GB">,
  ];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def CheckExchanges : Pass<"check-exchanges", "::mlir::ModuleOp"> {
  let summary = "Refuses stages of a pipeline that would wait for each other for ever";
  let description = [{
    Runs the exchanges of all stages against each other, and what all stages do together; nothing is buffered between
    them. Each message must be received by the stage that it goes to, with its type.

    ```mlir
    // Each would send before it receives.
    module {
      func.func @stage0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {llm.mesh = #llm.mesh<pp = 2>, llm.stage = 0 : i64} {
        llm.exchange(%x) over ["pp"] {from = array<i64>, llm.name = "send F0", to = array<i64: 1>} : (tensor<4xf32>) -> ()
        %y = llm.exchange() over ["pp"] {from = array<i64: 1>, to = array<i64>} : () -> tensor<4xf32>
        return %y : tensor<4xf32>
      }
      func.func @stage1(%x: tensor<4xf32>) -> tensor<4xf32> attributes {llm.mesh = #llm.mesh<pp = 2>, llm.stage = 1 : i64} {
        llm.exchange(%x) over ["pp"] {from = array<i64>, llm.name = "send B0", to = array<i64: 0>} : (tensor<4xf32>) -> ()
        %y = llm.exchange() over ["pp"] {from = array<i64: 0>, to = array<i64>} : () -> tensor<4xf32>
        return %y : tensor<4xf32>
      }
    }
    // is refused
    // error: 'llm.exchange' 'send B0' of stage 1 waits for ever for stage 0
    // note: which stands at 'llm.exchange' 'send F0' and waits too
    ```
  }];
}

def GroupKernels : StepPass<"group-kernels"> {
  let summary = "Groups ops into kernels, so that what lives only between them has no bytes";
  let description = [{
    Elementwise ops and row reductions that feed each other become one `llm.kernel` (`GroupableOpInterface`), and so do
    attention and what takes its operands out of columns or puts its gradients into them; see
    `include/llmmem/Transforms/GroupKernels.h` for what is grouped and what is not.

    *Requires*: a straight-line step. *Ensures*: every result has the bits that it had, no value lives longer than
    before, phases and blocks are not mixed.

    ```mlir
    func.func @step(%s: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
      %m = llm.causal_mask %s {fill = 0xFFF0000000000000 : f64} : tensor<1x2x8x8xf32>
      %p = llm.softmax %m : tensor<1x2x8x8xf32>
      return %p : tensor<1x2x8x8xf32>
    }
    // becomes
    func.func @step(%s: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
      %p = llm.kernel(%a = %s) : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
        %m = llm.causal_mask %a {fill = 0xFFF0000000000000 : f64} : tensor<1x2x8x8xf32>
        %q = llm.softmax %m : tensor<1x2x8x8xf32>
        llm.yield %q : tensor<1x2x8x8xf32>
      }
      return %p : tensor<1x2x8x8xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numKernels", "kernels", "Kernels made of several ops">,
    Statistic<"numGrouped", "ops grouped", "Ops that went into them">,
    Statistic<"numCopies", "copies", "Cheap forward ops computed again inside a backward kernel">,
  ];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def GroupLossHead : Pass<"group-loss-head", "::mlir::func::FuncOp"> {
  let summary = "Makes a last projection, its loss and their gradients one op that works in chunks of tokens";
  let description = [{
    Logits are the largest tensor of a step with a small model, and all that is read of them is a loss and two
    gradients; see `include/llmmem/Transforms/GroupLossHead.h` for what is grouped.

    *Requires*: a differentiated step. *Ensures*: where the pattern is, one `llm.loss_head` that works on all tokens at
    once; the plan chooses fewer. Where logits are read by others, or the loss is scaled, all stays as it is.

    ```mlir
    func.func @step(%x: tensor<16x8xf32>, %w: tensor<32x8xf32>, %t: tensor<16xi32>)
        -> (tensor<f32>, tensor<16x8xf32>, tensor<32x8xf32>) {
      %logits = llm.linear %x, %w layout(out_in) : (tensor<16x8xf32>, tensor<32x8xf32>) -> tensor<16x32xf32>
      %loss, %lse = llm.cross_entropy %logits, %t : (tensor<16x32xf32>, tensor<16xi32>) -> (tensor<f32>, tensor<16xf32>)
      %one = llm.fill {value = 1.0 : f64} : tensor<f32>
      %dlogits = llm.cross_entropy_grad %logits, %lse, %t, %one
         : (tensor<16x32xf32>, tensor<16xf32>, tensor<16xi32>, tensor<f32>) -> tensor<16x32xf32>
      %dw = llm.linear_weight_grad %x, %dlogits layout(out_in) : (tensor<16x8xf32>, tensor<16x32xf32>) -> tensor<32x8xf32>
      %dx = llm.linear %dlogits, %w layout(in_out) : (tensor<16x32xf32>, tensor<32x8xf32>) -> tensor<16x8xf32>
      return %loss, %dx, %dw : tensor<f32>, tensor<16x8xf32>, tensor<32x8xf32>
    }
    // becomes
    func.func @step(%x: tensor<16x8xf32>, %w: tensor<32x8xf32>, %t: tensor<16xi32>)
        -> (tensor<f32>, tensor<16x8xf32>, tensor<32x8xf32>) {
      %loss, %dx, %dw = llm.loss_head %x, %w, %t layout(out_in) {chunk = 16 : i64}
         : (tensor<16x8xf32>, tensor<32x8xf32>, tensor<16xi32>) -> (tensor<f32>, tensor<16x8xf32>, tensor<32x8xf32>)
      return %loss, %dx, %dw : tensor<f32>, tensor<16x8xf32>, tensor<32x8xf32>
    }
    ```
  }];
  let options = [
    Option<"granule", "granule", "int64_t", "512", "Tokens whose sums are made in one piece, whatever the chunk">,
  ];
  let statistics = [
    Statistic<"numGrouped", "loss heads", "Losses that are one op with their projection and gradients">,
    Statistic<"numLeft", "losses left", "Losses that stay several ops">,
  ];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def FuseEpilogues : StepPass<"fuse-epilogues"> {
  let summary = "Makes kernels of matmuls and the elementwise ops that follow them";
  let description = [{
    What `plan-checkpoints` does where its plan is the cheaper for it, alone; see
    `include/llmmem/Transforms/Epilogues.h`.

    *Requires*: a straight-line step. *Ensures*: generated code gives every result the bits that it had.

    ```mlir
    func.func @step(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
      %h = llm.linear %x, %w layout(in_out) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
      %a = llm.gelu %h : tensor<4x16xf32>
      return %h, %a : tensor<4x16xf32>, tensor<4x16xf32>
    }
    // becomes
    func.func @step(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
      %h, %a = llm.kernel(%i = %x, %m = %w) : (tensor<4x8xf32>, tensor<8x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
        %p = llm.linear %i, %m layout(in_out) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
        %g = llm.gelu %p : tensor<4x16xf32>
        llm.yield %p, %g : tensor<4x16xf32>, tensor<4x16xf32>
      }
      return %h, %a : tensor<4x16xf32>, tensor<4x16xf32>
    }
    ```
  }];
  let options = [
    EpiloguesOption<"which", "::llmmem::Epilogues::Fused", "false">,
  ];
  let statistics = [Statistic<"numFused", "epilogues", "Matmuls that are one kernel with what follows them">];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def ReserveLibraryWorkspace : StepPass<"reserve-library-workspace"> {
  let summary = "Gives each op that a library computes the workspace that the library may have";
  let description = [{
    Writes `llm.library_workspace` on each op of the step that multiplies matrices: the bytes of the device table
    (`library_workspace_bytes`), but no more than a quarter of the op's operands and results, in multiples of 256. So a
    peak where a matmul runs grows by a quarter of what that matmul holds at most. From there on these bytes are part of
    the op's workspace: planned, verified, and handed to the library. A table without the entry gives nothing. A loss head gets
    the granule that suits a library as well, by its shape alone (`Targets/LossHeadGranule.h`).

    With `sums`, sums over ranks are left to a library as well (NCCL), which has memory of its own: they get 0 bytes, and
    their workspace has no longer what MPI's sums need.

    ```mlir
    func.func @step(%x: tensor<128x64xbf16>, %w: tensor<64x96xbf16>) -> tensor<128x96xbf16> {
      %y = llm.linear %x, %w layout(in_out) : (tensor<128x64xbf16>, tensor<64x96xbf16>) -> tensor<128x96xbf16>
      return %y : tensor<128x96xbf16>
    }
    // becomes
    %y = llm.linear %x, %w layout(in_out) {llm.library_workspace = 13312 : i64} ...
    ```
  }];
  let options = [
    DeviceOption,
    Option<"matmuls", "matmuls", "bool", "true", "Matmuls are computed by a library">,
    Option<"sums", "sums", "bool", "false", "Sums over ranks are made by a library">,
  ];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
  let statistics = [
    Statistic<"numOps", "ops", "Ops that were given workspace">,
  ];
}

def MoveStateToHost : StepPass<"move-state-to-host"> {
  let summary = "Lets the optimizer's state, or parameters, lie on the host between steps";
  let description = [{
    Each argument of role `optimizer_state` that is no scalar moves to the host's memory; a copy down stands before its first
    reader, and a copy up into the argument behind its new value (`include/llmmem/Transforms/StateOnHost.h`). With `parameters`,
    those of role `param` move too, but for small ones, and come for each op that reads them. With `updates`, elementwise updates run
    on the host: their gradients go up and new parameters come down, and state stays.

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
    Option<"link", "link", "std::string", "\"\"", "What copies to the host move, as 25GB/s; without, what the device's table says">,
    Option<"linkLatency", "link-latency", "int64_t", "-1", "ns that each copy takes beside its bytes; -1: 0 beside a link, else what the table says">,
    Option<"optimizer", "optimizer", "bool", "true", "Whether the optimizer's state moves">,
    Option<"parameters", "parameters", "bool", "false", "Whether parameters move">,
    Option<"updates", "updates", "bool", "false", "Whether updates run on the host, beside their state">,
  ];
  let statistics = [Statistic<"numMoved", "moved", "Arguments that lie on the host">];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def InlineCalls : Pass<"inline-calls", "::mlir::ModuleOp"> {
  let summary = "Puts what the step calls in the place of its calls";
  let description = [{
    Also inside of regions, and where ops are unregistered and have regions, which MLIR's own inliner does not survive.
    Private functions that nobody calls any more are erased.

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
    Option<"entry", "entry", "std::string", "\"\"", "The function that is the step; without it @step, @forward or @main">,
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
    Option<"opTable", "op-table", "std::string", "\"\"", "A llmmem-op-table to ask before the shipped one">,
    Option<"unpriced", "unpriced", "::llmmem::Unpriced", "::llmmem::Unpriced::Refuse",
      "What becomes of ops that nobody describes",
      [{llvm::cl::values(clEnumValN(::llmmem::Unpriced::Refuse, "refuse", "they are an error"),
                         clEnumValN(::llmmem::Unpriced::ByBytes, "by-bytes", "priced by their traffic"))}]>,
  ];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def CarryCaptures : StepPass<"carry-captures"> {
  let summary = "Hands loops what they read from outside as operands";
  let description = [{
    A plan keeps what an op reads, and what it reads are its operands. So values that the body of a loop reads from around it
    become values that it carries and never changes. Constants move in front of the loop; what a loop hands on
    unchanged is read where it came from. Of equal constants of tensors the first one stays, as they are one buffer;
    those of unregistered ops all stay, as nobody knows what such an op does beside its attributes.

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
    Does for a graph that somebody else differentiated what `differentiate` does for its own: which result is the loss, which
    arguments their results overwrite (`tf.aliasing_output`, `jax.buffer_donor`, `bufferization.writable`), what each
    argument is, and where the backward begins. A remark says what was found. What stands there already is kept.

    *Requires*: `describe-ops` ran. *Ensures*: ops without effects whose results nobody reads are gone, which a remark counts;
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
    Option<"loss", "loss", "int64_t", "-1", "The result that is the loss; without it the only scalar">,
  ];
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
    With `host-budget` values may also leave for the host (`include/llmmem/Planning/Offload/HostCopies.h`): `llm.copies` says
    which, and their copies have numbers of their own in the schedule.

    *Requires*: what `annotate-memory` requires. *Ensures*: no op has changed but matmuls that took their epilogue; where no plan was found the pass
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
    Option<"policy", "policy", "std::string", "\"budget\"", "none, every=K, sqrt, full, selective, least-peak or budget">,
    Option<"budget", "budget", "std::string", "\"\"", "Bytes for everything the step needs, as 40GB or 37.25GiB">,
    DeviceOption,
    Option<"seconds", "seconds", "double", "10", "Bound on the planner's search; where state or parameters lie on the host, on each of about a dozen">,
    Option<"chunk", "chunk", "std::string", "\"auto\"", "Rows at a time of ops that work in chunks: auto, whole, or so many">,
    EpiloguesOption<"epilogues", "::llmmem::Epilogues::Auto", "true">,
    Option<"savedBits", "saved-bits", "int64_t", "0", "8: saved values may be held in so many bits, which changes gradients; 0: they keep theirs">,
    Option<"overlap", "overlap", "bool", "false", "Plan collectives beside compute, on a resource of time of their own">,
    Option<"hostBudget", "host-budget", "std::string", "\"\"", "Values may leave for so much of the host's memory and come back">,
    Option<"link", "link", "std::string", "\"\"", "What copies to the host move, each way (25GB/s) or up and down (25GB/s,20GB/s); without, what the device's table says">,
    Option<"linkLatency", "link-latency", "int64_t", "-1", "ns that each copy takes beside its bytes; -1: 0 beside a link, else what the table says">,
    Option<"emitProblem", "emit-problem", "std::string", "\"\"", "Write what the planner sees, as JSON, to a file">,
    Option<"emitPlan", "emit-plan", "std::string", "\"\"", "Write what it decides, as JSON, to a file">,
    Option<"emitProof", "emit-proof", "std::string", "\"\"", "Write what proves its bounds, checked, as JSON, to a file">,
    Option<"explain", "explain", "std::string", "\"\"", "Say on stderr why a value or op is kept or run again, by its name; all: every saved value, what holds the peak, what more budget would buy, and, where there is no plan, what is held">,
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
    A collective over more than one rank gets `llm.started` and moves up, to behind the op that makes what it reads or
    uses bytes which it writes. Its `llm.wait` stands before the first op that reads its result or writes bytes which it
    uses, or before the step ends (`include/llmmem/Transforms/StartCollectives.h`).

    *Requires*: a step with `llm.offsets` and `llm.arena`, without starts. *Ensures*: no offset has changed, `llm.peak` is that
    of the new order, and views of a result stand behind its wait.

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
  let statistics = [Statistic<"numStarts", "starts", "Collectives that run beside other ops">];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def StartHostCopies : StepPass<"start-host-copies"> {
  let summary = "Starts each copy to and from the host as early, and waits for it as late, as bytes and operands allow";
  let description = [{
    As `start-collectives`, by the same rules (`include/llmmem/Transforms/StartCollectives.h`), with two differences: copies up run one after
    another and copies down do, but a copy that needs the end of one of the other direction stands behind its wait.

    *Requires*: a step with `llm.offsets` and `llm.arena`, without starts. *Ensures*: no offset has changed, `llm.peak` is that
    of the new order, and views of a result stand behind its wait.

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
  let statistics = [Statistic<"numStarts", "starts", "Copies and updates that run beside other ops">];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def VerifyPlan : StepPass<"verify-plan"> {
  let summary = "Re-derives lifetimes, overlaps and the peak, and refuses a false claim";
  let description = [{
    Calls nothing of the planner, of the extraction, of the placement or of the liveness analysis, and counts bytes by itself; what an
    op says of itself it asks the op, as those do: its views, what it may overwrite, its cost. Each broken rule is an error at the op
    that breaks it, with the rule's name in brackets (`include/llmmem/Analysis/PlanVerifier.h` lists them). Whatever the
    step claims is checked as far as its own ops can refute it: the certificate and `llm.epilogues` too.

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

def ReportMemory : StepPass<"report-memory"> {
  let summary = "Prints resident, saved and peak bytes of a planned step";
  let description = [{
    For people on stderr, for programs as JSON, for tests and tools as remarks of the category `llmmem-memory`
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
    Option<"print", "print", "bool", "false", "Print the report for people on stderr">,
    Option<"json", "json", "std::string", "\"\"", "Write the report as JSON to a file (- is stdout)">,
    DeviceOption,
  ];
}

#endif // LLMMEM_TRANSFORMS_PASSES
