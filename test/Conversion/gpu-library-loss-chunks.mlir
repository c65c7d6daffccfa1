// What a library is told of the addresses of a granule's products chooses its algorithm, so it must not depend on the chunk, and
// no chunk is multiplied at once: 320 tokens in granules of 128, all at once and in chunks of one granule. All begin at
// multiples of 256 bytes, of which nothing is printed.
//
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu products=library" %s | FileCheck %s --implicit-check-not="alignment ="
//
// CHECK-LABEL: func.func private @kernel_0_loss_head(
// CHECK-COUNT-2: llm.library_product {{.*}}rows = 128
// CHECK: llm.library_product {{.*}}rows = 64
// CHECK-LABEL: func.func private @kernel_1_loss_head(
// CHECK: llm.library_product {{.*}}rows = 128
// CHECK: llm.library_product {{.*}}rows = 64
func.func @step(%x: tensor<320x4xbf16>, %w: tensor<4x128xbf16>, %targets: tensor<320xi32>) -> (tensor<f32>, tensor<f32>)
    attributes {llm.arena = 524288 : i64} {
  %l, %dx, %dw = llm.loss_head %x, %w, %targets layout(in_out) {chunk = 320 : i64, granule = 128 : i64,
      llm.offsets = array<i64: 0, 256, 4096>, llm.workspace = array<i64: 8192, 163840>}
    : (tensor<320x4xbf16>, tensor<4x128xbf16>, tensor<320xi32>) -> (tensor<f32>, tensor<320x4xbf16>, tensor<4x128xbf16>)
  %m, %ex, %ew = llm.loss_head %x, %w, %targets layout(in_out) {chunk = 128 : i64, granule = 128 : i64,
      llm.offsets = array<i64: 262144, 262400, 266240>, llm.workspace = array<i64: 270336, 131072>}
    : (tensor<320x4xbf16>, tensor<4x128xbf16>, tensor<320xi32>) -> (tensor<f32>, tensor<320x4xbf16>, tensor<4x128xbf16>)
  return %l, %m : tensor<f32>, tensor<f32>
}
