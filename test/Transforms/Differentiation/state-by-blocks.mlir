// Moments in 8 bits: a byte an element and 4 bytes for each block of 256. w, of 4,096 elements, has 16 blocks: 2 (4096 + 64) bytes of
// state in addition to 4 * 4096; b, which is smaller, keeps f32.
// RUN: llmmem-opt --differentiate %s | FileCheck %s

module attributes {llm.training = #llm.training<optimizer = adamw, gradients = resident, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64, clip_norm = 0.0 : f64, moments = i8>} {
  // CHECK-LABEL: func.func @step(
  // CHECK-SAME: [[M:%[a-z0-9]+]]: tensor<64x64xi8> {llm.donated = 3 : i64, llm.name = "w.first_moment", llm.role = "optimizer_state"}
  // CHECK-SAME: [[V:%[a-z0-9]+]]: tensor<64x64xi8> {llm.donated = 4 : i64, llm.name = "w.second_moment"
  // CHECK-SAME: [[A:%[a-z0-9]+]]: tensor<16xf32> {llm.donated = 5 : i64, llm.name = "w.first_moment.scales"
  // CHECK-SAME: [[B:%[a-z0-9]+]]: tensor<16xf32> {llm.donated = 6 : i64, llm.name = "w.second_moment.scales"
  // CHECK-SAME: tensor<64xf32> {llm.donated = 7 : i64, llm.name = "b.first_moment"
  // CHECK: llm.adamw {{.*}}, [[M]], [[V]], {{.*}} scales([[A]], [[B]])
  // CHECK: llm.adamw {{.*}} (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<i32>)
  func.func @loss(%x: tensor<3x64xf32>, %t: tensor<3xi32>, %w: tensor<64x64xf32> {llm.role = "param", llm.name = "w"},
    %b: tensor<64xf32> {llm.role = "param", llm.name = "b"}) -> tensor<f32> {
    %y = llm.linear %x, %w bias(%b) layout(in_out) : (tensor<3x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<3x64xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x64xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
