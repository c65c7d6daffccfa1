// Where the host does nothing but launch, nothing can be poisoned or timed by it.
//
// RUN: not llmmem-opt --convert-step-to-kernels="target=gpu poison" %s 2>&1 | FileCheck %s --check-prefix=POISON
// RUN: not llmmem-opt --convert-step-to-kernels="target=gpu profile" %s 2>&1 | FileCheck %s --check-prefix=PROFILE

// POISON: error: cannot be converted with 'poison' for target=gpu
// PROFILE: error: cannot be converted with 'profile' for target=gpu
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64} {
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %a : tensor<64xf32>
}
