// Bytes die with the last reader of their value, a workspace with its op; what an in-place result has taken over
// lives on, but for what it leaves of a larger operand.
//
// RUN: llmmem-opt --convert-step-to-kernels=poison=true %s | FileCheck %s

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[ARENA:[a-z0-9]+]]: memref<1024xi8>
func.func @step(%x: tensor<6x8xf32>) -> tensor<6x8xf32> attributes {llm.arena = 1024 : i64} {
  // CHECK: call @kernel_0_gelu
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<6x8xf32>
  // A reader of the view is a reader of %a.
  %v = llm.reshape %a {llm.offsets = array<i64: 0>} : tensor<6x8xf32> -> tensor<48xf32>
  // CHECK-NOT: @llmmem_fill_dead
  // CHECK: call @kernel_1_gelu
  %b = llm.gelu %v {llm.offsets = array<i64: 256>} : tensor<48xf32>
  // CHECK: %[[DEAD:.*]] = memref.view %[[ARENA]][%c0{{.*}}][] : memref<1024xi8> to memref<192xi8>
  // CHECK: memref.extract_aligned_pointer_as_index %[[DEAD]]
  // CHECK: call @llmmem_fill_dead(%{{.*}}, %c192_i64)
  // Nothing of %b dies here: %c has taken it over.
  // CHECK-NOT: @llmmem_fill_dead
  // CHECK: call @kernel_1_gelu
  // CHECK-NOT: @llmmem_fill_dead
  %c = llm.gelu %b {llm.offsets = array<i64: 256>} : tensor<48xf32>
  // CHECK: memref.copy
  %d = llm.reshape %c {llm.offsets = array<i64: 256>} : tensor<48xf32> -> tensor<6x8xf32>
  return %d : tensor<6x8xf32>
}
