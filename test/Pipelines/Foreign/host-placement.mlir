// What a graph of XLA puts on the host takes no bytes of the device there, and the text comes back as it was.
// RUN: llmmem-opt --allow-unregistered-dialect --entry=main --checkpoint-budget=min %s -o %t.mlir 2> %t.report
// RUN: FileCheck %s --check-prefix=REPORT < %t.report
// RUN: llmmem-opt --allow-unregistered-dialect --export-graph --mlir-print-op-generic %t.mlir | FileCheck %s

// Both values leave before the product, which then holds its operand and its result next to the argument.
// REPORT: peak {{.*}}(49152 bytes)
// REPORT: host {{.*}}arena 32768 bytes
// REPORT: offload        2 values leave: {{.*}}(32768 bytes) up, {{.*}}(32768 bytes) down
// CHECK: "stablehlo.custom_call"(%{{.*}}) <{call_target_name = "annotate_device_placement", has_side_effect = true}> {mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<64x64xf32>) -> tensor<64x64xf32>
// CHECK: "stablehlo.custom_call"(%{{.*}}) <{call_target_name = "annotate_device_placement", has_side_effect = true}> {mhlo.frontend_attributes = {_xla_buffer_placement = "device"}} : (tensor<64x64xf32>) -> tensor<64x64xf32>
// CHECK-NOT: llm
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %a = "stablehlo.tanh"(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %h = "stablehlo.custom_call"(%a) <{call_target_name = "annotate_device_placement", has_side_effect = true}> {mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = "stablehlo.tanh"(%a) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %h2 = "stablehlo.custom_call"(%b) <{call_target_name = "annotate_device_placement", has_side_effect = true}> {mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = "stablehlo.dot"(%b, %b) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d2 = "stablehlo.custom_call"(%h2) <{call_target_name = "annotate_device_placement", has_side_effect = true}> {mhlo.frontend_attributes = {_xla_buffer_placement = "device"}} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %e = "stablehlo.add"(%c, %d2) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = "stablehlo.custom_call"(%h) <{call_target_name = "annotate_device_placement", has_side_effect = true}> {mhlo.frontend_attributes = {_xla_buffer_placement = "device"}} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %e2 = "stablehlo.add"(%e, %d) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %e2 : tensor<64x64xf32>
}
