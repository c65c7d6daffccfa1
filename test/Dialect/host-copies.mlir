// A value goes to the host and comes back, with and without starts; state that lies there is read and overwritten.
// RUN: llmmem-opt %s | llmmem-opt | FileCheck %s

// CHECK-LABEL: func.func @leave(
func.func @leave(%x: tensor<64xf32>) -> tensor<64xf32> {
  // CHECK: %[[HOST:.*]] = llm.copy_up %{{.*}} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %host = llm.copy_up %x : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  // CHECK: %[[BACK:.*]] = llm.copy_down %[[HOST]] {llm.started} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  %back = llm.copy_down %host {llm.started} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  // CHECK: llm.wait %[[BACK]] : tensor<64xf32>
  %y = llm.wait %back : tensor<64xf32>
  return %y : tensor<64xf32>
}

// CHECK-LABEL: func.func @state(
func.func @state(%m: tensor<64xi8, #llm.host> {llm.donated = 0 : i64}) -> tensor<64xi8, #llm.host> {
  // CHECK: %[[DOWN:.*]] = llm.copy_down %[[M:.*]] : (tensor<64xi8, #llm.host>) -> tensor<64xi8>
  %down = llm.copy_down %m : (tensor<64xi8, #llm.host>) -> tensor<64xi8>
  // CHECK: llm.copy_up %[[DOWN]] into(%[[M]]) : (tensor<64xi8>, tensor<64xi8, #llm.host>) -> tensor<64xi8, #llm.host>
  %up = llm.copy_up %down into(%m) : (tensor<64xi8>, tensor<64xi8, #llm.host>) -> tensor<64xi8, #llm.host>
  return %up : tensor<64xi8, #llm.host>
}
