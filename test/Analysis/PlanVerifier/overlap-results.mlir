// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%x: tensor<2x128xf32>) -> (tensor<2x64xf32>, tensor<2x64xf32>) attributes {llm.arena = 512 : i64, llm.peak = 2048 : i64} {
  // expected-error @below {{[overlap] results 0 and 1 share bytes}}
  %0:2 = llm.split %x {llm.offsets = array<i64: 0, 0>} : (tensor<2x128xf32>) -> (tensor<2x64xf32>, tensor<2x64xf32>)
  return %0#0, %0#1 : tensor<2x64xf32>, tensor<2x64xf32>
}
