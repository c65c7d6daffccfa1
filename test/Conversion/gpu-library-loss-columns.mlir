// A library multiplies a vocabulary that is no multiple of 8, whose rows of logits and of the weight begin at multiples of 16
// bytes all the same, in two parts: whole tiles of 128, and the rest, which begins at a multiple of 256 bytes. So the logits are
// two calls, and so is the gradient of x, whose second adds to the first where it lies. The gradient of the weight is one: its
// columns are the width. The parts are the vocabulary's, whatever the chunk.
//
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu products=library" %s | FileCheck %s --implicit-check-not="alignment =" --implicit-check-not=llm.library_product
// RUN: sed "s/chunk = 256/chunk = 128/" %s | llmmem-opt --convert-step-to-kernels="target=gpu products=library" | FileCheck %s --implicit-check-not="alignment =" --implicit-check-not=llm.library_product
// Multiples of 8, weights whose rows begin anywhere, and f32 are multiplied at once, as generated kernels multiply all.
// RUN: sed "s/261/264/g; s/133632/135168/g" %s | llmmem-opt --convert-step-to-kernels="target=gpu products=library" | FileCheck %s --check-prefix=WHOLE
// RUN: sed "s/261x64/64x261/g; s/out_in/in_out/" %s | llmmem-opt --convert-step-to-kernels="target=gpu products=library" | FileCheck %s --check-prefix=WHOLE
// RUN: sed "s/bf16/f32/g" %s | llmmem-opt --convert-step-to-kernels="target=gpu products=library" | FileCheck %s --check-prefix=WHOLE
// A vocabulary of less than a tile has no parts.
// RUN: sed "s/261/61/g" %s | llmmem-opt --convert-step-to-kernels="target=gpu products=library" | FileCheck %s --check-prefix=WHOLE
//
// CHECK-LABEL: func.func private @kernel_0_loss_head(
// CHECK-SAME: %[[X:.*]]: memref<16384xbf16>, %[[W:.*]]: memref<16704xbf16>, %{{.*}}: memref<256xi32>, %{{.*}}: memref<1xf32>, %[[DX:.*]]: memref<16384xbf16>, %[[DW:.*]]: memref<16704xbf16>, %{{.*}}: memref<{{.*}}xi8>
// Two granules of 128 rows, in loops.
// CHECK: llm.library_product %[[X]][%{{.*}}], %[[W]][%{{.*}}], %[[LOGITS:.*]][%{{.*}}] {{.*}}c = #llm.matrix<pitch = 320>, columns = 256 : i64, inner = 64 : i64, rows = 128 : i64
// CHECK: llm.library_product %[[X]][%{{.*}}], %[[W]][%{{.*}}], %[[LOGITS]][%{{.*}}] {{.*}}c = #llm.matrix<pitch = 320>, columns = 5 : i64, inner = 64 : i64, rows = 128 : i64
// CHECK: llm.library_product %[[LOGITS]][%{{.*}}], %[[X]][%{{.*}}], {{.*}}inner = 128 : i64, rows = 261 : i64
// CHECK: llm.library_product %[[LOGITS]][%{{.*}}], %[[W]][%{{.*}}], %[[DX]][%{{.*}}] {{.*}}columns = 64 : i64, inner = 5 : i64, rows = 128 : i64
// CHECK: llm.library_product %[[LOGITS]][%{{.*}}], %[[W]][%{{.*}}], %[[DX]][%[[BEGIN:.*]]] initial(%[[DX]][%[[BEGIN]]] : memref<16384xbf16>) {{.*}}columns = 64 : i64, initial = #llm.matrix<pitch = 64>, inner = 256 : i64, rows = 128 : i64
// WHOLE-COUNT-3: llm.library_product
// WHOLE-NOT: llm.library_product
func.func @step(%x: tensor<256x64xbf16>, %w: tensor<261x64xbf16>, %targets: tensor<256xi32>) -> (tensor<f32>)
    attributes {llm.arena = 2097152 : i64} {
  %l, %dx, %dw = llm.loss_head %x, %w, %targets layout(out_in) {chunk = 256 : i64, granule = 128 : i64, llm.library_workspace = 4096 : i64,
      llm.offsets = array<i64: 0, 256, 131328>, llm.workspace = array<i64: 1048576, 1048576>}
    : (tensor<256x64xbf16>, tensor<261x64xbf16>, tensor<256xi32>) -> (tensor<f32>, tensor<256x64xbf16>, tensor<261x64xbf16>)
  return %l : tensor<f32>
}
