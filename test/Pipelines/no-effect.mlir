// A flag that finds nothing to act on says so: there is no loss head to cut, and no core attention to run again.
// RUN: llmmem-opt --checkpoint-policy=selective --loss-chunk=8 %s -o %t 2>&1 | FileCheck %s
// RUN: llmmem-opt --checkpoint-policy=selective=mlp,moe %s -o %t 2>&1 | FileCheck %s --check-prefix=MODULES
// RUN: llmmem-opt --checkpoint-policy=full %s -o %t 2>&1 | FileCheck %s --check-prefix=NONE --implicit-check-not=warning
// CHECK: warning: a chunk is asked for (--loss-chunk), and no op of @step works in chunks: its loss is no loss head
// CHECK: warning: policy 'selective' recomputes core_attn, and @step has no op that is marked as llm.core_attention: all of it is kept
// MODULES: warning: policy 'selective' recomputes mlp, and @step has no block with values of it: all of it is kept
// MODULES: warning: policy 'selective' recomputes moe, and @step has no block with values of it
// NONE: budget {{ *}}none
func.func @step(%x: tensor<64x64xf32> {llm.role = "input"}, %w: tensor<64x64xf32> {llm.role = "param"}) -> tensor<64x64xf32> {
  %g = llm.gelu %x : tensor<64x64xf32>
  %y = llm.linear %g, %w layout(out_in) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
