// Where anything else reads what would be gone, or the pattern is not whole, all ops stay.
// RUN: llmmem-opt %s --group-loss-head | FileCheck %s --implicit-check-not=llm.loss_head

// Somebody else reads the logits.
// CHECK-LABEL: func.func @logits_returned(
// CHECK: llm.cross_entropy_grad
func.func @logits_returned(%x: tensor<8x4xf32>, %w: tensor<6x4xf32>, %t: tensor<8xi32>, %b: tensor<6xf32>)
    -> (tensor<f32>, tensor<8x6xf32>, tensor<6x4xf32>, tensor<8x4xf32>) {
  %logits = llm.linear %x, %w layout(out_in) : (tensor<8x4xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>
  %loss, %lse = llm.cross_entropy %logits, %t : (tensor<8x6xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
  %one = llm.fill {value = 1.0 : f64} : tensor<f32>
  %dlogits = llm.cross_entropy_grad %logits, %lse, %t, %one
    : (tensor<8x6xf32>, tensor<8xf32>, tensor<8xi32>, tensor<f32>) -> tensor<8x6xf32>
  %dw = llm.linear_weight_grad %x, %dlogits layout(out_in) : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<6x4xf32>
  %dx = llm.linear %dlogits, %w layout(in_out) : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  return %loss, %logits, %dw, %dx : tensor<f32>, tensor<8x6xf32>, tensor<6x4xf32>, tensor<8x4xf32>
}

// The projection has a bias.
// CHECK-LABEL: func.func @bias(
// CHECK: llm.cross_entropy_grad
func.func @bias(%x: tensor<8x4xf32>, %w: tensor<6x4xf32>, %t: tensor<8xi32>, %b: tensor<6xf32>)
    -> (tensor<f32>, tensor<6x4xf32>, tensor<8x4xf32>) {
  %logits = llm.linear %x, %w bias(%b) layout(out_in) : (tensor<8x4xf32>, tensor<6x4xf32>, tensor<6xf32>) -> tensor<8x6xf32>
  %loss, %lse = llm.cross_entropy %logits, %t : (tensor<8x6xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
  %one = llm.fill {value = 1.0 : f64} : tensor<f32>
  %dlogits = llm.cross_entropy_grad %logits, %lse, %t, %one
    : (tensor<8x6xf32>, tensor<8xf32>, tensor<8xi32>, tensor<f32>) -> tensor<8x6xf32>
  %dw = llm.linear_weight_grad %x, %dlogits layout(out_in) : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<6x4xf32>
  %dx = llm.linear %dlogits, %w layout(in_out) : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  return %loss, %dw, %dx : tensor<f32>, tensor<6x4xf32>, tensor<8x4xf32>
}

// The loss is scaled.
// CHECK-LABEL: func.func @scaled(
// CHECK: llm.cross_entropy_grad
func.func @scaled(%x: tensor<8x4xf32>, %w: tensor<6x4xf32>, %t: tensor<8xi32>, %b: tensor<6xf32>)
    -> (tensor<f32>, tensor<6x4xf32>, tensor<8x4xf32>) {
  %logits = llm.linear %x, %w layout(out_in) : (tensor<8x4xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>
  %loss, %lse = llm.cross_entropy %logits, %t : (tensor<8x6xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
  %one = llm.fill {value = 0.5 : f64} : tensor<f32>
  %dlogits = llm.cross_entropy_grad %logits, %lse, %t, %one
    : (tensor<8x6xf32>, tensor<8xf32>, tensor<8xi32>, tensor<f32>) -> tensor<8x6xf32>
  %dw = llm.linear_weight_grad %x, %dlogits layout(out_in) : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<6x4xf32>
  %dx = llm.linear %dlogits, %w layout(in_out) : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  return %loss, %dw, %dx : tensor<f32>, tensor<6x4xf32>, tensor<8x4xf32>
}

// Somebody else reads the gradient of the logits.
// CHECK-LABEL: func.func @gradient_read(
// CHECK: llm.cross_entropy_grad
func.func @gradient_read(%x: tensor<8x4xf32>, %w: tensor<6x4xf32>, %t: tensor<8xi32>, %b: tensor<6xf32>)
    -> (tensor<f32>, tensor<8x6xf32>, tensor<6x4xf32>, tensor<8x4xf32>) {
  %logits = llm.linear %x, %w layout(out_in) : (tensor<8x4xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>
  %loss, %lse = llm.cross_entropy %logits, %t : (tensor<8x6xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
  %one = llm.fill {value = 1.0 : f64} : tensor<f32>
  %dlogits = llm.cross_entropy_grad %logits, %lse, %t, %one
    : (tensor<8x6xf32>, tensor<8xf32>, tensor<8xi32>, tensor<f32>) -> tensor<8x6xf32>
  %dw = llm.linear_weight_grad %x, %dlogits layout(out_in) : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<6x4xf32>
  %dx = llm.linear %dlogits, %w layout(in_out) : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  return %loss, %dlogits, %dw, %dx : tensor<f32>, tensor<8x6xf32>, tensor<6x4xf32>, tensor<8x4xf32>
}

// Somebody else reads the log-sum-exp.
// CHECK-LABEL: func.func @lse_read(
// CHECK: llm.cross_entropy_grad
func.func @lse_read(%x: tensor<8x4xf32>, %w: tensor<6x4xf32>, %t: tensor<8xi32>, %b: tensor<6xf32>)
    -> (tensor<f32>, tensor<8xf32>, tensor<6x4xf32>, tensor<8x4xf32>) {
  %logits = llm.linear %x, %w layout(out_in) : (tensor<8x4xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>
  %loss, %lse = llm.cross_entropy %logits, %t : (tensor<8x6xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
  %one = llm.fill {value = 1.0 : f64} : tensor<f32>
  %dlogits = llm.cross_entropy_grad %logits, %lse, %t, %one
    : (tensor<8x6xf32>, tensor<8xf32>, tensor<8xi32>, tensor<f32>) -> tensor<8x6xf32>
  %dw = llm.linear_weight_grad %x, %dlogits layout(out_in) : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<6x4xf32>
  %dx = llm.linear %dlogits, %w layout(in_out) : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  return %loss, %lse, %dw, %dx : tensor<f32>, tensor<8xf32>, tensor<6x4xf32>, tensor<8x4xf32>
}

// The loss is read before the gradients by what may not wait.
func.func private @look(tensor<f32>) -> tensor<f32>
// CHECK-LABEL: func.func @loss_read_before(
// CHECK: llm.cross_entropy_grad
func.func @loss_read_before(%x: tensor<8x4xf32>, %w: tensor<6x4xf32>, %t: tensor<8xi32>, %b: tensor<6xf32>)
    -> (tensor<f32>, tensor<f32>, tensor<6x4xf32>, tensor<8x4xf32>) {
  %logits = llm.linear %x, %w layout(out_in) : (tensor<8x4xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>
  %loss, %lse = llm.cross_entropy %logits, %t : (tensor<8x6xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
  %twice = func.call @look(%loss) : (tensor<f32>) -> tensor<f32>
  %one = llm.fill {value = 1.0 : f64} : tensor<f32>
  %dlogits = llm.cross_entropy_grad %logits, %lse, %t, %one
    : (tensor<8x6xf32>, tensor<8xf32>, tensor<8xi32>, tensor<f32>) -> tensor<8x6xf32>
  %dw = llm.linear_weight_grad %x, %dlogits layout(out_in) : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<6x4xf32>
  %dx = llm.linear %dlogits, %w layout(in_out) : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  return %loss, %twice, %dw, %dx : tensor<f32>, tensor<f32>, tensor<6x4xf32>, tensor<8x4xf32>
}
