// What lies on the host has an arena of its own. On the device %a, %b and %back hold 512 bytes at a time; on the host %u and %v
// together 512. The peak is that of the device: the argument and two of them.
// RUN: llmmem-opt --plan-arena --verify-plan %s | FileCheck %s

// CHECK: llm.arena = 512 : i64, llm.host_arena = 512 : i64, llm.peak = 768 : i64
func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %a = llm.gelu %x : tensor<64xf32>
  %u = llm.copy_up %a {llm.cost = #llm.cost<flops = 0, bytes = 256, ns = 11, workspace = 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %b = llm.silu %x : tensor<64xf32>
  %v = llm.copy_up %b {llm.cost = #llm.cost<flops = 0, bytes = 256, ns = 11, workspace = 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %y = llm.copy_down %u {llm.cost = #llm.cost<flops = 0, bytes = 256, ns = 11, workspace = 0>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  %z = llm.copy_down %v {llm.cost = #llm.cost<flops = 0, bytes = 256, ns = 11, workspace = 0>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  return %y, %z : tensor<64xf32>, tensor<64xf32>
}
