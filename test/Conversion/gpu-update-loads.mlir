// An update of whole blocks loads what it updates before one thread of the block computes the powers of beta: neither waits for the
// other.
//
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse %s | FileCheck %s

// CHECK: gpu.func @kernel_0_adamw_kernel(
// CHECK-NOT: gpu.barrier
// CHECK-COUNT-4: vector.load {{.*}} vector<8x
// CHECK-NOT: vector.load
// CHECK: math.powf
// CHECK: gpu.barrier
// CHECK-NOT: vector.load
// CHECK: vector.store
func.func @step(%p: tensor<4096xbf16> {llm.donated = 0 : i64}, %g: tensor<4096xbf16>, %m: tensor<4096xf32> {llm.donated = 1 : i64},
                %v: tensor<4096xf32> {llm.donated = 2 : i64}, %lr: tensor<f32>, %t: tensor<i32>, %w: tensor<4096xf32> {llm.donated = 3 : i64})
    -> (tensor<4096xbf16>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>) attributes {llm.arena = 0 : i64} {
  %0, %1, %2, %3 = llm.adamw %p, %g, %m, %v, %lr, %t master(%w)
    {beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, llm.offsets = array<i64: -1, -1, -1, -1>}
    : (tensor<4096xbf16>, tensor<4096xbf16>, tensor<4096xf32>, tensor<4096xf32>, tensor<f32>, tensor<i32>, tensor<4096xf32>)
    -> (tensor<4096xbf16>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>)
  return %0, %1, %2, %3 : tensor<4096xbf16>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>
}
