// Two updates on the host: the device makes a gradient, which is copied to the host, and so is the parameter; both are updated there, and the parameter is
// copied back. The second gradient is copied to where the first was.
func.func @step(%p: tensor<64xf32> {llm.donated = 0 : i64}, %q: tensor<64xf32> {llm.donated = 1 : i64}, %x: tensor<64xf32>,
    %lr: tensor<f32, #llm.host>, %m: tensor<64xf32, #llm.host> {llm.donated = 2 : i64})
    -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32, #llm.host>)
    attributes {llm.arena = 512 : i64, llm.host_arena = 768 : i64, llm.peak = 1280 : i64} {
  %a = llm.silu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %a0 = llm.copy_up %a {llm.offsets = array<i64: 0>, llm.started} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %b = llm.silu %a {llm.offsets = array<i64: 256>} : tensor<64xf32>
  %a1 = llm.wait %a0 {llm.offsets = array<i64: 0>} : tensor<64xf32, #llm.host>
  %p0 = llm.copy_up %p {llm.offsets = array<i64: 256>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %p1, %m1 = llm.sgd %p0, %a1, %lr state(%m) {llm.offsets = array<i64: 256, -1>, llm.started, momentum = 0.5 : f64, weight_decay = 0.0 : f64}
    : (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>, tensor<f32, #llm.host>, tensor<64xf32, #llm.host>)
    -> (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>)
  %q0 = llm.copy_up %q {llm.offsets = array<i64: 512>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %p2, %m2 = llm.wait %p1, %m1 {llm.offsets = array<i64: 256, -1>} : tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>
  %p3 = llm.copy_down %p2 into(%p) {llm.offsets = array<i64: -1>, llm.started} : (tensor<64xf32, #llm.host>, tensor<64xf32>) -> tensor<64xf32>
  %b0 = llm.copy_up %b {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %q1 = llm.sgd %q0, %b0, %lr {llm.offsets = array<i64: 512>, weight_decay = 0.0 : f64}
    : (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>, tensor<f32, #llm.host>) -> tensor<64xf32, #llm.host>
  %p4 = llm.wait %p3 {llm.offsets = array<i64: -1>} : tensor<64xf32>
  %q2 = llm.copy_down %q1 into(%q) {llm.offsets = array<i64: -1>} : (tensor<64xf32, #llm.host>, tensor<64xf32>) -> tensor<64xf32>
  return %p4, %q2, %m2 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32, #llm.host>
}
