// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 512 : i64, llm.peak = 1024 : i64} {
  %0 = llm.gelu %x {llm.id = 0 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @below {{[clone] is a clone of op 0, but reads other values}}
  %1 = llm.gelu %y {llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 256>} : tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}
