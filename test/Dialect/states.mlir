// A scan of states needs a query and a key for each group of heads, gates of each head in f32, and a state after each chunk.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%q: tensor<2x8x12xf32>, %k: tensor<2x8x12xf32>, %v: tensor<2x8x4x5xf32>, %g: tensor<2x8x4xf32>, %b: tensor<2x8x4xf32>) {
  // expected-error @below {{'q' has shape [2, 8, 12], expected [batch, seq, heads, elements]}}
  %y, %s = llm.state_scan %q, %k, %v decay(%g) strength(%b) {delta, chunk = 4 : i64}
     : (tensor<2x8x12xf32>, tensor<2x8x12xf32>, tensor<2x8x4x5xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4x5xf32>, tensor<2x2x4x6x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x2x6xf32>, %k: tensor<2x8x2x6xf32>, %v: tensor<2x8x20xf32>, %g: tensor<2x8x4xf32>, %b: tensor<2x8x4xf32>) {
  // expected-error @below {{'v' has shape [2, 8, 20], expected [batch, seq, heads, elements]}}
  %y, %s = llm.state_scan %q, %k, %v decay(%g) strength(%b) {delta, chunk = 4 : i64}
     : (tensor<2x8x2x6xf32>, tensor<2x8x2x6xf32>, tensor<2x8x20xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x20xf32>, tensor<2x2x4x6x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x2x6xf32>, %k: tensor<2x8x2x5xf32>, %v: tensor<2x8x4x5xf32>, %g: tensor<2x8x4xf32>, %b: tensor<2x8x4xf32>) {
  // expected-error @below {{'k' has shape [2, 8, 2, 5], expected [2, 8, 2, 6]}}
  %y, %s = llm.state_scan %q, %k, %v decay(%g) strength(%b) {delta, chunk = 4 : i64}
     : (tensor<2x8x2x6xf32>, tensor<2x8x2x5xf32>, tensor<2x8x4x5xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4x5xf32>, tensor<2x2x4x6x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x2x6xf32>, %k: tensor<2x8x2x6xf32>, %v: tensor<2x7x4x5xf32>, %g: tensor<2x8x4xf32>, %b: tensor<2x8x4xf32>) {
  // expected-error @below {{'v' has shape [2, 7, 4, 5], expected [2, 8, 4, 5]}}
  %y, %s = llm.state_scan %q, %k, %v decay(%g) strength(%b) {delta, chunk = 4 : i64}
     : (tensor<2x8x2x6xf32>, tensor<2x8x2x6xf32>, tensor<2x7x4x5xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x7x4x5xf32>, tensor<2x2x4x6x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x3x6xf32>, %k: tensor<2x8x3x6xf32>, %v: tensor<2x8x4x5xf32>, %g: tensor<2x8x4xf32>, %b: tensor<2x8x4xf32>) {
  // expected-error @below {{has 4 heads and 3 groups, expected a whole number of heads for each group}}
  %y, %s = llm.state_scan %q, %k, %v decay(%g) strength(%b) {delta, chunk = 4 : i64}
     : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x4x5xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4x5xf32>, tensor<2x2x4x6x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x2x6xf32>, %k: tensor<2x8x2x6xf32>, %v: tensor<2x8x4x5xf32>, %g: tensor<2x8x2xf32>, %b: tensor<2x8x2xf32>) {
  // expected-error @below {{'decay' has shape [2, 8, 2], expected [2, 8, 4]}}
  %y, %s = llm.state_scan %q, %k, %v decay(%g) strength(%b) {delta, chunk = 4 : i64}
     : (tensor<2x8x2x6xf32>, tensor<2x8x2x6xf32>, tensor<2x8x4x5xf32>, tensor<2x8x2xf32>, tensor<2x8x2xf32>) -> (tensor<2x8x4x5xf32>, tensor<2x2x4x6x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x2x6xf32>, %k: tensor<2x8x2x6xf32>, %v: tensor<2x8x4x5xf32>, %g: tensor<2x8x4xf32>, %b: tensor<2x8x4xf32>) {
  // expected-error @below {{'states' has shape [2, 3, 4, 6, 5], expected [2, 2, 4, 6, 5]}}
  %y, %s = llm.state_scan %q, %k, %v decay(%g) strength(%b) {delta, chunk = 4 : i64}
     : (tensor<2x8x2x6xf32>, tensor<2x8x2x6xf32>, tensor<2x8x4x5xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4x5xf32>, tensor<2x3x4x6x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x2x6xf32>, %k: tensor<2x8x2x6xf32>, %v: tensor<2x8x4x5xf32>, %g: tensor<2x8x4xf32>, %b: tensor<2x8x4xf32>) {
  // expected-error @below {{has chunks of 257 tokens, expected 1 to 256}}
  %y, %s = llm.state_scan %q, %k, %v decay(%g) strength(%b) {delta, chunk = 257 : i64}
     : (tensor<2x8x2x6xf32>, tensor<2x8x2x6xf32>, tensor<2x8x4x5xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4x5xf32>, tensor<2x1x4x6x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x2x6xf32>, %k: tensor<2x8x2x6xf32>, %v: tensor<2x8x4x5xf32>, %g: tensor<2x8x4xf32>, %b: tensor<2x8x4xf32>) {
  // expected-error @below {{needs a finite scale}}
  %y, %s = llm.state_scan %q, %k, %v decay(%g) strength(%b) {scale = 0x7FF0000000000000 : f64, chunk = 4 : i64}
     : (tensor<2x8x2x6xf32>, tensor<2x8x2x6xf32>, tensor<2x8x4x5xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4x5xf32>, tensor<2x2x4x6x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x2x6xf64>, %k: tensor<2x8x2x6xf64>, %v: tensor<2x8x4x5xf64>, %g: tensor<2x8x4xf64>, %b: tensor<2x8x4xf64>) {
  // expected-error @below {{'states' has element type}}
  %y, %s = llm.state_scan %q, %k, %v decay(%g) strength(%b) {delta, chunk = 4 : i64}
     : (tensor<2x8x2x6xf64>, tensor<2x8x2x6xf64>, tensor<2x8x4x5xf64>, tensor<2x8x4xf64>, tensor<2x8x4xf64>) -> (tensor<2x8x4x5xf64>, tensor<2x2x4x6x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x1x2x6xf32>, %v: tensor<2x1x4x5xf32>, %g: tensor<2x1x4xf32>, %s: tensor<2x4x5x6xf32>, %p: tensor<2x1xi32>) {
  // expected-error @below {{'state' has shape [2, 4, 5, 6], expected [2, 4, 6, 5]}}
  %y, %n = llm.cached_scan %q, %q, %v decay(%g) strength(%g) state(%s) at(%p)
     : (tensor<2x1x2x6xf32>, tensor<2x1x2x6xf32>, tensor<2x1x4x5xf32>, tensor<2x1x4xf32>, tensor<2x1x4xf32>, tensor<2x4x5x6xf32>, tensor<2x1xi32>)
       -> (tensor<2x1x4x5xf32>, tensor<2x4x5x6xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x1x2x6xf32>, %v: tensor<2x1x4x5xf32>, %g: tensor<2x1x4xf32>, %s: tensor<2x4x6x5xf32>, %p: tensor<2x2xi32>) {
  // expected-error @below {{'positions' has shape [2, 2], expected [2, 1]}}
  %y, %n = llm.cached_scan %q, %q, %v decay(%g) strength(%g) state(%s) at(%p)
     : (tensor<2x1x2x6xf32>, tensor<2x1x2x6xf32>, tensor<2x1x4x5xf32>, tensor<2x1x4xf32>, tensor<2x1x4xf32>, tensor<2x4x6x5xf32>, tensor<2x2xi32>)
       -> (tensor<2x1x4x5xf32>, tensor<2x4x6x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x2x6xf32>, %v: tensor<2x8x4x5xf32>, %g: tensor<2x8x4xf32>, %s: tensor<2x1x4x6x5xf32>) {
  // expected-error @below {{'dq' has shape [2, 8, 2, 6], expected [2, 8, 4, 6]}}
  %0:5 = llm.state_scan_grad %q, %q, %v decay(%g) strength(%g) states(%s) %v
     : (tensor<2x8x2x6xf32>, tensor<2x8x2x6xf32>, tensor<2x8x4x5xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x1x4x6x5xf32>, tensor<2x8x4x5xf32>)
       -> (tensor<2x8x2x6xf32>, tensor<2x8x2x6xf32>, tensor<2x8x4x5xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8x6xf32>, %w: tensor<5xf32>) {
  // expected-error @below {{'weight' has shape [5], expected [6]}}
  %0 = llm.scale_columns %x, %w : tensor<2x8x6xf32>, tensor<5xf32>
  return
}
