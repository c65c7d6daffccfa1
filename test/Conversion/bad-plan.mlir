// A plan that leads out of the arena, or says nothing, is refused where it is wrong.
//
// RUN: llmmem-opt --convert-step-to-kernels --split-input-file --verify-diagnostics %s

// expected-error@+1 {{is not planned: it has no 'llm.arena'; plan it with 'llmmem-opt --checkpoint-policy=none model.mlir -o step.mlir'}}
func.func @step(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

func.func @step(%x: tensor<8xf32>) -> tensor<8xf32> attributes {llm.arena = 256 : i64} {
  // expected-error@+1 {{is not planned: expected one 'llm.offsets' for each result}}
  %y = llm.gelu %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @step(%x: tensor<80xf32>) -> tensor<80xf32> attributes {llm.arena = 256 : i64} {
  // expected-error@+1 {{places result 0 at bytes 0 to 320 of an arena of 256}}
  %y = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<80xf32>
  return %y : tensor<80xf32>
}

// -----

func.func @step(%x: tensor<8xf32>) -> tensor<8xf32> attributes {llm.arena = 256 : i64} {
  %y = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<8xf32>
  // expected-error@+1 {{no operand that it may alias or replace in place lies in an argument}}
  %z = llm.gelu %y {llm.offsets = array<i64: -1>} : tensor<8xf32>
  return %z : tensor<8xf32>
}

// -----

func.func @step(%x: tensor<8xf32>) -> tensor<8xf32> attributes {llm.arena = 512 : i64} {
  %y = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<8xf32>
  // expected-error@+1 {{is a view, but its offset is not that of its source}}
  %z = llm.reshape %y {llm.offsets = array<i64: 256>} : tensor<8xf32> -> tensor<8xf32>
  return %z : tensor<8xf32>
}

// -----

func.func @step(%q: tensor<1x4x8xf32>, %l: tensor<1x2x4xf32>) -> tensor<1x4x8xf32> attributes {llm.arena = 1024 : i64} {
  // expected-error@+1 {{needs a workspace of 32 bytes inside the arena}}
  %a, %b, %c = llm.attention_grad %q, %q, %q, %q, %l, %q
    {heads = 2 : i64, kv_heads = 2 : i64, scale = 1.0 : f64, llm.offsets = array<i64: 0, 256, 512>}
    : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x2x4xf32>, tensor<1x4x8xf32>)
    -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>)
  return %a : tensor<1x4x8xf32>
}

// -----

func.func @step(%x: tensor<8xf32>) -> tensor<8xf32> attributes {llm.arena = 256 : i64} {
  // expected-error@+1 {{has no kernel; implement KernelOpInterface for it}}
  %y = arith.addf %x, %x {llm.offsets = array<i64: 0>} : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error@+1 {{has an argument or a result that is not a tensor of static shape, or is empty}}
func.func @step(%x: tensor<2x0xf32>) -> tensor<2x0xf32> attributes {llm.arena = 256 : i64} {
  return %x : tensor<2x0xf32>
}
