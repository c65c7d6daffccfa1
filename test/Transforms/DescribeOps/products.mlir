// FLOPs of products follow from their dimension numbers, those of reductions from their regions.
// RUN: llmmem-opt --allow-unregistered-dialect --describe-ops %s | FileCheck %s

func.func @main(%a: tensor<8x128x768xf32>, %b: tensor<8x768x64xf32>, %image: tensor<1x8x8x3xf32>,
                %kernel: tensor<3x3x3x16xf32>, %zero: tensor<f32>)
    -> (tensor<8x128x64xf32>, tensor<1x8x8x16xf32>, tensor<8x128xf32>, tensor<128x64xf32>) {
  // 2 * 8 * 128 * 64 * 768
  // CHECK: "stablehlo.dot_general"{{.*}}llm.cost = #llm.cost<flops = 100663296, bytes = 4980736, ns = 0, workspace = 0>, llm.cost_from = "table", llm.pure
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<8x128x768xf32>, tensor<8x768x64xf32>) -> tensor<8x128x64xf32>
  // 2 * (8 * 8 * 16) * (3 * 3 * 3)
  // CHECK: "stablehlo.convolution"{{.*}}flops = 55296,
  %1 = "stablehlo.convolution"(%image, %kernel) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x8x8x16xf32>
  // One addition an element.
  // CHECK: "stablehlo.reduce"
  // CHECK: {llm.cost = #llm.cost<flops = 786432,
  %2 = "stablehlo.reduce"(%a, %zero) <{dimensions = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %sum = "stablehlo.add"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%sum) : (tensor<f32>) -> ()
  }) : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<8x128xf32>
  // CHECK: "mhlo.dot"{{.*}}flops = 16384,
  %one = "mhlo.constant"() {value = dense<1.0> : tensor<128x1xf32>} : () -> tensor<128x1xf32>
  %row = "mhlo.constant"() {value = dense<1.0> : tensor<1x64xf32>} : () -> tensor<1x64xf32>
  %3 = "mhlo.dot"(%one, %row) : (tensor<128x1xf32>, tensor<1x64xf32>) -> tensor<128x64xf32>
  return %0, %1, %2, %3 : tensor<8x128x64xf32>, tensor<1x8x8x16xf32>, tensor<8x128xf32>, tensor<128x64xf32>
}
