// Kernels touch the device alone, copies go between both memories, and nothing reads what is still on its way.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @kernel_reads(%x: tensor<8xf32, #llm.host>) -> tensor<8xf32, #llm.host> {
  // expected-error @below {{'llm.gelu' op reads a value that lies in the host's memory; expected the result of an 'llm.copy_down' of it}}
  %y = llm.gelu %x : tensor<8xf32, #llm.host>
  return %y : tensor<8xf32, #llm.host>
}

// -----

func.func @kernel_writes(%x: tensor<8xf32>) -> tensor<8xbf16, #llm.host> {
  // expected-error @below {{'llm.cast' op writes to the host's memory; expected a result on the device, and an 'llm.copy_up' of it}}
  %y = llm.cast %x : tensor<8xf32> -> tensor<8xbf16, #llm.host>
  return %y : tensor<8xbf16, #llm.host>
}

// -----

func.func @up_from_host(%x: tensor<8xf32, #llm.host>) -> tensor<8xf32, #llm.host> {
  // expected-error @below {{'llm.copy_up' op has 'tensor<8xf32, #llm.host>' on the device, expected a tensor without #llm.host}}
  %y = llm.copy_up %x : (tensor<8xf32, #llm.host>) -> tensor<8xf32, #llm.host>
  return %y : tensor<8xf32, #llm.host>
}

// -----

func.func @up_to_device(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'llm.copy_up' op result #0 must be statically shaped tensor with #llm.host, without empty dimensions}}
  %y = llm.copy_up %x : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @other_shape(%x: tensor<8xf32, #llm.host>) -> tensor<4xf32> {
  // expected-error @below {{'llm.copy_down' op copies between 'tensor<4xf32>' and 'tensor<8xf32, #llm.host>', expected one shape and one type of elements}}
  %y = llm.copy_down %x : (tensor<8xf32, #llm.host>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @other_destination(%x: tensor<8xf32>, %m: tensor<4xf32, #llm.host>) -> tensor<8xf32, #llm.host> {
  // expected-error @below {{'llm.copy_up' op has a destination of type 'tensor<4xf32, #llm.host>', expected 'tensor<8xf32, #llm.host>'}}
  %y = llm.copy_up %x into(%m) : (tensor<8xf32>, tensor<4xf32, #llm.host>) -> tensor<8xf32, #llm.host>
  return %y : tensor<8xf32, #llm.host>
}

// -----

func.func @read_before_it_is_back(%x: tensor<8xf32, #llm.host>) -> tensor<8xf32> {
  // expected-note @below {{which starts here}}
  %back = llm.copy_down %x {llm.started} : (tensor<8xf32, #llm.host>) -> tensor<8xf32>
  // expected-error @below {{'llm.gelu' op reads what 'llm.copy_down' started; expected the result of its 'llm.wait'}}
  %y = llm.gelu %back : tensor<8xf32>
  %there = llm.wait %back : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// Copies of the other direction do not run after it.
func.func @down_before_it_is_up(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-note @below {{which starts here}}
  %up = llm.copy_up %x {llm.started} : (tensor<8xf32>) -> tensor<8xf32, #llm.host>
  // expected-error @below {{'llm.copy_down' op reads what 'llm.copy_up' started; expected the result of its 'llm.wait'}}
  %back = llm.copy_down %up {llm.started} : (tensor<8xf32, #llm.host>) -> tensor<8xf32>
  %left = llm.wait %up : tensor<8xf32, #llm.host>
  %there = llm.wait %back : tensor<8xf32>
  return %there : tensor<8xf32>
}
