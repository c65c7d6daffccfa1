//===- TrainingPasses.td - From a loss to the steps of ranks and stages -*- tablegen -*-===//

#ifndef LLMMEM_TRANSFORMS_TRAININGPASSES
#define LLMMEM_TRANSFORMS_TRAININGPASSES

include "llmmem/Transforms/Options.td"

def Parallelize : Pass<"parallelize", "::mlir::ModuleOp"> {
  let summary = "Turns @loss of a whole batch, or a step of inference, into that of one rank of a mesh";
  let description = [{
    Splits data parallel over the axis `dp`, with a ZeRO stage, and tensor parallel over `tp`, with or without splitting the sequence
    between its products; `include/llmmem/Transforms/Parallelize.h` says what is split.

    *Requires*: a forward function `@loss` of statically shaped tensors, arguments with `llm.role`, ops that implement
    `ShardingOpInterface` where they read what depends on inputs. *Ensures*: `@loss` is what every rank runs, under
    `llm.mesh`; its loss is the mean over the whole batch; `differentiate` makes the training step of a rank from it.
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
    MeshOption,
    ZeroOption,
    SequenceParallelOption,
    BucketBytesOption,
    DataParallelOption,
  ];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

def SplitMicroBatches : Pass<"split-micro-batches", "::mlir::ModuleOp"> {
  let summary = "Turns @loss of a rank's batch into that of one of its micro-batches";
  let description = [{
    `include/llmmem/Transforms/MicroBatches.h` says what is split. `differentiate` makes a step from it that runs
    once for each micro-batch, and an update that follows them.

    *Requires*: as `parallelize`, after which it stands where there are ranks. *Ensures*: `@loss` has the argument
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
    MicroBatchCountOption,
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
    Does for stages what `differentiate` does for ranks that run one program. `include/llmmem/Transforms/PipelineStages.h` says what the
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
    ScheduleOption,
    Option<"chunks", "chunks", "int64_t", "1", "Parts of the model that a stage of `interleaved` has">,
    StagesOption,
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

#endif // LLMMEM_TRANSFORMS_TRAININGPASSES
