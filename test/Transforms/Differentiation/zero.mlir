// What data parallel ranks share of an update, by ZeRO stage: whole gradients are summed in place of what they are; a part of
// the state has a part of the gradient, and gives a part of the parameter, gathered into the parameter's bytes.
//
// RUN: split-file %s %t
// RUN: sed 's/RESIDENT/resident/' %t/loss.mlir > %t/resident.mlir
// RUN: sed 's/RESIDENT/transient/' %t/loss.mlir > %t/transient.mlir
// RUN: llmmem-opt "--parallelize=mesh=dp=2 zero=0" --differentiate %t/resident.mlir | FileCheck %t/loss.mlir --check-prefixes=ZERO0
// RUN: llmmem-opt "--parallelize=mesh=dp=2 zero=1" --differentiate %t/resident.mlir | FileCheck %t/loss.mlir --check-prefixes=ZERO1
// RUN: llmmem-opt "--parallelize=mesh=dp=2 zero=2" --differentiate %t/resident.mlir | FileCheck %t/loss.mlir --check-prefixes=ZERO2
// RUN: llmmem-opt "--parallelize=mesh=dp=2 zero=3" --differentiate %t/resident.mlir | FileCheck %t/loss.mlir --check-prefixes=ZERO3
// RUN: llmmem-opt "--parallelize=mesh=dp=2 zero=2" --differentiate %t/transient.mlir | FileCheck %t/loss.mlir --check-prefixes=TRANSIENT

//--- loss.mlir
#training = #llm.training<optimizer = adamw, gradients = RESIDENT, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%x: tensor<4x4xbf16> {llm.role = "input"}, %t: tensor<4xi32> {llm.role = "input"},
                  %w: tensor<3x4xbf16> {llm.role = "param", llm.name = "w"}) -> tensor<f32> {
    %y = llm.linear %x, %w layout(out_in) : (tensor<4x4xbf16>, tensor<3x4xbf16>) -> tensor<4x3xbf16>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<4x3xbf16>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
    return %loss : tensor<f32>
  }
}

// ZERO0-LABEL: func.func @step(
// ZERO0-SAME: %[[W:arg[0-9]+]]: tensor<3x4xbf16>
// ZERO0-SAME: tensor<3x4xf32> {{{.*}}llm.name = "w.first_moment"
// ZERO0-SAME: %[[G:[a-z0-9]+]]: tensor<3x4xbf16> {{{.*}}llm.name = "w.gradient"
// ZERO0: %[[OWN:.*]] = llm.linear_weight_grad %{{.*}} into(%[[G]])
// ZERO0-NEXT: %[[SUM:.*]] = llm.all_reduce %[[OWN]] over ["dp"] {llm.name = "w.gradient.sum", llm.phase = "backward"} : tensor<3x4xbf16>
// ZERO0-NEXT: %[[NEW:[^,]*]], {{.*}} = llm.adamw %[[W]], %[[SUM]]
// ZERO0-NEXT: return %{{[^,]*}}, %[[NEW]], %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[SUM]] :

