// A loop is one op: what its body costs as often as it runs, what one round makes as its workspace, and nothing twice where
// the body writes into what it carries.
// RUN: llmmem-opt --annotate-memory=device=cpu --split-input-file --verify-diagnostics --allow-unregistered-dialect %s | FileCheck %s

// CHECK-LABEL: @step
func.func @step(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c9 = arith.constant 9 : index
  %e = tensor.empty() : tensor<8x16xf32>
  %f = tensor.empty() : tensor<16x8xf32>
  // Five rounds of 128 FLOPs and of 512 bytes read and written, in the bytes of the result: no workspace.
  %y = scf.for %i = %c0 to %c9 step %c2 iter_args(%a = %x) -> (tensor<8x16xf32>) {
    %b = linalg.exp ins(%a : tensor<8x16xf32>) outs(%a : tensor<8x16xf32>) -> tensor<8x16xf32>
    scf.yield %b : tensor<8x16xf32>
  }
  // CHECK: } {{.*}}llm.cost = #llm.cost<flops = 640, bytes = 5120, ns = {{[0-9]+}}, workspace = 0>
  // A copy at the end of each round, which reads and writes 512 bytes; %b and %t lie in the same 512 of the workspace.
  %z = scf.for %i = %c0 to %c9 step %c2 iter_args(%a = %y) -> (tensor<8x16xf32>) {
    %t = linalg.transpose ins(%a : tensor<8x16xf32>) outs(%f : tensor<16x8xf32>) permutation = [1, 0]
    %b = linalg.transpose ins(%t : tensor<16x8xf32>) outs(%e : tensor<8x16xf32>) permutation = [1, 0]
    scf.yield %b : tensor<8x16xf32>
  }
  // CHECK: } {{.*}}llm.cost = #llm.cost<flops = 0, bytes = 15360, ns = {{[0-9]+}}, workspace = 1024>
  return %y, %z : tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

func.func @step(%x: tensor<64xf32>, %n: index) -> tensor<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{'scf.for' runs a number of rounds that is not known, so no plan can be priced; make its bounds and its step constants}}
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<64xf32>) {
    %b = math.exp %a : tensor<64xf32>
    scf.yield %b : tensor<64xf32>
  }
  return %y : tensor<64xf32>
}

// -----

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %x) -> (tensor<64xf32>) {
    // expected-error @+1 {{'test.op' stands in the body of a loop and has no cost, so the loop cannot be priced}}
    %b = "test.op"(%a) : (tensor<64xf32>) -> tensor<64xf32>
    scf.yield %b : tensor<64xf32>
  }
  return %y : tensor<64xf32>
}

// -----

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %x) -> (tensor<64xf32>) {
    // expected-error @+1 {{is a constant with bytes in the body of a loop, which no plan would count; move it in front of the loop}}
    %k = arith.constant dense<1.0> : tensor<64xf32>
    %b = arith.addf %a, %k : tensor<64xf32>
    scf.yield %b : tensor<64xf32>
  }
  return %y : tensor<64xf32>
}
