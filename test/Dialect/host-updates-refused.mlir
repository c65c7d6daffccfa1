// An update runs in one memory, on the device in its turn, and no update but elementwise ones has a kernel of the host.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @gradient_on_device(%p: tensor<64xf32, #llm.host>, %g: tensor<64xf32, #llm.host>, %lr: tensor<f32>) -> tensor<64xf32, #llm.host> {
  // expected-error @below {{'llm.sgd' op runs on the host and reads operand 2, 'tensor<f32>' on the device; expected the result of an 'llm.copy_up' of it}}
  %p1 = llm.sgd %p, %g, %lr {weight_decay = 0.0 : f64} : (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>, tensor<f32>) -> tensor<64xf32, #llm.host>
  return %p1 : tensor<64xf32, #llm.host>
}

// -----

func.func @state_on_device(%p: tensor<64xf32>, %g: tensor<64xf32>, %m: tensor<64xf32, #llm.host>, %lr: tensor<f32>) -> (tensor<64xf32>, tensor<64xf32, #llm.host>) {
  // expected-error @below {{'llm.lion' op runs on the host and reads operand 0, 'tensor<64xf32>' on the device; expected the result of an 'llm.copy_up' of it}}
  %p1, %m1 = llm.lion %p, %g, %lr state(%m) {beta1 = 0.9 : f64, beta2 = 0.99 : f64, weight_decay = 0.1 : f64}
     : (tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<64xf32, #llm.host>) -> (tensor<64xf32>, tensor<64xf32, #llm.host>)
  return %p1, %m1 : tensor<64xf32>, tensor<64xf32, #llm.host>
}

// -----

func.func @started_on_device(%p: tensor<64xf32>, %g: tensor<64xf32>, %lr: tensor<f32>) -> tensor<64xf32> {
  // expected-error @below {{'llm.sgd' op is started on the device, whose ops run one after another; expected all of its operands and results in the host's memory}}
  %p1 = llm.sgd %p, %g, %lr {llm.started, weight_decay = 0.0 : f64} : (tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %p2 = llm.wait %p1 : tensor<64xf32>
  return %p2 : tensor<64xf32>
}

// -----

func.func @no_kernel(%p: tensor<8x8xf32, #llm.host>, %g: tensor<8x8xf32, #llm.host>, %m: tensor<8x8xf32, #llm.host>, %lr: tensor<f32, #llm.host>) -> tensor<8x8xf32, #llm.host> {
  // expected-error @below {{'llm.muon' op reads a value that lies in the host's memory; expected the result of an 'llm.copy_down' of it}}
  %p1, %m1 = llm.muon %p, %g, %lr state(%m) {momentum = 0.95 : f64, weight_decay = 0.1 : f64}
     : (tensor<8x8xf32, #llm.host>, tensor<8x8xf32, #llm.host>, tensor<f32, #llm.host>, tensor<8x8xf32, #llm.host>) -> (tensor<8x8xf32, #llm.host>, tensor<8x8xf32, #llm.host>)
  return %p1 : tensor<8x8xf32, #llm.host>
}

// -----

func.func @other_destination(%x: tensor<8xf32, #llm.host>, %p: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @below {{'llm.copy_down' op has a destination of type 'tensor<4xf32>', expected 'tensor<8xf32>'}}
  %y = llm.copy_down %x into(%p) : (tensor<8xf32, #llm.host>, tensor<4xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
