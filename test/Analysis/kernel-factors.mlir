// A measured table prices a kind of kernel by how many times its roofline it takes; the launch is added once. What the
// table does not name keeps the roofline: 4096 bytes at 4 a ns are 1024 ns, 2560 with the factor, and 10 for the launch.
//
// RUN: split-file %s %t
// RUN: llmmem-opt --annotate-memory=device=%t/device.json %t/step.mlir | FileCheck %s

// CHECK: llm.gelu {{.*}}llm.cost = #llm.cost<flops = 4096, bytes = 4096, ns = 2570, workspace = 0>
// CHECK: llm.silu {{.*}}llm.cost = #llm.cost<flops = 2048, bytes = 4096, ns = 1034, workspace = 0>

//--- device.json
{"name": "x", "flops_per_ns": {"bf16": 100, "f32": 100, "f64": 100}, "bytes_per_ns": 4, "launch_ns": 10,
 "kernels": {"gelu": 2.5}}
//--- step.mlir
func.func @step(%x: tensor<512xf32>) -> tensor<512xf32> {
  %y = llm.gelu %x : tensor<512xf32>
  %z = llm.silu %y : tensor<512xf32>
  return %z : tensor<512xf32>
}
