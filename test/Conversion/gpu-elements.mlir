// On a GPU an element kernel is one launch: each thread takes one vector of 128 bits, and one thread more for each
// element of the rest. Equal ops share the host function and so the kernel. A call says which values its buffers
// hold and which it writes; in place they are two values at one place.
//
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse %s | FileCheck %s

// CHECK: gpu.container_module
// CHECK-LABEL: func.func @step(
// CHECK: call @kernel_0_gelu(%[[X:.*]], %[[A:.*]]) {llm.values = array<i64: 0, 3>, llm.writes = array<i64: 1>}
// CHECK: call @kernel_0_gelu(%[[A]], %[[A]]) {llm.values = array<i64: 3, 4>, llm.writes = array<i64: 1>}
// CHECK: call @kernel_1_dropout({{.*}}, %{{.*}}, %{{.*}}, %c7_i64) {llm.values = array<i64: 1, 2, 5, -1>, llm.writes = array<i64: 2>}
// CHECK: call @kernel_2_cast(
// The step's results are copied by kernels, too, and a view is no value of its own.
// CHECK: call @kernel_3_copy(%[[A]], %{{.*}}) {llm.values = array<i64: 4, 7>, llm.writes = array<i64: 1>}
func.func @step(%x: tensor<512x16xbf16>, %h: tensor<1003xf32>, %s: tensor<2xi32>)
    -> (tensor<8192xbf16>, tensor<1003xbf16>) attributes {llm.arena = 32768 : i64} {
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<512x16xbf16>
  %b = llm.gelu %a {llm.offsets = array<i64: 0>, llm.instance = 1 : i64} : tensor<512x16xbf16>
  %d = llm.dropout %h, %s {p = 0.1 : f64, key = 7 : i64, llm.offsets = array<i64: 16384>} : tensor<1003xf32>, tensor<2xi32>
  %e = llm.cast %d {llm.offsets = array<i64: 20480>} : tensor<1003xf32> -> tensor<1003xbf16>
  %f = llm.reshape %b {llm.offsets = array<i64: 0>} : tensor<512x16xbf16> -> tensor<8192xbf16>
  return %f, %e : tensor<8192xbf16>, tensor<1003xbf16>
}

// CHECK-LABEL: func.func private @kernel_0_gelu(
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[BLOCKS:.*]] = arith.constant 4 : index
// CHECK-DAG: %[[THREADS:.*]] = arith.constant 256 : index
// CHECK: gpu.launch_func @kernels::@kernel_0_gelu_kernel
// CHECK-SAME: blocks in (%[[BLOCKS]], %[[ONE]], %[[ONE]]) threads in (%[[THREADS]], %[[ONE]], %[[ONE]])
// CHECK-NEXT: return

// CHECK: gpu.module @kernels
// CHECK: gpu.func @kernel_0_gelu_kernel(%[[FROM:.*]]: memref<8192xbf16>, %[[TO:.*]]: memref<8192xbf16>) kernel
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 4, 1, 1>
// CHECK-NOT: scf.if
// CHECK: %[[NUMBER:.*]] = arith.addi
// CHECK: %[[PLACE:.*]] = arith.muli %[[NUMBER]], %c8
// CHECK: vector.load %[[FROM]][%[[PLACE]]] : memref<8192xbf16>, vector<8xbf16>
// CHECK: vector.store %{{.*}}, %[[TO]][%[[PLACE]]] : memref<8192xbf16>, vector<8xbf16>
// CHECK-NOT: gpu.func @kernel_0_gelu_kernel_

// 250 vectors of 4 f32, and 3 elements: 253 threads of 256 work.
// CHECK: gpu.func @kernel_1_dropout_kernel(
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 1, 1, 1>
// CHECK: arith.cmpi slt, %{{.*}}, %c250
// CHECK: vector.load {{.*}} vector<4xf32>
// CHECK: arith.cmpi slt, %{{.*}}, %c253
// CHECK: memref.load {{.*}} : memref<1003xf32>

// The narrowest element says how long vectors are: two accesses of 128 bits on one side, one on the other.
// CHECK: gpu.func @kernel_2_cast_kernel(
// CHECK: vector.load {{.*}} : memref<1003xf32>, vector<8xf32>
// CHECK: vector.store {{.*}} : memref<1003xbf16>, vector<8xbf16>
