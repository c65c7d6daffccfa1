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

func.func @linear(%x: tensor<1x2x4xf32>, %w: tensor<4x4xf32>) -> tensor<1x2x4xf32> {
  %y = llm.kernel(%a = %x, %b = %w) : (tensor<1x2x4xf32>, tensor<4x4xf32>) -> tensor<1x2x4xf32> {
    // expected-error @below {{cannot share a kernel; expected an op that goes by elements or rows}}
    %s = llm.linear %a, %b layout(in_out) : (tensor<1x2x4xf32>, tensor<4x4xf32>) -> tensor<1x2x4xf32>
    llm.yield %s : tensor<1x2x4xf32>
  }
  return %y : tensor<1x2x4xf32>
}

// -----

func.func @two_row_ops(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %y = llm.kernel(%a = %x) : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
    %s = llm.softmax %a : tensor<1x2x4xf32>
    // expected-error @below {{goes by rows, and so does 'llm.softmax' in the same kernel; expected one at most}}
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