// ZERO1-LABEL: func.func @step(
// ZERO1-SAME: %[[W:[a-z0-9]+]]: tensor<3x4xbf16>
// ZERO1-SAME: tensor<1x6xf32> {{{.*}}llm.name = "w.first_moment", llm.role = "optimizer_state", llm.shard = ["dp"], llm.whole = tensor<3x4xf32>}
// ZERO1-SAME: tensor<1x6xf32> {{{.*}}llm.name = "w.second_moment", llm.role = "optimizer_state", llm.shard = ["dp"], llm.whole = tensor<3x4xf32>}
// ZERO1-SAME: tensor<1x6xf32> {{{.*}}llm.name = "w.master", llm.role = "optimizer_state", llm.shard = ["dp"], llm.whole = tensor<3x4xf32>}
// ZERO1-SAME: %[[G:[a-z0-9]+]]: tensor<3x4xbf16> {{{.*}}llm.name = "w.gradient", llm.role = "gradient"}
// ZERO1: %[[OWN:.*]] = llm.linear_weight_grad %{{.*}} into(%[[G]])
// ZERO1-NEXT: %[[FLAT:.*]] = llm.reshape %[[OWN]] {{.*}} : tensor<3x4xbf16> -> tensor<2x6xbf16>
// ZERO1-NEXT: %[[SUM:.*]] = llm.reduce_scatter %[[FLAT]] over ["dp"] {dimension = 0 : i64,{{.*}} -> tensor<1x6xbf16>
// ZERO1-NEXT: %[[ALL:.*]] = llm.reshape %[[W]] {{.*}} -> tensor<2x6xbf16>
// ZERO1-NEXT: %[[PART:.*]] = llm.part %[[ALL]] over ["dp"] {{.*}} -> tensor<1x6xbf16>
// ZERO1-NEXT: %[[NEW:[^,]*]], {{.*}} = llm.adamw %[[PART]], %[[SUM]], {{.*}}weight_decay = 1.0
// ZERO1-NEXT: %[[TO:.*]] = llm.reshape %[[W]] {{.*}} -> tensor<2x6xbf16>
// ZERO1-NEXT: %[[GATHERED:.*]] = llm.all_gather %[[NEW]] over ["dp"] destination(%[[TO]])
// ZERO1-NEXT: %[[WHOLE:.*]] = llm.reshape %[[GATHERED]] {{.*}} -> tensor<3x4xbf16>
// ZERO1-NEXT: return %{{[^,]*}}, %[[WHOLE]], %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[OWN]] :

// ZERO2-LABEL: func.func @step(
// ZERO2-SAME: %[[G:[a-z0-9]+]]: tensor<1x6xbf16> {{{.*}}llm.name = "w.gradient", llm.role = "gradient", llm.shard = ["dp"], llm.whole = tensor<3x4xbf16>}
// ZERO2: %[[OWN:.*]] = llm.linear_weight_grad %{{[^,]*}}, %{{[^,]*}} layout(out_in)
// ZERO2: %[[SUM:.*]] = llm.reduce_scatter
// ZERO2-NEXT: %[[ADDED:.*]] = llm.add %[[G]], %[[SUM]]
// ZERO2: llm.adamw %{{[^,]*}}, %[[ADDED]]
// ZERO2: return %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[ADDED]] :

// ZERO3-LABEL: func.func @step(
// ZERO3-SAME: %[[W:[a-z0-9]+]]: tensor<1x6xbf16> {{{.*}}llm.donated = 1 : i64, llm.name = "w", llm.role = "param", llm.shard = ["dp"], llm.whole = tensor<3x4xbf16>}
// ZERO3-SAME: tensor<1x6xf32> {{{.*}}llm.name = "w.first_moment", llm.role = "optimizer_state", llm.shard = ["dp"], llm.whole = tensor<3x4xf32>}
// ZERO3-SAME: %[[G:[a-z0-9]+]]: tensor<1x6xbf16> {{{.*}}llm.name = "w.gradient", llm.role = "gradient", llm.shard = ["dp"], llm.whole = tensor<3x4xbf16>}
// ZERO3: llm.all_gather %[[W]]
// ZERO3: %[[OWN:.*]] = llm.linear_weight_grad
// ZERO3-NEXT: %[[FLAT:.*]] = llm.reshape %[[OWN]] {{.*}} -> tensor<2x6xbf16>
// ZERO3-NEXT: %[[PART:.*]] = llm.reduce_scatter %[[FLAT]] over ["dp"]
// ZERO3-NEXT: %[[SUM:.*]] = llm.add %[[G]], %[[PART]]
// ZERO3-NEXT: llm.adamw %[[W]], %[[SUM]]{{.*}}weight_decay = 1.0

// TRANSIENT-LABEL: func.func @step(
// TRANSIENT-NOT: w.gradient", llm.role
// TRANSIENT: %[[SUM:.*]] = llm.reduce_scatter
// TRANSIENT: %[[NEW:[^,]*]], {{.*}} = llm.adamw %{{[^,]*}}, %[[SUM]]
// TRANSIENT: llm.all_gather %[[NEW]] over ["dp"] destination(
