// RUN: not llmmem-opt --differentiate %s 2>&1 | FileCheck %s

// CHECK: error: does not say how to train @loss; give it llm.training, as in
func.func @loss(%w: tensor<f32> {llm.role = "param"}) -> tensor<f32> {
  return %w : tensor<f32>
}
