// An op that adds its operand to itself reads each element before it writes it, also through both operands; one that reads its operand to the end
// has its result apart, also where the reader is in the body of a loop.
// RUN: llmmem-opt --plan-arena --verify-plan --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @step
// CHECK-SAME: llm.arena = 16384
func.func @step(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %a = llm.gelu %x : tensor<64x64xf32>
  %b = llm.add %a, %a : tensor<64x64xf32>
  %c = llm.gelu_grad %b, %b : tensor<64x64xf32>
  %d = linalg.add ins(%c, %c : tensor<64x64xf32>, tensor<64x64xf32>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// -----

// CHECK-LABEL: func.func @step
// CHECK-SAME: llm.arena = 32768
// CHECK: llm.linear_weight_grad {{.*}}llm.offsets = array<i64: 16384>
func.func @step(%x: tensor<64x64xf32>, %dy: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %a = llm.gelu %x : tensor<64x64xf32>
  %g = llm.linear_weight_grad %a, %dy into(%a) layout(in_out) : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %g : tensor<64x64xf32>
}

// -----

// What a round makes has scratch bytes of its own where it cannot lie on what it reads twice.
// CHECK-LABEL: func.func @step
// CHECK: llm.workspace = array<i64: {{[0-9]+}}, 32768>
func.func @step(%x: tensor<64x64xf32>, %dy: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%b = %x, %d = %dy) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %a = llm.gelu %d : tensor<64x64xf32>
    %g = llm.linear_weight_grad %a, %b into(%a) layout(in_out) : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %g, %d : tensor<64x64xf32>, tensor<64x64xf32>
  }
  return %r#0 : tensor<64x64xf32>
}
