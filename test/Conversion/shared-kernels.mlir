// Equal ops call one kernel, whatever passes have noted on them; another attribute or shape is another kernel. The number
// of a random stream is an argument.
// Nothing allocates.
//
// RUN: llmmem-opt --convert-step-to-kernels %s | FileCheck %s
// RUN: llmmem-opt --convert-step-to-kernels %s | FileCheck %s --check-prefix=NOALLOC
//
// NOALLOC-NOT: memref.alloc

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[ARENA:[a-z0-9]+]]: memref<1024xi8>, %[[X:[a-z0-9]+]]: memref<48xf32>,
// CHECK-SAME: %[[SEED:[a-z0-9]+]]: memref<2xi32>, %[[OUT:[a-z0-9]+]]: memref<48xf32>)
func.func @step(%x: tensor<6x8xf32>, %s: tensor<2xi32>) -> tensor<48xf32> attributes {llm.arena = 1024 : i64} {
  // CHECK: %[[A:.*]] = memref.view %[[ARENA]][%c0][]
  // CHECK: call @kernel_0_gelu(%[[X]], %[[A]])
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<6x8xf32>
  // In place: the same view twice.
  // CHECK: call @kernel_0_gelu(%[[A]], %[[A]])
  %b = llm.gelu %a {llm.offsets = array<i64: 0>, llm.instance = 1 : i64} : tensor<6x8xf32>
  // CHECK: %[[C:.*]] = memref.view %[[ARENA]][%c256][]
  // CHECK: call @kernel_1_dropout(%[[A]], %[[SEED]], %[[C]], %c1_i64)
  %c = llm.dropout %b, %s {p = 0.1 : f64, key = 1 : i64, llm.offsets = array<i64: 256>} : tensor<6x8xf32>, tensor<2xi32>
  // CHECK: %[[D:.*]] = memref.view %[[ARENA]][%c512][]
  // CHECK: call @kernel_1_dropout(%[[C]], %[[SEED]], %[[D]], %c2_i64)
  %d = llm.dropout %c, %s {p = 0.1 : f64, key = 2 : i64, llm.offsets = array<i64: 512>} : tensor<6x8xf32>, tensor<2xi32>
  // CHECK: %[[E:.*]] = memref.view %[[ARENA]][%c768][]
  // CHECK: call @kernel_2_dropout(%[[D]], %[[SEED]], %[[E]], %{{.*}})
  %e = llm.dropout %d, %s {p = 0.2 : f64, key = 2 : i64, llm.offsets = array<i64: 768>} : tensor<6x8xf32>, tensor<2xi32>
  // A view is no call, and its bytes are those of what it looks at.
  // CHECK-NEXT: memref.copy %[[E]], %[[OUT]]
  %f = llm.reshape %e {llm.offsets = array<i64: 768>} : tensor<6x8xf32> -> tensor<48xf32>
  return %f : tensor<48xf32>
}

// CHECK: func.func private @kernel_0_gelu(%{{.*}}: memref<48xf32>, %{{.*}}: memref<48xf32>)
// CHECK: func.func private @kernel_1_dropout
// CHECK: func.func private @kernel_2_dropout
