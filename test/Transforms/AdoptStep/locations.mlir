// What only the backward reads, but JAX names as forward, is forward; so is what the loss depends on, whatever its name.
// RUN: llmmem-opt --allow-unregistered-dialect --describe-ops --adopt-step %s 2>/dev/null | FileCheck %s

func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<4xf32>) {
  // CHECK: "stablehlo.tanh"{{.*}}llm.phase = "forward"
  // CHECK: "stablehlo.negate"{{.*}}llm.phase = "forward"
  // CHECK: "stablehlo.broadcast_in_dim"{{.*}}llm.phase = "backward"
  %loss = "stablehlo.tanh"(%x) : (tensor<f32>) -> tensor<f32> loc("jit(step)/jvp()/tanh")
  %saved = "stablehlo.negate"(%loss) : (tensor<f32>) -> tensor<f32> loc("jit(step)/jvp()/neg")
  %dx = "stablehlo.broadcast_in_dim"(%saved) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32> loc("jit(step)/transpose(jvp())/mul")
  return %loss, %dx : tensor<f32>, tensor<4xf32>
}
