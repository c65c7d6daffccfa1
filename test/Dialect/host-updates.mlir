// Elementwise updates run on the host where all of their operands and results lie there, started or not; a new parameter is copied to the device into the
// bytes of the old one.
// RUN: llmmem-opt %s | llmmem-opt | FileCheck %s

// CHECK-LABEL: func.func @lion(
func.func @lion(%p: tensor<64xf32, #llm.host>, %g: tensor<64xf32, #llm.host>, %m: tensor<64xf32, #llm.host>, %lr: tensor<f32, #llm.host>)
    -> (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>) {
  // CHECK: %[[NEW:.*]], %[[STATE:.*]] = llm.lion %{{.*}} state(%{{.*}}) {{.*}}llm.started{{.*}} -> (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>)
  %p1, %m1 = llm.lion %p, %g, %lr state(%m) {beta1 = 0.9 : f64, beta2 = 0.99 : f64, llm.started, weight_decay = 0.1 : f64}
     : (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>, tensor<f32, #llm.host>, tensor<64xf32, #llm.host>) -> (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>)
  // CHECK: llm.wait %[[NEW]], %[[STATE]] : tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>
  %p2, %m2 = llm.wait %p1, %m1 : tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>
  return %p2, %m2 : tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>
}

// CHECK-LABEL: func.func @into(
func.func @into(%new: tensor<64xf32, #llm.host>, %p: tensor<64xf32> {llm.donated = 0 : i64}) -> tensor<64xf32> {
  // CHECK: llm.copy_down %{{.*}} into(%{{.*}}) : (tensor<64xf32, #llm.host>, tensor<64xf32>) -> tensor<64xf32>
  %p1 = llm.copy_down %new into(%p) : (tensor<64xf32, #llm.host>, tensor<64xf32>) -> tensor<64xf32>
  return %p1 : tensor<64xf32>
}
