// Of ZeRO-3 what is frozen has buckets of its own: a gather that a trained part enters too would make gradients of frozen weights. What
// is held in fewer bits is gathered by whole rows, as it is stored.
// RUN: llmmem-opt "--parallelize=mesh=dp=2 zero=3" --split-input-file --verify-diagnostics %s | FileCheck %s

!x = tensor<4x32xf32>
// CHECK: llm.all_gather_bucket %{{.*}}, %{{.*}} over ["dp"] {{.*}}: (tensor<1x32xf32>, tensor<16x2xf32>) -> (tensor<2x32xf32>, tensor<32x2xf32>)
// CHECK: llm.all_gather %{{.*}} over ["dp"] {{.*}}: (tensor<16x32xi8>) -> tensor<32x32xi8>
// CHECK: llm.all_gather %{{.*}} over ["dp"] {{.*}}: (tensor<16x1xf32>) -> tensor<32x1xf32>
func.func @loss(%x: !x {llm.role = "input"}, %t: tensor<4xi32> {llm.role = "input"},
                %a: tensor<2x32xf32> {llm.role = "param", llm.name = "a"}, %b: tensor<32x2xf32> {llm.role = "param", llm.name = "b"},
                %w: tensor<32x32xi8> {llm.frozen, llm.role = "param", llm.name = "w"},
                %s: tensor<32x1xf32> {llm.frozen, llm.role = "param", llm.name = "w.scales"}) -> tensor<f32> {
  %r = llm.linear %x, %a layout(out_in) {llm.block = 0 : i64} : (!x, tensor<2x32xf32>) -> tensor<4x2xf32>
  %more = llm.linear %r, %b layout(out_in) {llm.block = 0 : i64} : (tensor<4x2xf32>, tensor<32x2xf32>) -> !x
  %base = llm.linear %x, %w scales(%s) layout(out_in) {llm.block = 0 : i64} : (!x, tensor<32x32xi8>, tensor<32x1xf32>) -> !x
  %h = llm.add %base, %more {llm.block = 0 : i64} : !x
  %loss, %l = llm.cross_entropy %h, %t : (!x, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  return %loss : tensor<f32>
}

// -----

!x = tensor<4x32xf32>
func.func @loss(%x: !x {llm.role = "input"}, %t: tensor<4xi32> {llm.role = "input"},
    // expected-error @+1 {{is held in fewer bits, in parts of whole rows and bytes, and dp = 2 does not divide it so; take a dp that divides 33, or zero=2}}
                %w: tensor<33x32xi8> {llm.frozen, llm.role = "param", llm.name = "w"},
                %s: tensor<33x1xf32> {llm.frozen, llm.role = "param", llm.name = "w.scales"}) -> tensor<f32> {
  %h = llm.linear %x, %w scales(%s) layout(out_in) : (!x, tensor<33x32xi8>, tensor<33x1xf32>) -> tensor<4x33xf32>
  %loss, %l = llm.cross_entropy %h, %t : (tensor<4x33xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  return %loss : tensor<f32>
}
