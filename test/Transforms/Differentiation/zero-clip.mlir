// Clipping uses the norm of all gradients: whole ones are equal on all ranks; of parts, each rank's norm is one number of a
// gathered vector, whose norm is that of all.
//
// RUN: llmmem-opt "--parallelize=mesh=dp=4 zero=0" --differentiate %s | FileCheck %s --check-prefix=WHOLE
// RUN: llmmem-opt "--parallelize=mesh=dp=4 zero=1" --differentiate %s | FileCheck %s --check-prefix=PARTS
// RUN: llmmem-opt "--parallelize=mesh=dp=4 zero=3" --differentiate %s | FileCheck %s --check-prefix=PARTS

// WHOLE: %[[SUM:.*]] = llm.all_reduce {{.*}}"w.gradient.sum"
// WHOLE: %[[NORM:.*]] = llm.global_norm %[[SUM]] {{.*}} -> tensor<f32>
// WHOLE-NEXT: llm.sgd %{{.*}}, %[[SUM]], %{{.*}} norm(%[[NORM]])

// PARTS: %[[OWN:.*]] = llm.global_norm %{{.*}} : (tensor<2x4xf32>) -> tensor<f32>
// PARTS-NEXT: %[[ONE:.*]] = llm.reshape %[[OWN]] {{.*}} -> tensor<1xf32>
// PARTS-NEXT: %[[ALL:.*]] = llm.all_gather %[[ONE]] over ["dp"] {{.*}} -> tensor<4xf32>
// PARTS-NEXT: %[[NORM:.*]] = llm.global_norm %[[ALL]] {{.*}} -> tensor<f32>
// PARTS: llm.sgd {{.*}} norm(%[[NORM]])
#training = #llm.training<optimizer = sgd, gradients = resident, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64, clip_norm = 1.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%x: tensor<4x4xf32> {llm.role = "input"}, %t: tensor<4xi32> {llm.role = "input"},
                  %w: tensor<8x4xf32> {llm.role = "param", llm.name = "w"}) -> tensor<f32> {
    %y = llm.linear %x, %w layout(out_in) : (tensor<4x4xf32>, tensor<8x4xf32>) -> tensor<4x8xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
    return %loss : tensor<f32>
  }
}
