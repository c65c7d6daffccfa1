// The gradients of what ranks do together: f and g are each other's, the rest are transposes.
// RUN: llmmem-opt --differentiate %s | FileCheck %s

#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%x: tensor<4x4xf32>, %t: tensor<4xi32>, %w: tensor<2x4xf32> {llm.role = "param", llm.name = "w"})
      -> tensor<f32> attributes {llm.mesh = #llm.mesh<dp = 2, tp = 2>} {
    %gathered = llm.all_gather %w over ["dp"] {dimension = 0 : i64, llm.name = "gathered"} : (tensor<2x4xf32>) -> tensor<4x4xf32>
    %own = llm.replica %gathered over ["tp"] {llm.name = "own"} : tensor<4x4xf32>
    %moved = llm.all_to_all %own over ["tp"] {concat = 0 : i64, split = 1 : i64, llm.name = "moved"} : (tensor<4x4xf32>) -> tensor<8x2xf32>
    %part = llm.reduce_scatter %moved over ["dp"] {dimension = 0 : i64, llm.name = "part"} : (tensor<8x2xf32>) -> tensor<4x2xf32>
    %given = llm.broadcast %part over ["tp"] {root = 1 : i64, llm.name = "given"} : tensor<4x2xf32>
    %kept = llm.reduce %given over ["dp"] {root = 0 : i64, llm.name = "kept"} : tensor<4x2xf32>
    %passed = llm.send_receive %kept over ["tp"] {shift = -1 : i64, wraps, llm.name = "passed"} : tensor<4x2xf32>
    %y = llm.linear %x, %passed layout(in_out) {llm.name = "y"} : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %sum = llm.all_reduce %y over ["tp"] {llm.name = "sum"} : tensor<4x2xf32>
    %loss, %lse = llm.cross_entropy %sum, %t {llm.name = "loss"} : (tensor<4x2xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
    return %loss : tensor<f32>
  }
}

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[X:.*]]: tensor<4x4xf32>, %{{.*}}: tensor<4xi32>
// CHECK-SAME: llm.mesh = #llm.mesh<dp = 2, tp = 2>
// The sum is one value for all ranks, and so is its gradient: each addend's is the same.
// CHECK: %[[SUM:.*]] = llm.cross_entropy_grad
// CHECK-NEXT: %[[DW:.*]] = llm.linear_weight_grad %[[X]], %[[SUM]]
// CHECK-NEXT: %[[KEPT:.*]] = llm.send_receive %[[DW]] over ["tp"] {{.*}}shift = 1 : i64, wraps}
// CHECK-NEXT: %[[GIVEN:.*]] = llm.broadcast %[[KEPT]] over ["dp"] {{.*}}root = 0
// CHECK-NEXT: %[[PART:.*]] = llm.reduce %[[GIVEN]] over ["tp"] {{.*}}root = 1
// CHECK-NEXT: %[[MOVED:.*]] = llm.all_gather %[[PART]] over ["dp"] {dimension = 0 : i64{{.*}} -> tensor<8x2xf32>
// CHECK-NEXT: %[[OWN:.*]] = llm.all_to_all %[[MOVED]] over ["tp"] {concat = 1 : i64,{{.*}}split = 0 : i64} {{.*}} -> tensor<4x4xf32>
// CHECK-NEXT: %[[GATHERED:.*]] = llm.all_reduce %[[OWN]] over ["tp"]
// CHECK-NEXT: %[[W:.*]] = llm.reduce_scatter %[[GATHERED]] over ["dp"] {dimension = 0 : i64,{{.*}}llm.name = "w.gradient"{{.*}} -> tensor<2x4xf32>
// CHECK-NEXT: llm.sgd %{{.*}}, %[[W]]
