// What an llm.kernel may hold.
//
// RUN: llmmem-opt --split-input-file --verify-diagnostics %s | llmmem-opt --split-input-file - | FileCheck %s

// CHECK-LABEL: func @gate
//       CHECK: llm.kernel(%[[GATE:.*]] = %arg0, %[[UP:.*]] = %arg1) : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
//  CHECK-NEXT:   %[[ACT:.*]] = llm.silu %[[GATE]] : tensor<1x2x4xf32>
//  CHECK-NEXT:   %[[GATED:.*]] = llm.mul %[[ACT]], %[[UP]] : tensor<1x2x4xf32>
//  CHECK-NEXT:   llm.yield %[[GATED]] : tensor<1x2x4xf32>
//  CHECK-NEXT: } attributes {llm.phase = "forward"}
func.func @gate(%gate: tensor<1x2x4xf32>, %up: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %y = llm.kernel(%g = %gate, %u = %up) : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
    %s = llm.silu %g : tensor<1x2x4xf32>
    %p = llm.mul %s, %u : tensor<1x2x4xf32>
    llm.yield %p : tensor<1x2x4xf32>
  } attributes {llm.phase = "forward"}
  return %y : tensor<1x2x4xf32>
}

// -----

// CHECK-LABEL: func @epilogue
//       CHECK: %[[K:.*]]:2 = llm.kernel(%[[X:.*]] = %arg0, %[[W:.*]] = %arg1) : (tensor<1x2x4xf32>, tensor<4x4xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>) {
//  CHECK-NEXT:   %[[H:.*]] = llm.linear %[[X]], %[[W]] layout(in_out)
//  CHECK-NEXT:   %[[A:.*]] = llm.gelu %[[H]]
//  CHECK-NEXT:   llm.yield %[[H]], %[[A]]
func.func @epilogue(%x: tensor<1x2x4xf32>, %w: tensor<4x4xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>) {
  %h, %a = llm.kernel(%i = %x, %m = %w) : (tensor<1x2x4xf32>, tensor<4x4xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>) {
    %p = llm.linear %i, %m layout(in_out) : (tensor<1x2x4xf32>, tensor<4x4xf32>) -> tensor<1x2x4xf32>
    %g = llm.gelu %p : tensor<1x2x4xf32>
    llm.yield %p, %g : tensor<1x2x4xf32>, tensor<1x2x4xf32>
  }
  return %h, %a : tensor<1x2x4xf32>, tensor<1x2x4xf32>
}

// -----

// CHECK-LABEL: func @sum_beside_a_product
//       CHECK: %[[K:.*]]:2 = llm.kernel(%[[X:.*]] = %arg0, %[[DY:.*]] = %arg1, %[[B:.*]] = %arg2) : (tensor<1x2x4xf32>, tensor<1x2x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
//  CHECK-NEXT:   %[[DW:.*]] = llm.linear_weight_grad %[[X]], %[[DY]] layout(in_out)
//  CHECK-NEXT:   %[[DB:.*]] = llm.sum_rows %[[DY]] into(%[[B]])
//  CHECK-NEXT:   llm.yield %[[DW]], %[[DB]]
//  CHECK-NEXT: } attributes {llm.library_workspace = 256 : i64}
func.func @sum_beside_a_product(%x: tensor<1x2x4xf32>, %dy: tensor<1x2x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %dw, %db = llm.kernel(%i = %x, %d = %dy, %s = %b) : (tensor<1x2x4xf32>, tensor<1x2x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
    %p = llm.linear_weight_grad %i, %d layout(in_out) : (tensor<1x2x4xf32>, tensor<1x2x8xf32>) -> tensor<4x8xf32>
    %r = llm.sum_rows %d into(%s) : (tensor<1x2x8xf32>, tensor<8xf32>) -> tensor<8xf32>
    llm.yield %p, %r : tensor<4x8xf32>, tensor<8xf32>
  } attributes {llm.library_workspace = 256 : i64}
  return %dw, %db : tensor<4x8xf32>, tensor<8xf32>
}

// -----

func.func @embedding_grad(%i: tensor<1x2xi32>, %x: tensor<1x2x4xf32>) -> tensor<8x4xf32> {
  %y = llm.kernel(%n = %i, %a = %x) : (tensor<1x2xi32>, tensor<1x2x4xf32>) -> tensor<8x4xf32> {
    // expected-error @below {{cannot share a kernel; expected an elementwise op, a row reduction, a matmul or attention}}
    %s = llm.embedding_grad %n, %a : (tensor<1x2xi32>, tensor<1x2x4xf32>) -> tensor<8x4xf32>
    llm.yield %s : tensor<8x4xf32>
  }
  return %y : tensor<8x4xf32>
}

// -----

