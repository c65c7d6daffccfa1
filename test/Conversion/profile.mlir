// RUN: llmmem-opt --convert-step-to-kernels=profile=true %s | FileCheck %s
// RUN: llmmem-opt --convert-step-to-kernels %s | FileCheck %s --check-prefix=PLAIN

// A profiled step writes the time before and after each call into a last argument; a view is no call. Without the
// option nothing reads a clock.
//
// CHECK: func.func private @llmmem_clock() -> i64
// CHECK: func.func @step(%{{.*}}: memref<512xi8>, %[[X:.*]]: memref<8xf32>, %{{.*}}: memref<8xf32>, %[[TIMES:.*]]: memref<4xi64>)
// CHECK: %[[BEFORE:.*]] = call @llmmem_clock()
// CHECK: memref.store %[[BEFORE]], %[[TIMES]][%{{.*}}]
// CHECK: call @kernel_0_gelu(%[[X]], %{{.*}}) {llm.profile = {block = 3 : i64, bytes = 64 : i64, flops = 64 : i64, key = "gelu(8xf32) -> 8xf32", kind = "gelu", name = "act", phase = "forward", recomputed = false}}
// CHECK: %[[AFTER:.*]] = call @llmmem_clock()
// CHECK: memref.store %[[AFTER]], %[[TIMES]][%{{.*}}]
// CHECK: call @kernel_0_gelu({{.*}}) {llm.profile = {{{.*}}recomputed = true}}
// PLAIN-NOT: llmmem_clock
// PLAIN-NOT: profile
func.func @step(%x: tensor<8xf32>) -> tensor<8xf32> attributes {llm.arena = 512 : i64} {
  %y = llm.gelu %x {llm.name = "act", llm.phase = "forward", llm.block = 3 : i64, llm.offsets = array<i64: 0>} : tensor<8xf32>
  %v = llm.reshape %y {llm.offsets = array<i64: 0>} : tensor<8xf32> -> tensor<2x4xf32>
  %z = llm.gelu %x {llm.instance = 1 : i64, llm.offsets = array<i64: 256>} : tensor<8xf32>
  return %z : tensor<8xf32>
}
