// Where the host does nothing but launch, nothing can be poisoned by it.
//
// RUN: not llmmem-opt --convert-step-to-kernels="target=gpu poison" %s 2>&1 | FileCheck %s --check-prefix=POISON

// POISON: error: cannot be converted with 'poison' for target=gpu
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64} {
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %a : tensor<64xf32>
}
