// What a server alone has is in its footprint, not in that of the others: parameter, gradient, two moments and the workspace of the sum
// have 1024 bytes each, two scalars 256 with their padding, in all 5632; the others need 2048 less.
// RUN: llmmem-opt --plan-arena --verify-plan --report-memory=print=true %s -o /dev/null 2>&1 | FileCheck %s
// RUN: llmmem-opt --plan-arena --report-memory=json=- %s -o /dev/null | FileCheck %s --check-prefix=JSON
// CHECK: server {{ *}}needs 5.63 kB (5632 bytes), each other rank 3.58 kB (3584 bytes): optimizer state is the server's alone
// JSON: "server_bytes": 2048,
// JSON: "worker_needed": 3584
!v = tensor<256xf32>
func.func @step(%w: !v {llm.role = "param", llm.donated = 0 : i64}, %g: !v {llm.role = "gradient", llm.donated = 3 : i64},
                %m: !v {llm.role = "optimizer_state", llm.server = ["dp"], llm.donated = 1 : i64}, %v: !v {llm.role = "optimizer_state", llm.server = ["dp"], llm.donated = 2 : i64},
                %lr: tensor<f32>, %t: tensor<i32>) -> (!v, !v, !v, !v) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  %sum = llm.reduce %g over ["dp"] {root = 0 : i64} : !v
  %p, %m1, %v1 = llm.adamw %w, %sum, %m, %v, %lr, %t {beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, server = ["dp"], weight_decay = 0.0 : f64} : (!v, !v, !v, !v, tensor<f32>, tensor<i32>) -> (!v, !v, !v)
  %n = llm.broadcast %p over ["dp"] {root = 0 : i64} : !v
  return %n, %m1, %v1, %sum : !v, !v, !v, !v
}
