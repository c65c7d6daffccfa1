// A bucket's workspace: its values side by side, and the parts of both ranks before they are summed. Of 768 + 256 bytes over 2
// ranks 1024 + 1024, so the peak is 3072; summed one after another they need 768 + 768 + 256.
// RUN: llmmem-opt --plan-arena --verify-plan --report-memory=print=true %s -o /dev/null 2>&1 | FileCheck %s
// CHECK: peak 3.07 kB (3072 bytes) at op 2, llm.all_reduce_bucket
func.func @step() -> tensor<f32> attributes {llm.mesh = #llm.mesh<dp = 2>} {
  %a = llm.fill {value = 1.0 : f64} : tensor<192xf32>
  %b = llm.fill {value = 1.0 : f64} : tensor<64xf32>
  %s:2 = llm.all_reduce_bucket %a, %b over ["dp"] : (tensor<192xf32>, tensor<64xf32>) -> (tensor<192xf32>, tensor<64xf32>)
  %n = llm.global_norm %s#0, %s#1 : (tensor<192xf32>, tensor<64xf32>) -> tensor<f32>
  return %n : tensor<f32>
}
