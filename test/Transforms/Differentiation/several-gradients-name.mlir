// RUN: llmmem-opt --differentiate %s | FileCheck %s

// An op that makes several gradients is named after the forward op.
// CHECK: llm.attention_grad {{.*}}llm.name = "attn.vjp"
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%t: tensor<1x3xi32>, %q: tensor<1x3x4xf32> {llm.role = "param"}) -> tensor<f32> {
    %y, %l = llm.attention %q, %q, %q {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.5 : f64, llm.name = "attn"} : (tensor<1x3x4xf32>, tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> (tensor<1x3x4xf32>, tensor<1x2x3xf32>)
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<1x3x4xf32>, tensor<1x3xi32>) -> (tensor<f32>, tensor<1x3xf32>)
    return %loss : tensor<f32>
  }
}
