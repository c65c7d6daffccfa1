// An update needs its gradient alone, so the first runs while the device still reads the parameter of which the host has no need; its new value
// returns to the device after the last reader, where the update stood. One that is given for another use than the step's result stays where it is.
// RUN: llmmem-opt --move-state-to-host="link=25GB/s updates=true" --split-input-file %s | FileCheck %s -enable-var-scope

// CHECK-LABEL: func.func @step(
func.func @step(%x: tensor<64xf32>, %a: tensor<64xf32> {llm.donated = 0 : i64, llm.name = "a", llm.role = "param"},
    %b: tensor<64xf32> {llm.donated = 1 : i64, llm.name = "b", llm.role = "param"}, %lr: tensor<f32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  // CHECK-NEXT: %[[DB:.*]] = llm.gelu
  // CHECK-NEXT: %[[UPB:.*]] = llm.copy_up %[[DB]]
  %db = llm.gelu %x {llm.phase = "backward"} : tensor<64xf32>
  // CHECK-NEXT: %[[B:.*]] = llm.copy_up %{{.*}} {{.*}}llm.name = "b"
  // CHECK-NEXT: %[[DA:.*]] = llm.silu
  // CHECK-NEXT: %[[UPA:.*]] = llm.copy_up %[[DA]]
  %da = llm.silu %x {llm.phase = "backward"} : tensor<64xf32>
  // CHECK-NEXT: %[[A:.*]] = llm.copy_up %{{.*}} {{.*}}llm.name = "a"
  // CHECK-NEXT: %[[B1:.*]] = llm.sgd %[[B]], %[[UPB]]
  // CHECK-NEXT: %[[Y:.*]] = llm.add
  %y = llm.add %a, %b {llm.phase = "backward"} : tensor<64xf32>
  // CHECK-NEXT: %[[A1:.*]] = llm.sgd %[[A]], %[[UPA]]
  // CHECK-NEXT: %[[DOWNB:.*]] = llm.copy_down %[[B1]] into(%{{.*}})
  // CHECK-NEXT: %[[DOWNA:.*]] = llm.copy_down %[[A1]] into(%{{.*}})
  // CHECK-NEXT: return %[[DOWNA]], %[[DOWNB]], %[[Y]]
  %a1 = llm.sgd %a, %da, %lr {llm.phase = "update", weight_decay = 0.0 : f64} : (tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %b1 = llm.sgd %b, %db, %lr {llm.phase = "update", weight_decay = 0.0 : f64} : (tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %a1, %b1, %y : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----

// CHECK-LABEL: func.func @step(
func.func @step(%x: tensor<64xf32>, %a: tensor<64xf32> {llm.name = "a", llm.role = "param"}, %lr: tensor<f32>) -> tensor<64xf32> {
  // CHECK-NEXT: %[[DA:.*]] = llm.silu
  // CHECK-NEXT: %[[UP:.*]] = llm.copy_up %[[DA]]
  %da = llm.silu %x {llm.phase = "backward"} : tensor<64xf32>
  // CHECK-NEXT: llm.gelu
  %y = llm.gelu %x {llm.phase = "backward"} : tensor<64xf32>
  // CHECK-NEXT: %[[A:.*]] = llm.copy_up %{{.*}} {{.*}}llm.name = "a"
  // CHECK-NEXT: %[[A1:.*]] = llm.sgd %[[A]], %[[UP]]
  // CHECK-NEXT: %[[DOWN:.*]] = llm.copy_down %[[A1]] {
  // CHECK-NEXT: llm.add %[[DOWN]]
  %a1 = llm.sgd %a, %da, %lr {llm.phase = "update", weight_decay = 0.0 : f64} : (tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %z = llm.add %a1, %y {llm.phase = "update"} : tensor<64xf32>
  return %z : tensor<64xf32>
}
