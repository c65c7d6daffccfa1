// `generated` fuses what goes by elements without being a library's epilogue, alone or as a kernel, whose ops join the product's.
//
// RUN: llmmem-opt --group-kernels --fuse-epilogues=which=generated %s | FileCheck %s
// RUN: llmmem-opt --group-kernels --fuse-epilogues %s | FileCheck %s --check-prefix=LIBRARY

// LIBRARY-NOT: llm.kernel(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}})

// CHECK-LABEL: func @step
//       CHECK: %[[GATE:.*]] = llm.linear %arg0, %arg1
//       CHECK: %[[Y:.*]] = llm.kernel(%[[X:.*]] = %arg0, %[[W:.*]] = %arg2, %[[G:.*]] = %[[GATE]])
//  CHECK-NEXT:   %[[UP:.*]] = llm.linear %[[X]], %[[W]]
//  CHECK-NEXT:   %[[S:.*]] = llm.silu %[[G]]
//  CHECK-NEXT:   %[[P:.*]] = llm.mul %[[S]], %[[UP]]
//  CHECK-NEXT:   llm.yield %[[P]]
//       CHECK: llm.kernel(%[[A:.*]] = %[[Y]], %[[V:.*]] = %arg3, %[[R:.*]] = %arg0)
//  CHECK-NEXT:   %[[DOWN:.*]] = llm.linear %[[A]], %[[V]]
//  CHECK-NEXT:   %[[SUM:.*]] = llm.add %[[R]], %[[DOWN]]
//  CHECK-NEXT:   llm.yield %[[SUM]]
func.func @step(%x: tensor<1x4x8xf32>, %wg: tensor<8x16xf32>, %wu: tensor<8x16xf32>, %wd: tensor<16x8xf32>) -> tensor<1x4x8xf32> {
  %gate = llm.linear %x, %wg layout(in_out) : (tensor<1x4x8xf32>, tensor<8x16xf32>) -> tensor<1x4x16xf32>
  %up = llm.linear %x, %wu layout(in_out) : (tensor<1x4x8xf32>, tensor<8x16xf32>) -> tensor<1x4x16xf32>
  %s = llm.silu %gate : tensor<1x4x16xf32>
  %y = llm.mul %s, %up : tensor<1x4x16xf32>
  %down = llm.linear %y, %wd layout(in_out) : (tensor<1x4x16xf32>, tensor<16x8xf32>) -> tensor<1x4x8xf32>
  %sum = llm.add %x, %down : tensor<1x4x8xf32>
  return %sum : tensor<1x4x8xf32>
}
