// A plan that states in which of two arguments a value lies is proved, or refused where what the other one holds is lost.
// RUN: split-file %s %t
// RUN: llmmem-opt --verify-plan %t/holds.mlir -o %t/proved.mlir
// RUN: llmmem-opt --verify-plan --verify-diagnostics %t/lost.mlir

//--- holds.mlir
func.func @step(%a: tensor<64xf32> {llm.donated = 0 : i64}, %b: tensor<64xf32> {llm.donated = 1 : i64}) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 0 : i64, llm.peak = 512 : i64} {
  %m = llm.add %a, %b {llm.in_argument = array<i64: 0>, llm.offsets = array<i64: -1>} : tensor<64xf32>
  %r1 = llm.add %m, %b {llm.offsets = array<i64: -1>} : tensor<64xf32>
  %r0 = llm.gelu %m {llm.offsets = array<i64: -1>} : tensor<64xf32>
  return %r0, %r1 : tensor<64xf32>, tensor<64xf32>
}

//--- lost.mlir
// expected-error @below {{[argument] argument 0 is donated to result 0, which does not lie in its bytes}}
func.func @step(%a: tensor<64xf32> {llm.donated = 0 : i64}, %b: tensor<64xf32> {llm.donated = 1 : i64}) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 0 : i64, llm.peak = 512 : i64} {
  %m = llm.add %a, %b {llm.in_argument = array<i64: 1>, llm.offsets = array<i64: -1>} : tensor<64xf32>
  // expected-error @below {{[clobber] reads argument 1 after its bytes were overwritten}}
  %r1 = llm.add %m, %b {llm.offsets = array<i64: -1>} : tensor<64xf32>
  // expected-error @below {{[clobber] reads argument 1 after its bytes were overwritten}}
  %r0 = llm.gelu %m {llm.offsets = array<i64: -1>} : tensor<64xf32>
  // expected-error @below {{[clobber] reads argument 1 after its bytes were overwritten}}
  return %r0, %r1 : tensor<64xf32>, tensor<64xf32>
}
