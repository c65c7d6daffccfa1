// A row of 1001 logits has 1024 places, whole tiles of 128 columns: the last tile is stored as all others, four logits at once,
// without a question where the row ends, as nobody reads what is beyond. Only its softmax asks, once a row: a tile after which
// there are columns takes part whole, and a warp has whole rows, so no thread waits for others. A row of 1030 has 1088 places, so its last tile must not be stored whole.
//
// RUN: llmmem-opt --checkpoint-policy=none %s -o %t.mlir 2> %t.err
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu tensor-cores=warpgroup" --gpu-kernel-outlining --canonicalize --cse %t.mlir | FileCheck %s
// RUN: sed "s/1001/1030/g" %s > %t.behind.mlir
// RUN: llmmem-opt --checkpoint-policy=none %t.behind.mlir -o %t.step.mlir 2> %t.err
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu tensor-cores=warpgroup" --gpu-kernel-outlining --canonicalize --cse %t.step.mlir | FileCheck %s --check-prefix=BEHIND
//
// CHECK-LABEL: gpu.func @kernel_0_loss_head_kernel(
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK-NOT: scf.if
// CHECK: vector.store {{.*}} memref<1048576xbf16>, vector<4xbf16>
// CHECK-NOT: scf.if
// CHECK-NOT: gpu.barrier
// CHECK: %[[ENDS:.*]] = arith.cmpi sgt, %{{.*}}, %c1001
// CHECK: scf.if %[[ENDS]]
// CHECK: arith.select
// CHECK-NOT: math.exp
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"
//
// BEHIND-LABEL: gpu.func @kernel_0_loss_head_kernel(
// BEHIND: nvvm.wgmma.wait.group.sync.aligned 0
// BEHIND-NOT: vector<4xbf16>
// BEHIND: scf.if
// BEHIND: vector.store {{.*}} vector<2xbf16>
// BEHIND-NOT: gpu.barrier
// BEHIND: arith.cmpi sgt, %{{.*}}, %c1030
func.func @step(%x: tensor<1024x64xbf16>, %w: tensor<1001x64xbf16>, %t: tensor<1024xi32>)
    -> (tensor<f32>, tensor<1024x64xbf16>, tensor<1001x64xbf16>) {
  %loss, %dx, %dw = llm.loss_head %x, %w, %t layout(out_in) {chunk = 1024 : i64}
    : (tensor<1024x64xbf16>, tensor<1001x64xbf16>, tensor<1024xi32>) -> (tensor<f32>, tensor<1024x64xbf16>, tensor<1001x64xbf16>)
  return %loss, %dx, %dw : tensor<f32>, tensor<1024x64xbf16>, tensor<1001x64xbf16>
}
