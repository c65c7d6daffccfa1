// A linear and its weight gradient: x [..., in], y [..., out], the weight as the layout says.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @below {{'weight' has shape [8, 4], expected [4, 8]}}
  %0 = llm.linear %x, %w layout(out_in) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'weight' has shape [4, 8], expected [8, 4]}}
  %0 = llm.linear %x, %w layout(in_out) : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<f32>) {
  // expected-error @below {{'weight' has shape [], expected [8, 4]}}
  %0 = llm.linear %x, %w layout(in_out) : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{'bias' has shape [3], expected [4]}}
  %0 = llm.linear %x, %w bias(%b) layout(in_out) : (tensor<2x8xf32>, tensor<8x4xf32>, tensor<3xf32>) ->
    tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @below {{'y' has shape [3, 4], expected [2, 4]}}
  %0 = llm.linear %x, %w layout(in_out) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<f32>, %w: tensor<8x4xf32>) {
  // expected-error @below {{'x' has rank 0, expected at least 1}}
  %0 = llm.linear %x, %w layout(in_out) : (tensor<f32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @below {{'y' has rank 0, expected at least 1}}
  %0 = llm.linear %x, %w layout(in_out) : (tensor<8xf32>, tensor<8x4xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<8x4xbf16>) {
  // expected-error @below {{mixes element types 'f32' and 'bf16'; insert llm.cast}}
  %0 = llm.linear %x, %w layout(in_out) : (tensor<2x8xf32>, tensor<8x4xbf16>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xbf16>) {
  // expected-error @below {{mixes element types 'f32' and 'bf16'; insert llm.cast}}
  %0 = llm.linear %x, %w bias(%b) layout(in_out) : (tensor<2x8xf32>, tensor<8x4xf32>, tensor<4xbf16>) ->
    tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %dy: tensor<2x4xf32>) {
  // expected-error @below {{'dw' has shape [4, 8], expected [8, 4]}}
  %0 = llm.linear_weight_grad %x, %dy layout(in_out) : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %dy: tensor<2x4xf32>) {
  // expected-error @below {{'dw' has shape [8, 4], expected [4, 8]}}
  %0 = llm.linear_weight_grad %x, %dy layout(out_in) : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %dy: tensor<3x4xf32>) {
  // expected-error @below {{'x' is [2, 8] and 'dy' is [3, 4]: all but the last dimension must agree}}
  %0 = llm.linear_weight_grad %x, %dy layout(in_out) : (tensor<2x8xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>, %dy: tensor<f32>) {
  // expected-error @below {{'dy' has rank 0, expected at least 1}}
  %0 = llm.linear_weight_grad %x, %dy layout(in_out) : (tensor<8xf32>, tensor<f32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %dy: tensor<2x4xf32>, %acc: tensor<4x8xf32>) {
  // expected-error @below {{'into' has type 'tensor<4x8xf32>', expected the result's 'tensor<8x4xf32>'}}
  %0 = llm.linear_weight_grad %x, %dy into(%acc) layout(in_out) : (tensor<2x8xf32>, tensor<2x4xf32>,
    tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xbf16>, %dy: tensor<2x4xbf16>) {
  // expected-error @below {{mixes element types 'bf16' and 'f32'; insert llm.cast}}
  %0 = llm.linear_weight_grad %x, %dy layout(in_out) : (tensor<2x8xbf16>, tensor<2x4xbf16>) -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%dy: tensor<2x4xf32>) {
  // expected-error @below {{'db' has shape [2], expected [4]}}
  %0 = llm.sum_rows %dy : (tensor<2x4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%dy: tensor<f32>) {
  // expected-error @below {{'dy' has rank 0, expected at least 1}}
  %0 = llm.sum_rows %dy : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @f(%dy: tensor<2x4xf32>, %acc: tensor<4xbf16>) {
  // expected-error @below {{'into' has type 'tensor<4xbf16>', expected the result's 'tensor<4xf32>'}}
  %0 = llm.sum_rows %dy into(%acc) : (tensor<2x4xf32>, tensor<4xbf16>) -> tensor<4xf32>
  return
}
