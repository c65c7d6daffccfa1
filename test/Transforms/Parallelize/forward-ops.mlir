// Every op of a forward splits along the batch; parameters and what follows from them alone stay whole.
// RUN: llmmem-opt --parallelize=mesh=dp=2 %s | FileCheck %s

// CHECK-LABEL: func.func @loss(
!x = tensor<4x6x8xf32>
!s = tensor<4x2x6x6xf32>
func.func @loss(%ids: tensor<4x6xi32> {llm.role = "input"}, %t: tensor<4x6xi32> {llm.role = "input"}, %seed: tensor<2xi32> {llm.role = "seed"},
                %table: tensor<16x8xf32> {llm.role = "param"}, %positions: tensor<6x8xf32> {llm.role = "param"},
                %g: tensor<8xf32> {llm.role = "param"}, %w: tensor<8x8xf32> {llm.role = "param"}) -> tensor<f32> {
  // CHECK: llm.embedding {{.*}} (tensor<2x6xi32>, tensor<16x8xf32>) -> tensor<2x6x8xf32>
  %e = llm.embedding %ids, %table : (tensor<4x6xi32>, tensor<16x8xf32>) -> !x
  // CHECK: llm.add_positions {{.*}} -> tensor<2x6x8xf32>
  %p = llm.add_positions %e, %positions : (!x, tensor<6x8xf32>) -> !x
  // CHECK: llm.layer_norm {{.*}} -> (tensor<2x6x8xf32>, tensor<2x6xf32>, tensor<2x6xf32>)
  %n, %mean, %rstd = llm.layer_norm %p, %g, %g {eps = 1.0e-5 : f64} : (!x, tensor<8xf32>, tensor<8xf32>) -> (!x, tensor<4x6xf32>, tensor<4x6xf32>)
  // CHECK: llm.rms_norm {{.*}} -> (tensor<2x6x8xf32>, tensor<2x6xf32>)
  %r, %rs = llm.rms_norm %n, %g {eps = 1.0e-5 : f64} : (!x, tensor<8xf32>) -> (!x, tensor<4x6xf32>)
  // CHECK: llm.linear {{.*}} bias({{.*}}) layout(out_in) {{.*}} -> tensor<2x6x8xf32>
  %q = llm.linear %r, %w bias(%g) layout(out_in) : (!x, tensor<8x8xf32>, tensor<8xf32>) -> !x
  // CHECK: llm.rope {{.*}} : tensor<2x6x8xf32>
  %o = llm.rope %q {heads = 2 : i64, theta = 10000.0 : f64} : !x
  // CHECK: llm.attention_scores {{.*}} -> tensor<2x2x6x6xf32>
  %s = llm.attention_scores %o, %o {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.5 : f64} : (!x, !x) -> !s
  // CHECK: llm.causal_mask {{.*}} : tensor<2x2x6x6xf32>
  %m = llm.causal_mask %s {fill = 0xFFF0000000000000 : f64} : !s
  // CHECK: llm.softmax {{.*}} : tensor<2x2x6x6xf32>
  %sm = llm.softmax %m : !s
  // CHECK: llm.stored_dropout {{.*}}sharding = #llm.sharding<dimensions = {{\[\["dp"\], \[\], \[\], \[\]\]}}>{{.*}} -> (tensor<2x2x6x6xf32>, tensor<2x2x6x6xi8>)
  %sd, %mask = llm.stored_dropout %sm, %seed {key = 1 : i64, p = 0.1 : f64} : (!s, tensor<2xi32>) -> (!s, tensor<4x2x6x6xi8>)
  // CHECK: llm.attention_values {{.*}} -> tensor<2x6x8xf32>
  %v = llm.attention_values %sd, %o {heads = 2 : i64, kv_heads = 2 : i64} : (!s, !x) -> !x
  // CHECK: llm.split {{.*}} -> (tensor<2x6x2xf32>, tensor<2x6x6xf32>)
  %a, %b = llm.split %v : (!x) -> (tensor<4x6x2xf32>, tensor<4x6x6xf32>)
  // CHECK: llm.concat {{.*}} -> tensor<2x6x8xf32>
  %c = llm.concat %a, %b : (tensor<4x6x2xf32>, tensor<4x6x6xf32>) -> !x
  // CHECK: llm.gelu {{.*}} : tensor<2x6x8xf32>
  %u = llm.gelu %c : !x
  // CHECK: llm.silu {{.*}} : tensor<2x6x8xf32>
  %z = llm.silu %u : !x
  // CHECK: llm.mul {{.*}} : tensor<2x6x8xf32>
  %k = llm.mul %z, %p : !x
  // CHECK: llm.add {{.*}} : tensor<2x6x8xf32>
  %h = llm.add %k, %u : !x
  // CHECK: llm.cast {{.*}} : tensor<2x6x8xf32> -> tensor<2x6x8xbf16>
  %f = llm.cast %h : !x -> tensor<4x6x8xbf16>
  // CHECK: llm.reshape {{.*}} : tensor<2x6x8xbf16> -> tensor<12x8xbf16>
  %flat = llm.reshape %f : tensor<4x6x8xbf16> -> tensor<24x8xbf16>
  // CHECK: llm.silu %{{.*}} : tensor<8x8xf32>
  %own = llm.silu %w : tensor<8x8xf32>
  %ow = llm.cast %own : tensor<8x8xf32> -> tensor<8x8xbf16>
  // CHECK: llm.linear {{.*}} -> tensor<12x8xbf16>
  %logits = llm.linear %flat, %ow layout(in_out) : (tensor<24x8xbf16>, tensor<8x8xbf16>) -> tensor<24x8xbf16>
  %back = llm.reshape %logits : tensor<24x8xbf16> -> tensor<4x6x8xbf16>
  // CHECK: %[[OWN:.*]] = llm.count_targets
  // CHECK: %[[COUNT:.*]] = llm.all_reduce %[[OWN]] over ["dp"] : tensor<i32>
  // CHECK: %[[PART:.*]], %{{.*}} = llm.cross_entropy {{.*}} count(%[[COUNT]])
  // CHECK: %[[LOSS:.*]] = llm.all_reduce %[[PART]] over ["dp"] {{.*}} : tensor<f32>
  // CHECK: return %[[LOSS]]
  %loss, %l = llm.cross_entropy %back, %t : (tensor<4x6x8xbf16>, tensor<4x6xi32>) -> (tensor<f32>, tensor<4x6xf32>)
  return %loss : tensor<f32>
}
