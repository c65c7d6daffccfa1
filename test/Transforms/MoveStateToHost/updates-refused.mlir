// RUN: llmmem-opt --move-state-to-host="link=25GB/s updates=true" --verify-diagnostics --split-input-file %s

func.func @step(%p: tensor<8x8xf32> {llm.donated = 0 : i64, llm.role = "param"}, %g: tensor<8x8xf32>, %m: tensor<8x8xf32> {llm.donated = 1 : i64, llm.role = "optimizer_state"}, %lr: tensor<f32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // expected-error @below {{'llm.muon' op reads whole rows, which no kernel of the host does; train with adamw, sgd or lion, or leave --update-on=host out}}
  %p1, %m1 = llm.muon %p, %g, %lr state(%m) {momentum = 0.95 : f64, weight_decay = 0.1 : f64}
     : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  return %p1, %m1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

func.func @step(%p: tensor<8xf32> {llm.donated = 0 : i64, llm.role = "param"}, %g: tensor<8xf32>, %lr: tensor<f32>) -> tensor<8xf32> attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{'llm.sgd' op is a server's, which updates on its device; leave --data-parallel=server or --update-on=host out}}
  %p1 = llm.sgd %p, %g, %lr {server = ["dp"], weight_decay = 0.0 : f64} : (tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %p1 : tensor<8xf32>
}

// -----

func.func @step(%p: tensor<8xf32> {llm.donated = 0 : i64, llm.role = "param"}, %g: tensor<8xf32>, %m: tensor<8xf32> {llm.donated = 1 : i64, llm.role = "optimizer_state"}, %lr: tensor<f32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %p1, %m1 = llm.sgd %p, %g, %lr state(%m) {momentum = 0.9 : f64, weight_decay = 0.0 : f64} : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  // expected-error @below {{'llm.gelu' op reads state of the optimizer, which --update-on=host leaves on the host; leave that out}}
  %y = llm.gelu %m1 : tensor<8xf32>
  return %p1, %m1, %y : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
