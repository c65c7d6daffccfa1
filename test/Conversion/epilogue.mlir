// What follows a product works on a block of it while it lies on the stack, rounded to the product's type; what nobody reads
// is not written. A library, which has no epilogues, writes the product as a whole, into a result that nobody reads too.
//
// RUN: llmmem-opt --convert-step-to-kernels %s | FileCheck %s
// RUN: llmmem-opt --convert-step-to-kernels=products=library %s | FileCheck %s --check-prefix=LIBRARY

func.func @step(%x: tensor<256x768xf32>, %w: tensor<768x768xf32>) -> (tensor<256x768xf32>, tensor<256x768xf32>, tensor<256x768xf32>)
    attributes {llm.arena = 3145728 : i64} {
  %h, %a = llm.kernel(%i = %x, %m = %w) : (tensor<256x768xf32>, tensor<768x768xf32>) -> (tensor<256x768xf32>, tensor<256x768xf32>) {
    %p = llm.linear %i, %m layout(in_out) : (tensor<256x768xf32>, tensor<768x768xf32>) -> tensor<256x768xf32>
    %g = llm.gelu %p : tensor<256x768xf32>
    llm.yield %p, %g : tensor<256x768xf32>, tensor<256x768xf32>
  } attributes {llm.offsets = array<i64: 0, 786432>}
  %unread, %c = llm.kernel(%i = %a, %m = %w) : (tensor<256x768xf32>, tensor<768x768xf32>) -> (tensor<256x768xf32>, tensor<256x768xf32>) {
    %p = llm.linear %i, %m layout(in_out) : (tensor<256x768xf32>, tensor<768x768xf32>) -> tensor<256x768xf32>
    %g = llm.gelu %p : tensor<256x768xf32>
    llm.yield %p, %g : tensor<256x768xf32>, tensor<256x768xf32>
  } attributes {llm.offsets = array<i64: 1572864, 2359296>}
  return %h, %a, %c : tensor<256x768xf32>, tensor<256x768xf32>, tensor<256x768xf32>
}

// CHECK-LABEL: func.func private @kernel_0_linear_gelu(
// CHECK-SAME: %{{.*}}: memref<196608xf32>, %{{.*}}: memref<589824xf32>, %[[H:.*]]: memref<196608xf32>, %[[A:.*]]: memref<196608xf32>)
// CHECK: scf.forall (%{{.*}}) in (8)
// CHECK: %[[STAGE:.*]] = memref.alloca() {{.*}} : memref<24576xf32>
// CHECK: call @gemm_f32_block_nn(
// CHECK: vector.load %[[STAGE]]
// CHECK: math.tanh
// CHECK: vector.store %{{.*}}, %[[H]]
// CHECK: vector.store %{{.*}}, %[[A]]
// CHECK-LABEL: func.func private @kernel_1_linear_gelu(
// CHECK-SAME: memref<589824xf32>, %[[UNREAD:.*]]: memref<196608xf32>, %[[C:.*]]: memref<196608xf32>)
// CHECK: math.tanh
// CHECK-NOT: vector.store %{{.*}}, %[[UNREAD]]
// CHECK: vector.store %{{.*}}, %[[C]]

// LIBRARY-LABEL: func.func private @kernel_0_linear_gelu(
// LIBRARY-SAME: memref<589824xf32>, %[[H:.*]]: memref<196608xf32>, %[[A:.*]]: memref<196608xf32>)
// LIBRARY: memref.extract_aligned_pointer_as_index %[[H]]
// LIBRARY: call @llmmem_library_gemm_f32(
// LIBRARY: scf.forall
// LIBRARY: vector.load %[[H]]
// LIBRARY: math.tanh
// LIBRARY-NOT: vector.store %{{.*}}, %[[H]]
// LIBRARY: vector.store %{{.*}}, %[[A]]
// LIBRARY-LABEL: func.func private @kernel_1_linear_gelu(
// LIBRARY-SAME: memref<589824xf32>, %[[UNREAD:.*]]: memref<196608xf32>, %[[C:.*]]: memref<196608xf32>)
// LIBRARY: memref.extract_aligned_pointer_as_index %[[UNREAD]]
// LIBRARY: call @llmmem_library_gemm_f32(
// LIBRARY: vector.load %[[UNREAD]]
// LIBRARY: vector.store %{{.*}}, %[[C]]
