//===- TiledPasses.td - Ops that go through their rows in parts -*- tablegen -*-===//

#ifndef LLMMEM_TRANSFORMS_TILEDPASSES
#define LLMMEM_TRANSFORMS_TILEDPASSES

include "llmmem/Transforms/Options.td"

def GroupFeedForward : StepPass<"group-feed-forward"> {
  let summary = "Makes each feed-forward, and its gradients, an op that works in chunks of tokens";
  let description = [{
    What a feed-forward widens is the largest value of a block, and of long sequences the largest of the step; see
    `include/llmmem/Transforms/GroupFeedForward.h` for what is grouped.

    *Requires*: a step, differentiated or forward alone. *Ensures*: where the pattern is, one `llm.tiled` for the
    forward and one for the gradients; with `chunk=auto` they work on all tokens at once, and the plan chooses fewer. Where the step
    reads a wide value outside of the pattern, all stays as it is.

    ```mlir
    func.func @step(%x: tensor<16x8xf32>, %w: tensor<32x8xf32>, %v: tensor<8x32xf32>) -> tensor<16x8xf32> {
      %u = llm.linear %x, %w layout(out_in) : (tensor<16x8xf32>, tensor<32x8xf32>) -> tensor<16x32xf32>
      %h = llm.gelu %u : tensor<16x32xf32>
      %y = llm.linear %h, %v layout(out_in) : (tensor<16x32xf32>, tensor<8x32xf32>) -> tensor<16x8xf32>
      return %y : tensor<16x8xf32>
    }
    // becomes
    func.func @step(%x: tensor<16x8xf32>, %w: tensor<32x8xf32>, %v: tensor<8x32xf32>) -> tensor<16x8xf32> {
      %y = llm.tiled(%a = %x, %b = %w, %c = %v)
         : (tensor<16x8xf32>, tensor<32x8xf32>, tensor<8x32xf32>) -> tensor<16x8xf32> {
        %u = llm.linear %a, %b layout(out_in) : (tensor<16x8xf32>, tensor<32x8xf32>) -> tensor<16x32xf32>
        %h = llm.gelu %u : tensor<16x32xf32>
        %d = llm.linear %h, %c layout(out_in) : (tensor<16x32xf32>, tensor<8x32xf32>) -> tensor<16x8xf32>
        llm.tiled_yield %d : tensor<16x8xf32>
      } attributes {chunk = 16 : i64}
      return %y : tensor<16x8xf32>
    }
    ```
  }];
  let options = [
    Option<"chunk", "chunk", "std::string", "\"auto\"", "Tokens at a time: auto (the plan chooses), whole, or so many">,
    Option<"granule", "granule", "int64_t", "512", "Tokens whose sums are made in one piece, whatever the chunk">,
  ];
  let statistics = [Statistic<"numGrouped", "feed-forwards", "Feed-forwards that are one op, and another for their gradients">];
  let dependentDialects = ["::llmmem::llm::LlmDialect"];
}

#endif // LLMMEM_TRANSFORMS_TILEDPASSES
