// Waits stand before the first op that reads a result or overwrites what is in flight, in the order of the starts; views of
// a result move after its wait; offsets, arena and peak stay.
// RUN: llmmem-opt --start-collectives --verify-plan %s | FileCheck %s

// Other bytes than those in flight: nothing waits before the reader.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: llm.arena = 2560 : i64, llm.mesh = #llm.mesh<dp = 2>, llm.peak = 3076 : i64
func.func @step(%p: tensor<64xf32> {llm.donated = 1 : i64}, %v: tensor<64xf32>, %g: tensor<128xf32>, %lr: tensor<f32>)
    -> (tensor<128xf32>, tensor<64xf32>, tensor<128xf32>)
    attributes {llm.arena = 2560 : i64, llm.mesh = #llm.mesh<dp = 2>, llm.peak = 3076 : i64} {
  // CHECK: %[[WHOLE:.*]] = llm.all_gather %{{.*}} {dimension = 0 : i64, llm.name = "w", llm.offsets = array<i64: 512>, llm.started}
  // CHECK-NEXT: %[[A:.*]] = llm.gelu
  %a = llm.gelu %g {llm.offsets = array<i64: 0>} : tensor<128xf32>
  %whole = llm.all_gather %p over ["dp"] {dimension = 0 : i64, llm.name = "w", llm.offsets = array<i64: 512>} : (tensor<64xf32>) -> tensor<128xf32>
  %view = llm.reshape %whole {llm.offsets = array<i64: 512>} : tensor<128xf32> -> tensor<2x64xf32>
  // CHECK-NEXT: %[[SUM:.*]] = llm.all_reduce %[[A]] {{.*}}llm.started
  %sum = llm.all_reduce %a over ["dp"] {llm.offsets = array<i64: 1024>, llm.workspace = array<i64: 1536, 512>} : tensor<128xf32>
  // CHECK-NEXT: llm.gelu
  %b = llm.gelu %g {llm.offsets = array<i64: 2048>} : tensor<128xf32>
  // CHECK-NEXT: llm.reshape
  // The reader of the view.
  // CHECK-NEXT: %[[THERE:.*]] = llm.wait %[[WHOLE]] {llm.name = "w", llm.offsets = array<i64: 512>}
  // CHECK-NEXT: %[[VIEW:.*]] = llm.reshape %[[THERE]]
  // CHECK-NEXT: llm.add %[[VIEW]]
  %b2 = llm.reshape %b {llm.offsets = array<i64: 2048>} : tensor<128xf32> -> tensor<2x64xf32>
  %c = llm.add %view, %b2 {llm.offsets = array<i64: 512>} : tensor<2x64xf32>
  // What the all-reduce reads is overwritten.
  // CHECK-NEXT: %[[DONE:.*]] = llm.wait %[[SUM]] {llm.offsets = array<i64: 1024>}
  // CHECK-NEXT: llm.gelu %{{.*}} {llm.offsets = array<i64: 0>}
  %d = llm.gelu %c {llm.offsets = array<i64: 0>} : tensor<2x64xf32>
  // CHECK: llm.sgd
  %new = llm.sgd %p, %v, %lr {weight_decay = 0.0 : f64, llm.offsets = array<i64: -1>} : (tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %e = llm.reshape %d {llm.offsets = array<i64: 0>} : tensor<2x64xf32> -> tensor<128xf32>
  // CHECK: return %[[DONE]]
  return %sum, %new, %e : tensor<128xf32>, tensor<64xf32>, tensor<128xf32>
}
