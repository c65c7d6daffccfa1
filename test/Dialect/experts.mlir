// Mixtures of experts: choices among as many experts as there are logits, tables of one batch, weights for each group.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%l: tensor<2x3x4xf32>) {
  // expected-error @below {{chooses 5 of 4 experts, expected at most all of them}}
  %w, %e, %lse = llm.route %l : (tensor<2x3x4xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x5xi32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%l: tensor<2x3x4xf32>) {
  // expected-error @below {{'weights' has shape [2, 3, 1], expected [2, 3, 2]}}
  %w, %e, %lse = llm.route %l : (tensor<2x3x4xf32>) -> (tensor<2x3x1xf32>, tensor<2x3x2xi32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%l: tensor<2x3x4xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{'bias' has shape [3], expected [4]}}
  %w, %e, %lse = llm.route %l bias(%b)
    : (tensor<2x3x4xf32>, tensor<3xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xi32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%l: tensor<2x3x4xf32>) {
  // expected-error @below {{has factor 0.000000e+00, expected a finite number above 0}}
  %w, %e, %lse = llm.route %l {factor = 0.0 : f64}
    : (tensor<2x3x4xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xi32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%l: tensor<2x3x4xf32>) {
  // expected-error @below {{has 4 experts in 3 groups; expected groups of one size}}
  %w, %e, %lse = llm.route %l {groups = 3 : i64}
    : (tensor<2x3x4xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xi32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%l: tensor<2x3x4xf32>) {
  // expected-error @below {{keeps 1 of 2 groups of 2 experts, expected enough for 3 choices}}
  %w, %e, %lse = llm.route %l {groups = 2 : i64}
    : (tensor<2x3x4xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x3xi32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error @below {{'the row' has shape [2, 3, 4], expected [2, 3, 5]}}
  %y = llm.repeat_heads %x : tensor<2x3x4xf32> -> tensor<2x3x2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error @below {{'the row' has shape [2, 3], expected [2, 4]}}
  %y = llm.sum_heads %x : tensor<2x3x4xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%l: tensor<2x3x4xbf16>) {
  // expected-error @below {{'lse' has element type 'f64', expected 'f32'}}
  %w, %e, %lse = llm.route %l : (tensor<2x3x4xbf16>) -> (tensor<2x3x2xbf16>, tensor<2x3x2xi32>, tensor<2x3xf64>)
  return
}

// -----

func.func @f(%l: tensor<2x3x4xf32>, %e: tensor<2x3x2xi32>, %lse: tensor<2x3xf32>, %dw: tensor<2x3x3xf32>) {
  // expected-error @below {{'dweights' has shape [2, 3, 3], expected [2, 3, 2]}}
  %dl = llm.route_grad %l, %e, %lse, %dw
    : (tensor<2x3x4xf32>, tensor<2x3x2xi32>, tensor<2x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%e: tensor<2x3x2xi32>) {
  // expected-error @below {{gives each expert 4 places in a sequence of 3 tokens, expected at most one for each}}
  %p, %c = llm.assign_places %e : tensor<2x3x2xi32> -> (tensor<2x3x2xi32>, tensor<4x2x4xi32>)
  return
}

// -----

func.func @f(%e: tensor<2x3x2xi32>) {
  // expected-error @below {{has 2 choices of each token among 1 experts}}
  %p, %c = llm.assign_places %e : tensor<2x3x2xi32> -> (tensor<2x3x2xi32>, tensor<1x2x3xi32>)
  return
}

// -----

func.func @f(%e: tensor<2x3x2xi32>) {
  // expected-error @below {{'choices' has shape [4, 3, 3], expected [experts, 2, capacity]}}
  %p, %c = llm.assign_places %e : tensor<2x3x2xi32> -> (tensor<2x3x2xi32>, tensor<4x3x3xi32>)
  return
}

// -----

func.func @f() {
  // expected-error @below {{counts in no tensor; expected one or more}}
  %d = "llm.count_dropped"() : () -> tensor<i32>
  return
}

// -----

func.func @f(%x: tensor<2x4x5xf32>, %p: tensor<2x3x2xi32>, %c: tensor<4x2x3xi32>) {
  // expected-error @below {{has tokens of shape [2, 4, 5], expected [2, 3, width]}}
  %y = llm.dispatch %x, %p, %c : (tensor<2x4x5xf32>, tensor<2x3x2xi32>, tensor<4x2x3xi32>) -> tensor<4x2x3x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x5xf32>, %p: tensor<2x3x2xi32>, %c: tensor<4x2x3xi32>) {
  // expected-error @below {{'y' has shape [4, 2, 3, 6], expected [4, 2, 3, 5]}}
  %y = llm.dispatch %x, %p, %c : (tensor<2x3x5xf32>, tensor<2x3x2xi32>, tensor<4x2x3xi32>) -> tensor<4x2x3x6xf32>
  return
}

// -----

func.func @f(%x: tensor<4x2x3x5xf32>, %p: tensor<2x3x2xi32>, %c: tensor<4x2x3xi32>, %w: tensor<2x3x1xf32>) {
  // expected-error @below {{'weights' has shape [2, 3, 1], expected [2, 3, 2]}}
  %y = llm.combine %x, %p, %c weights(%w)
    : (tensor<4x2x3x5xf32>, tensor<2x3x2xi32>, tensor<4x2x3xi32>, tensor<2x3x1xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @f(%x: tensor<4x1x3x5xf32>, %p: tensor<2x3x2xi32>, %dy: tensor<2x3x5xf32>) {
  // expected-error @below {{has [4, 1, 3, 5] of experts and [2, 3, 2] of choices, expected [experts, batch, capacity, width] and [batch, seq, k]}}
  %dw = llm.combine_weights_grad %x, %p, %dy
    : (tensor<4x1x3x5xf32>, tensor<2x3x2xi32>, tensor<2x3x5xf32>) -> tensor<2x3x2xf32>
  return
}

// -----

func.func @f(%x: tensor<3x2x64xf32>, %w: tensor<3x5x64xi8>) {
  // expected-error @below {{'weight' holds 'i8', whose groups have scales; add scales(%scales)}}
  %y = llm.grouped_linear %x, %w layout(out_in) : (tensor<3x2x64xf32>, tensor<3x5x64xi8>) -> tensor<3x2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<3x2x4xf32>, %w: tensor<2x5x4xf32>) {
  // expected-error @below {{'weight' has shape [2, 5, 4], expected [3, 5, 4]}}
  %y = llm.grouped_linear %x, %w layout(out_in) : (tensor<3x2x4xf32>, tensor<2x5x4xf32>) -> tensor<3x2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<3x2x4xf32>, %dy: tensor<3x1x5xf32>) {
  // expected-error @below {{has [3, 2, 4] before the product and [3, 1, 5] after it: all dimensions except the last must agree}}
  %dw = llm.grouped_weight_grad %x, %dy layout(in_out) : (tensor<3x2x4xf32>, tensor<3x1x5xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x5xf32>, %g: tensor<2x3x5xf32>) {
  // expected-error @below {{'gate' has shape [2, 3, 5], expected [2, 3, 1]}}
  %y = llm.gate_rows %x, %g : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x5xf32>, %g: tensor<2x3x1xf32>, %dy: tensor<2x3x4xf32>) {
  // expected-error @below {{'dy' has shape [2, 3, 4], expected [2, 3, 5]}}
  %dg = llm.gate_rows_grad %x, %g, %dy : (tensor<2x3x5xf32>, tensor<2x3x1xf32>, tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
  return
}

// -----

func.func @f(%l: tensor<2x3x4xf32>, %e: tensor<2x3x2xi32>, %lse: tensor<2x3xf32>) {
  // expected-error @below {{'counts' has shape [2], expected [4]}}
  %c, %s = llm.router_load %l, %e, %lse
    : (tensor<2x3x4xf32>, tensor<2x3x2xi32>, tensor<2x3xf32>) -> (tensor<2xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%l: tensor<2x3x4xf32>, %lse: tensor<2x3xf32>, %ds: tensor<3xf32>) {
  // expected-error @below {{'dsums' has shape [3], expected [4]}}
  %dl = llm.router_load_grad %l, %lse, %ds : (tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%c: tensor<4xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{is of 0 tokens, expected 1 or more}}
  %y = llm.balance_loss %c, %s {coefficient = 0.5 : f64, tokens = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%c: tensor<4xf32>, %d: tensor<f32>) {
  // expected-error @below {{has coefficient -1.000000e+00, expected a finite number of at least 0.000000e+00}}
  %y = llm.balance_loss_grad %c, %d {coefficient = -1.0 : f64, tokens = 6 : i64} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%l: tensor<2x3x4xf32>) {
  // expected-error @below {{takes a group for its 3 best experts, expected 1 to 2, the experts of a group}}
  %w, %e, %lse = llm.route %l {group_best = 3 : i64, groups = 2 : i64, kept_groups = 1 : i64}
    : (tensor<2x3x4xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xi32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%l: tensor<2x3x4xbf16>, %b: tensor<4xbf16>) {
  // expected-error @below {{operand #1 must be}}
  %w, %e, %lse = llm.route %l bias(%b)
    : (tensor<2x3x4xbf16>, tensor<4xbf16>) -> (tensor<2x3x2xbf16>, tensor<2x3x2xi32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<3x2x4xf32>, %w: tensor<3x5x4xf32>, %c: tensor<3x1xi32>) {
  // expected-error @below {{'choices' has shape [3, 1], expected [3, 2]}}
  %y = llm.grouped_linear %x, %w choices(%c) layout(out_in)
    : (tensor<3x2x4xf32>, tensor<3x5x4xf32>, tensor<3x1xi32>) -> tensor<3x2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<3x2x5xf32>, %b: tensor<3x5xf32>, %c: tensor<3x2x5xi32>) {
  // expected-error @below {{'choices' has shape [3, 2, 5], expected [3, 2]}}
  %y = llm.add_group_bias %x, %b choices(%c) : (tensor<3x2x5xf32>, tensor<3x5xf32>, tensor<3x2x5xi32>) -> tensor<3x2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<3x2x5xf32>, %b: tensor<5xf32>) {
  // expected-error @below {{'bias' has shape [5], expected [3, 5]}}
  %y = llm.add_group_bias %x, %b : (tensor<3x2x5xf32>, tensor<5xf32>) -> tensor<3x2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<3x2x5xf32>) {
  // expected-error @below {{'db' has shape [2, 5], expected [3, 5]}}
  %y = llm.sum_group_rows %x : (tensor<3x2x5xf32>) -> tensor<2x5xf32>
  return
}
