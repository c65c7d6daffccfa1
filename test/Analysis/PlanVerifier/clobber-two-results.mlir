// Two results of one op would stand in one argument.
// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%p: tensor<64xf32> {llm.donated = 0 : i64}, %g: tensor<64xf32>, %m: tensor<64xf32> {llm.donated = 1 : i64}, %lr: tensor<f32>, %t: tensor<i32>) -> (tensor<64xf32>, tensor<64xf32>)
    attributes {llm.arena = 0 : i64, llm.peak = 776 : i64} {
  // expected-error @below {{[clobber] overwrites argument 2 while it reads it as operand 3}}
  // expected-error @below {{[clobber] overwrites argument 2 while it reads it as operand 2}}
  // expected-error @below {{[clobber] results 1 and 2 overwrite argument 2}}
  %n:3 = llm.adamw %p, %g, %m, %m, %lr, %t {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-8 : f64, llm.offsets = array<i64: -1, -1, -1>, weight_decay = 0.1 : f64}
     : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<i32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
  return %n#0, %n#1 : tensor<64xf32>, tensor<64xf32>
}
