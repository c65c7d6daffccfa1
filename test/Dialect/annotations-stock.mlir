// Annotations are attributes of MLIR itself: a tool that does not know the dialect reads, keeps and writes them.
// RUN: llmmem-opt %s --mlir-print-op-generic | mlir-opt --allow-unregistered-dialect --canonicalize | FileCheck %s
// RUN: llmmem-opt %s --mlir-print-op-generic | mlir-opt --allow-unregistered-dialect --mlir-print-op-generic | llmmem-opt >%t
// RUN: llmmem-opt %s | diff - %t

// CHECK: module attributes {llm.training = #llm.training<
module attributes {llm.training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64,
    eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>} {
  // CHECK: func @step(%arg0: tensor<8xf32> {llm.donated = 0 : i64, llm.name = "x", llm.role = "input"})
  // CHECK-SAME: llm.arena = 256 : i64
  func.func @step(%x: tensor<8xf32> {llm.role = "input", llm.name = "x", llm.donated = 0 : i64}) -> tensor<8xf32>
      attributes {llm.arena = 256 : i64, llm.policy = "full", llm.certificate = {peak_lower_bound = 32 : i64}} {
    // CHECK: "llm.gelu"
    // CHECK-SAME: llm.block = 3 : i64
    // CHECK-SAME: llm.cost = #llm.cost<
    // CHECK-SAME: llm.decision = ["recompute"]
    // CHECK-SAME: llm.instance = 1 : i64
    // CHECK-SAME: llm.offsets = array<i64: -1>
    // CHECK-SAME: llm.phase = "forward"
    %0 = llm.gelu %x {llm.phase = "forward", llm.block = 3 : i64, llm.decision = ["recompute"], llm.instance = 1 : i64,
      llm.cost = #llm.cost<flops = 64, bytes = 64, ns = 2, workspace = 0>, llm.offsets = array<i64: -1>} : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
