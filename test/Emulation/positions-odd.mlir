// Positions of odd width: in a batch of sequences of 1 x 7 elements the second begins at byte 28, where no vector of 16 bytes
// is read. Element i of each buffer holds i at first.
//
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining %s | llmmem-emulate --print=21 | FileCheck %s
// CHECK: argument 3: 0 2 4 6 8 10 12 7 9 11 13 15 17 19 14 16 18 20 22 24 26
func.func @step(%x: tensor<3x1x7xf32>, %table: tensor<2x7xf32>) -> tensor<3x1x7xf32> attributes {llm.arena = 128 : i64} {
  %y = llm.add_positions %x, %table {llm.offsets = array<i64: 0>} : (tensor<3x1x7xf32>, tensor<2x7xf32>) -> tensor<3x1x7xf32>
  return %y : tensor<3x1x7xf32>
}
