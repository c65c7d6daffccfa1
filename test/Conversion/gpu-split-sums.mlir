// A weight of 130 x 70 has two tiles for 132 multiprocessors, so four parts of the tokens have blocks of their own: 576 of 2200 tokens
// each, 472 the last. The second kernel adds them in order.
// Workspace: 4 * 9152 * 4 = 146432 bytes, parts of 9100 elements at multiples of 64. What a library is to multiply has no
// parts, nor has f32, whose sums are the CPU's.
//
// RUN: llmmem-opt --checkpoint-policy=none %s -o %t.mlir 2> %t.err
// RUN: FileCheck %s --check-prefix=PLAN --input-file=%t.mlir
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --report-kernel-counts %t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=COUNTS
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize %t.mlir | FileCheck %s --check-prefix=ORDER
// RUN: llmmem-opt --checkpoint-policy=none --products=library %s 2> %t.err | FileCheck %s --check-prefix=LIBRARY
//
// PLAN: llm.linear_weight_grad {{.*}} into({{.*}}workspace = 146432>
// PLAN: llm.linear_weight_grad {{.*}}workspace = 0>
//
// Eight blocks for 2 tiles by 4 parts, then 9100 elements in vectors of 8, 256 a block.
// COUNTS: kernel_0_linear_weight_grad_kernel {{ *}}1 {{ *}}8 {{ *[1-9]}}
// COUNTS-NEXT: kernel_0_linear_weight_grad_kernel_0 {{ *}}1 {{ *}}5 {{ *}}0
// COUNTS-NEXT: kernel_1_linear_weight_grad_kernel {{ *}}1 {{ *}}6 {{ *}}0
//
// ORDER-LABEL: gpu.func @kernel_0_linear_weight_grad_kernel_0(
// ORDER: %[[FIRST:.*]] = vector.load %{{.*}} : memref<36608xf32>, vector<8xf32>
// ORDER: %[[SECOND:.*]] = vector.load %{{.*}} : memref<36608xf32>, vector<8xf32>
// ORDER: %[[SUM:.*]] = arith.addf %[[FIRST]], %[[SECOND]] : vector<8xf32>
// ORDER: %[[THIRD:.*]] = vector.load %{{.*}} : memref<36608xf32>, vector<8xf32>
// ORDER: %[[MORE:.*]] = arith.addf %[[SUM]], %[[THIRD]] : vector<8xf32>
// ORDER: %[[FOURTH:.*]] = vector.load %{{.*}} : memref<36608xf32>, vector<8xf32>
// ORDER: arith.addf %[[MORE]], %[[FOURTH]] : vector<8xf32>
//
// What its own bytes are for is all there is: the library's, which is no more than a quarter of the operands and results.
// LIBRARY: llm.linear_weight_grad {{.*}} into({{.*}}workspace = [[BYTES:[0-9]+]]>{{.*}}llm.library_workspace = [[BYTES]] : i64
func.func @step(%x: tensor<2200x130xbf16>, %dy: tensor<2200x70xbf16>, %s: tensor<130x70xbf16>, %v: tensor<2200x130xf32>,
                %dv: tensor<2200x70xf32>) -> (tensor<130x70xbf16>, tensor<130x70xf32>) {
  %dw = llm.linear_weight_grad %x, %dy into(%s) layout(in_out)
    : (tensor<2200x130xbf16>, tensor<2200x70xbf16>, tensor<130x70xbf16>) -> tensor<130x70xbf16>
  %du = llm.linear_weight_grad %v, %dv layout(in_out) : (tensor<2200x130xf32>, tensor<2200x70xf32>) -> tensor<130x70xf32>
  return %dw, %du : tensor<130x70xbf16>, tensor<130x70xf32>
}