func.func @sum_alone(%x: tensor<1x2x4xf32>) -> tensor<4xf32> {
  %y = llm.kernel(%a = %x) : (tensor<1x2x4xf32>) -> tensor<4xf32> {
    // expected-error @below {{sums over rows in a kernel; expected a matmul and, after it, the sum of one of its factors, both handed out in this order}}
    %s = llm.sum_rows %a : (tensor<1x2x4xf32>) -> tensor<4xf32>
    llm.yield %s : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @sum_of_what_is_not_multiplied(%x: tensor<1x2x4xf32>, %dy: tensor<1x2x8xf32>, %z: tensor<1x2x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %dw, %db = llm.kernel(%i = %x, %d = %dy, %e = %z) : (tensor<1x2x4xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
    %p = llm.linear_weight_grad %i, %d layout(in_out) : (tensor<1x2x4xf32>, tensor<1x2x8xf32>) -> tensor<4x8xf32>
    // expected-error @below {{sums over rows in a kernel; expected a matmul and}}
    %r = llm.sum_rows %e : (tensor<1x2x8xf32>) -> tensor<8xf32>
    llm.yield %p, %r : tensor<4x8xf32>, tensor<8xf32>
  }
  return %dw, %db : tensor<4x8xf32>, tensor<8xf32>
}

// -----

func.func @sum_that_goes_on(%x: tensor<1x2x4xf32>, %dy: tensor<1x2x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %dw, %db = llm.kernel(%i = %x, %d = %dy) : (tensor<1x2x4xf32>, tensor<1x2x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
    %p = llm.linear_weight_grad %i, %d layout(in_out) : (tensor<1x2x4xf32>, tensor<1x2x8xf32>) -> tensor<4x8xf32>
    // expected-error @below {{sums over rows in a kernel; expected a matmul and}}
    %r = llm.sum_rows %d : (tensor<1x2x8xf32>) -> tensor<8xf32>
    %g = llm.gelu %r : tensor<8xf32>
    llm.yield %p, %g : tensor<4x8xf32>, tensor<8xf32>
  }
  return %dw, %db : tensor<4x8xf32>, tensor<8xf32>
}

// -----

func.func @sum_kept_inside(%x: tensor<1x2x4xf32>, %dy: tensor<1x2x8xf32>) -> tensor<4x8xf32> {
  %dw = llm.kernel(%i = %x, %d = %dy) : (tensor<1x2x4xf32>, tensor<1x2x8xf32>) -> tensor<4x8xf32> {
    %p = llm.linear_weight_grad %i, %d layout(in_out) : (tensor<1x2x4xf32>, tensor<1x2x8xf32>) -> tensor<4x8xf32>
    // expected-error @below {{sums over rows in a kernel; expected a matmul and}}
    %r = llm.sum_rows %d : (tensor<1x2x8xf32>) -> tensor<8xf32>
    llm.yield %p : tensor<4x8xf32>
  }
  return %dw : tensor<4x8xf32>
}

// -----

func.func @factor_of_the_same_kernel(%x: tensor<1x2x4xf32>, %w: tensor<4x4xf32>) -> tensor<1x2x4xf32> {
  %y = llm.kernel(%i = %x, %m = %w) : (tensor<1x2x4xf32>, tensor<4x4xf32>) -> tensor<1x2x4xf32> {
    %a = llm.gelu %i : tensor<1x2x4xf32>
    // expected-error @below {{multiplies what 'llm.gelu' computes in the same kernel; expected operands of the kernel}}
    %p = llm.linear %a, %m layout(in_out) : (tensor<1x2x4xf32>, tensor<4x4xf32>) -> tensor<1x2x4xf32>
    llm.yield %p : tensor<1x2x4xf32>
  }
  return %y : tensor<1x2x4xf32>
}

// -----

func.func @product_and_rows(%x: tensor<1x2x4xf32>, %w: tensor<4x4xf32>) -> tensor<1x2x4xf32> {
  %y = llm.kernel(%i = %x, %m = %w) : (tensor<1x2x4xf32>, tensor<4x4xf32>) -> tensor<1x2x4xf32> {
    %p = llm.linear %i, %m layout(in_out) : (tensor<1x2x4xf32>, tensor<4x4xf32>) -> tensor<1x2x4xf32>
    // expected-error @below {{has loops of its own, and so has 'llm.linear' in the same kernel; expected one at most}}
    %s = llm.softmax %p : tensor<1x2x4xf32>
    llm.yield %s : tensor<1x2x4xf32>
  }
  return %y : tensor<1x2x4xf32>
}

// -----

func.func @two_row_ops(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %y = llm.kernel(%a = %x) : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
    %s = llm.softmax %a : tensor<1x2x4xf32>
    // expected-error @below {{has loops of its own, and so has 'llm.softmax' in the same kernel; expected one at most}}
    %p = llm.softmax %s : tensor<1x2x4xf32>
    llm.yield %p : tensor<1x2x4xf32>
  }
  return %y : tensor<1x2x4xf32>
}

// -----

func.func @statistic(%x: tensor<1x2x1xf32>, %w: tensor<1xf32>) -> tensor<1x2xf32> {
  %y = llm.kernel(%a = %x, %b = %w) : (tensor<1x2x1xf32>, tensor<1xf32>) -> tensor<1x2xf32> {
    %n, %rstd = llm.rms_norm %a, %b {eps = 1.0e-5 : f64} : (tensor<1x2x1xf32>, tensor<1xf32>) -> (tensor<1x2x1xf32>, tensor<1x2xf32>)
    // expected-error @below {{reads a statistic of 'llm.rms_norm' in the same kernel; only its first result goes on}}
    %s = llm.silu %rstd : tensor<1x2xf32>
    llm.yield %s : tensor<1x2xf32>
  }
  return %y : tensor<1x2xf32>
}

// -----

func.func @operand(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  // expected-error @below {{yields an operand; a reader of the result can read the operand itself}}
  %y = llm.kernel(%a = %x) : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
    llm.yield %a : tensor<1x2x4xf32>
  }
  return %y : tensor<1x2x4xf32>
}

