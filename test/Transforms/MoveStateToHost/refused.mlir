// RUN: llmmem-opt --move-state-to-host=link=25GB/s --verify-diagnostics --split-input-file %s

// expected-error @below {{argument 1 is state that no result replaces, which cannot lie on the host; differentiate the model anew}}
func.func @step(%x: tensor<64xf32>, %m: tensor<64xf32> {llm.role = "optimizer_state"}) -> tensor<64xf32> {
  %y = llm.add %x, %m : tensor<64xf32>
  return %y : tensor<64xf32>
}

// -----

// expected-error @below {{is planned already; move its state before it is planned}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 0 : i64} {
  return %x : tensor<64xf32>
}
