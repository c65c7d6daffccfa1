// What ranks do not split of a step of inference is refused where it stands, with what to do.
// RUN: split-file %s %t
// RUN: not llmmem-opt --parallelize=mesh=tp=2,dp=2 %t/step.mlir 2>&1 | FileCheck %t/step.mlir
// RUN: not llmmem-opt "--parallelize=mesh=tp=2 sequence-parallel" %t/step.mlir 2>&1 | FileCheck %t/step.mlir --check-prefix=SEQUENCE
// RUN: not llmmem-opt --parallelize=mesh=tp=2 --parallelize=mesh=tp=2 %t/step.mlir 2>&1 | FileCheck %t/step.mlir --check-prefix=TWICE
// RUN: not llmmem-opt --parallelize=mesh=tp=2 %t/planned.mlir 2>&1 | FileCheck %t/planned.mlir
// RUN: not llmmem-opt --parallelize=mesh=tp=2 %t/two.mlir 2>&1 | FileCheck %t/two.mlir
// RUN: not llmmem-opt --parallelize=mesh=tp=4 %t/heads.mlir 2>&1 | FileCheck %t/heads.mlir
// RUN: llmmem-import %configs/tiny-gpt2.json --mode decode --batch 1 --context 16 --weights int8:32 -o %t/packed.mlir
// RUN: not llmmem-opt --parallelize=mesh=tp=2 %t/packed.mlir 2>&1 | FileCheck %s --check-prefix=PACKED
// PACKED: packed.mlir:{{[0-9]+}}:{{[0-9]+}}: error: 'llm.embedding' reads a weight in fewer bits, of which ranks have whole rows, so that heads and hidden columns could not be split; import the model without --weights, or run it on one rank

//--- step.mlir
// CHECK: step.mlir:4:1: error: is a step of inference, which ranks of tp alone split, and #llm.mesh<tp = 2, dp = 2> has dp; leave it out, and give tp more ranks, or each of several jobs fewer sequences (--batch)
// SEQUENCE: step.mlir:4:1: error: is a step of inference, whose positions are not split; leave out sequence-parallel
// TWICE: step.mlir:4:1: error: is the function of one rank of #llm.mesh<tp = 2> already
func.func @forward(%x: tensor<4xf32> {llm.role = "input"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

//--- planned.mlir
// CHECK: planned.mlir:2:1: error: is planned already; split what llmmem-import writes, and plan the step of a rank
func.func @decode(%x: tensor<4xf32> {llm.role = "input"}) -> tensor<4xf32> attributes {llm.arena = 0 : i64} {
  return %x : tensor<4xf32>
}

//--- two.mlir
// CHECK: two.mlir:5:1: error: stands next to @decode, and one step of inference is split at a time; give each a file of its own, as llmmem-import writes them
func.func @decode(%x: tensor<4xf32> {llm.role = "input"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @prefill(%x: tensor<4xf32> {llm.role = "input"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

//--- heads.mlir
// CHECK: heads.mlir:9:10: error: 'llm.cached_attention' has 2 key/value heads, which do not divide over tp = 4; take a number of ranks that divides 2
func.func @decode(%x: tensor<1x1x8xf32> {llm.role = "input"}, %lengths: tensor<1xi32> {llm.role = "input"},
    %q: tensor<8x8xf32> {llm.role = "param"}, %k: tensor<4x8xf32> {llm.role = "param"},
    %keys: tensor<1x16x4xf32> {llm.role = "kv_cache", llm.donated = 1 : i64}, %values: tensor<1x16x4xf32> {llm.role = "kv_cache", llm.donated = 2 : i64})
    -> (tensor<1x1x8xf32>, tensor<1x16x4xf32>, tensor<1x16x4xf32>) {
  %at = llm.positions %lengths {context = 16 : i64} : (tensor<1xi32>) -> tensor<1x1xi32>
  %qx = llm.linear %x, %q layout(out_in) : (tensor<1x1x8xf32>, tensor<8x8xf32>) -> tensor<1x1x8xf32>
  %kx = llm.linear %x, %k layout(out_in) : (tensor<1x1x8xf32>, tensor<4x8xf32>) -> tensor<1x1x4xf32>
  %out = llm.cached_attention %qx, %kx, %kx caches(%keys, %values) at(%at) {heads = 4 : i64, kv_heads = 2 : i64, scale = 1.0 : f64}
    : (tensor<1x1x8xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x16x4xf32>, tensor<1x16x4xf32>, tensor<1x1xi32>) -> tensor<1x1x8xf32>
  %keys1, %values1 = llm.append_cache %keys, %values, %kx, %kx at(%at)
    : (tensor<1x16x4xf32>, tensor<1x16x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1xi32>) -> (tensor<1x16x4xf32>, tensor<1x16x4xf32>)
  return %out, %keys1, %values1 : tensor<1x1x8xf32>, tensor<1x16x4xf32>, tensor<1x16x4xf32>
}
