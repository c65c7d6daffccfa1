// Rows of 1001 logits lie 1024 apart, so all three products copy 16 bytes at a time, none element by element. All take
// a whole chunk in one launch.
// Workspace: 4096 bytes of losses, 128128 of lower halves, 2097152 of logits, 131072 and 2050048 of wide factors, 256256 of
// their product: 4666752. For a library, which would take 1024 tokens as one granule, there are 960: the accumulator is whole,
// 256256 bytes for 128128, the logits are 1966080 bytes and the losses 3840, all three products are its calls, and the gradient of the weight is
// added to f32.
//
// RUN: llmmem-opt --checkpoint-policy=none %s -o %t.mlir 2> %t.err
// RUN: FileCheck %s --check-prefix=PLAN --input-file=%t.mlir
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize %t.mlir | FileCheck %s
// RUN: sed "s/1024x64/960x64/g; s/1024xi32/960xi32/g; s/chunk = 1024/chunk = 960/" %s > %t.two.mlir
// RUN: llmmem-opt --checkpoint-policy=none --products=library %t.two.mlir -o %t.library.mlir 2> %t.err
// RUN: FileCheck %s --check-prefix=WHOLE --input-file=%t.library.mlir
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu products=library" %t.library.mlir | FileCheck %s --check-prefix=LIBRARY
//
// PLAN: workspace = 4666752>
// 4663552 and 126464 of the library's.
// WHOLE: workspace = 4790016>{{.*}}llm.library_workspace = 126464 : i64
//
// Tiles of 128 x 128: 8 x 8 of the chunk's logits, 8 of dw, 8 of dx.
// CHECK-LABEL: gpu.func @kernel_0_loss_head_kernel(
// CHECK-SAME: known_grid_size = array<i32: 64, 1, 1>
// CHECK: nvgpu.device_async_copy
// CHECK-LABEL: gpu.func @kernel_0_loss_head_kernel_1(
// CHECK-SAME: known_grid_size = array<i32: 8, 1, 1>
// CHECK: nvgpu.device_async_copy {{.*}} memref<1048576xbf16>
// CHECK-LABEL: gpu.func @kernel_0_loss_head_kernel_2(
// CHECK-SAME: known_grid_size = array<i32: 8, 1, 1>
// CHECK: nvgpu.device_async_copy {{.*}} memref<1048576xbf16>
//
// LIBRARY-LABEL: func.func private @kernel_0_loss_head(
// LIBRARY: llm.library_product {{.*}}c = #llm.matrix<pitch = 1024>{{.*}}rows = 512
// LIBRARY: llm.library_product {{.*}} initial(%[[SUM:.*]][%{{.*}}] : memref<64064xf32>) {{.*}}a = #llm.matrix<pitch = 1024, transposed = true>{{.*}}memref<64064xf32>
// LIBRARY: llm.library_product {{.*}}a = #llm.matrix<pitch = 1024>{{.*}}inner = 105
// LIBRARY: llm.library_product {{.*}}a = #llm.matrix<pitch = 1024>{{.*}}inner = 896
func.func @step(%x: tensor<1024x64xbf16>, %w: tensor<1001x64xbf16>, %t: tensor<1024xi32>)
    -> (tensor<f32>, tensor<1024x64xbf16>, tensor<1001x64xbf16>) {
  %loss, %dx, %dw = llm.loss_head %x, %w, %t layout(out_in) {chunk = 1024 : i64}
    : (tensor<1024x64xbf16>, tensor<1001x64xbf16>, tensor<1024xi32>) -> (tensor<f32>, tensor<1024x64xbf16>, tensor<1001x64xbf16>)
  return %loss, %dx, %dw : tensor<f32>, tensor<1024x64xbf16>, tensor<1001x64xbf16>
}
