// On a GPU neighbouring updates that differ in lengths alone share a launch: a block finds its parameter by a tree of
// comparisons. What they have in common, and what stands in its operand's bytes, is handed over once.
//
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse %s | FileCheck %s

// %b decays and %a and %c do not, so they are two launches. %d reads what %b has written: a launch of its own.
// CHECK-LABEL: func.func @step(
// CHECK: call @kernel_0_sgd_of_2(%[[A:[^,]*]], %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[C:[^,]*]], %{{[^,]*}})
// CHECK-SAME: {llm.values = array<i64: 0, 1, 6, 0, 4, 5>, llm.writes = array<i64: 0, 3, 4>}
// CHECK: call @kernel_1_sgd(
// CHECK: call @kernel_1_sgd(
// CHECK-NOT: call
func.func @step(%a: tensor<5000xf32> {llm.donated = 0 : i64}, %ga: tensor<5000xf32>,
                %b: tensor<64xf32> {llm.donated = 1 : i64}, %gb: tensor<64xf32>,
                %c: tensor<1003xf32> {llm.donated = 2 : i64}, %gc: tensor<1003xf32>, %lr: tensor<f32>)
    -> (tensor<5000xf32>, tensor<64xf32>, tensor<1003xf32>) attributes {llm.arena = 0 : i64} {
  %a1 = llm.sgd %a, %ga, %lr {weight_decay = 0.0 : f64, llm.offsets = array<i64: -1>}
    : (tensor<5000xf32>, tensor<5000xf32>, tensor<f32>) -> tensor<5000xf32>
  %b1 = llm.sgd %b, %gb, %lr {weight_decay = 0.1 : f64, llm.offsets = array<i64: -1>}
    : (tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %c1 = llm.sgd %c, %gc, %lr {weight_decay = 0.0 : f64, llm.offsets = array<i64: -1>}
    : (tensor<1003xf32>, tensor<1003xf32>, tensor<f32>) -> tensor<1003xf32>
  %b2 = llm.sgd %b1, %gb, %lr {weight_decay = 0.1 : f64, llm.offsets = array<i64: -1>}
    : (tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %a1, %b2, %c1 : tensor<5000xf32>, tensor<64xf32>, tensor<1003xf32>
}

// 1250 vectors are five blocks, 250 and three elements one.
// CHECK: gpu.func @kernel_0_sgd_of_2_kernel(
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 6, 1, 1>
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi slt, %{{.*}}, %c5
// CHECK: %[[FOUND:.*]]:{{[0-9]+}} = scf.if %[[IS_FIRST]]
// CHECK: memref.cast {{.*}} : memref<5000xf32> to memref<?xf32>
// CHECK: memref.cast {{.*}} : memref<1003xf32> to memref<?xf32>
// CHECK: vector.load %[[FOUND]]#{{[0-9]+}}[{{.*}}] : memref<?xf32>, vector<4xf32>
// CHECK: vector.store %{{.*}}, %[[FOUND]]#{{[0-9]+}}[{{.*}}] : memref<?xf32>, vector<4xf32>
