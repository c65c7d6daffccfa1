//===- KernelPasses.td - Which ops of a step are one kernel ----*- tablegen -*-===//

#ifndef LLMMEM_TRANSFORMS_KERNELPASSES
#define LLMMEM_TRANSFORMS_KERNELPASSES

include "llmmem/Transforms/Options.td"

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
    Does alone what `plan-checkpoints` does where that makes its plan cheaper; see
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
    Option<"which", "which", "::llmmem::Epilogues", "::llmmem::Epilogues::Fused", "Which matmuls take what follows them",
           "::llmmem::EpiloguesValues{/*withAuto=*/false}">,
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

#endif // LLMMEM_TRANSFORMS_KERNELPASSES