// -----

func.func @results(%x: tensor<1x2x4xf32>) -> tensor<1x2x8xf32> {
  // expected-error @below {{has results of types 'tensor<1x2x8xf32>', but its body yields 'tensor<1x2x4xf32>'}}
  %y = llm.kernel(%a = %x) : (tensor<1x2x4xf32>) -> tensor<1x2x8xf32> {
    %s = llm.silu %a : tensor<1x2x4xf32>
    llm.yield %s : tensor<1x2x4xf32>
  }
  return %y : tensor<1x2x8xf32>
}

// -----

func.func @nothing(%x: tensor<1x2x4xf32>) {
  // expected-error @below {{yields nothing}}
  llm.kernel(%a = %x) : (tensor<1x2x4xf32>) -> () {
    llm.yield
  }
  return
}

// -----

func.func @types(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  // expected-error @below {{expected 1 operand types}}
  %y = llm.kernel(%a = %x) : () -> tensor<1x2x4xf32> {
    %s = llm.silu %a : tensor<1x2x4xf32>
    llm.yield %s : tensor<1x2x4xf32>
  }
  return %y : tensor<1x2x4xf32>
}

// -----

func.func @columns_without_attention(%x: tensor<1x2x4xf32>) -> tensor<1x2x2xf32> {
  %y = llm.kernel(%a = %x) : (tensor<1x2x4xf32>) -> tensor<1x2x2xf32> {
    // expected-error @below {{shares a kernel without attention; expected a kernel of its own}}
    %b, %c = llm.split %a : (tensor<1x2x4xf32>) -> (tensor<1x2x2xf32>, tensor<1x2x2xf32>)
    %d = llm.add %b, %c : tensor<1x2x2xf32>
    llm.yield %d : tensor<1x2x2xf32>
  }
  return %y : tensor<1x2x2xf32>
}

// -----

func.func @part_for_nobody(%x: tensor<1x2x5xf32>, %k: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %y = llm.kernel(%a = %x, %b = %k) : (tensor<1x2x5xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
    // expected-error @below {{shares a kernel with 'llm.attention'; expected splits of operands of the kernel whose parts are all heads that it reads, and concats of its gradients that leave the kernel}}
    %q, %rest = llm.split %a : (tensor<1x2x5xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x1xf32>)
    %o, %l = llm.attention %q, %b, %b {heads = 1 : i64, kv_heads = 1 : i64, scale = 0.5 : f64}
      : (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<1x2x4xf32>, tensor<1x1x2xf32>)
    llm.yield %o : tensor<1x2x4xf32>
  }
  return %y : tensor<1x2x4xf32>
}

// -----

func.func @elements_behind_attention(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %y = llm.kernel(%a = %x) : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
    %o, %l = llm.attention %a, %a, %a {heads = 1 : i64, kv_heads = 1 : i64, scale = 0.5 : f64}
      : (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<1x2x4xf32>, tensor<1x1x2xf32>)
    // expected-error @below {{shares a kernel with 'llm.attention'}}
    %s = llm.silu %o : tensor<1x2x4xf32>
    llm.yield %s : tensor<1x2x4xf32>
  }
  return %y : tensor<1x2x4xf32>
}

// -----

func.func @statistics_are_no_heads(%x: tensor<1x2x4xf32>) -> tensor<1x1x2xf32> {
  %y = llm.kernel(%a = %x) : (tensor<1x2x4xf32>) -> tensor<1x1x2xf32> {
    %o, %l = llm.attention %a, %a, %a {heads = 1 : i64, kv_heads = 1 : i64, scale = 0.5 : f64}
      : (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<1x2x4xf32>, tensor<1x1x2xf32>)
    // expected-error @below {{shares a kernel with 'llm.attention'}}
    %s = llm.concat %l : (tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
    llm.yield %s : tensor<1x1x2xf32>
  }
  return %y : tensor<1x1x2xf32>
}
