// Dead collectives go and equal ones merge; another instance, as ZeRO-3's second gather has, stays apart. None leaves its
// loop.
// RUN: llmmem-opt --cse --canonicalize --loop-invariant-code-motion %s | FileCheck %s

// CHECK-LABEL: func.func @gather(
func.func @gather(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // CHECK: %[[A:.*]] = llm.all_gather
  // CHECK-NEXT: %[[B:.*]] = llm.all_gather {{.*}}llm.instance = 1
  // CHECK-NEXT: return %[[A]], %[[A]], %[[B]]
  %a = llm.all_gather %x over ["dp"] {dimension = 0 : i64} : (tensor<4xf32>) -> tensor<8xf32>
  %b = llm.all_gather %x over ["dp"] {dimension = 0 : i64} : (tensor<4xf32>) -> tensor<8xf32>
  %c = llm.all_gather %x over ["dp"] {dimension = 0 : i64, llm.instance = 1 : i64} : (tensor<4xf32>) -> tensor<8xf32>
  %dead = llm.all_reduce %x over ["dp"] : tensor<4xf32>
  return %a, %b, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @in_loop(
func.func @in_loop(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> attributes {llm.mesh = #llm.mesh<dp = 2>} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // CHECK: scf.for
  // CHECK-NEXT: llm.all_reduce
  %a = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> tensor<4xf32> {
    %t = llm.all_reduce %x over ["dp"] : tensor<4xf32>
    %u = llm.add %s, %t : tensor<4xf32>
    scf.yield %u : tensor<4xf32>
  }
  return %a : tensor<4xf32>
}
