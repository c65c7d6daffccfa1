// An op that reads the same bytes as two operands, the second perhaps a view of the first, may write its result on them only where both
// allow it. Each op whose result may take over an operand, in a plan that has it overwrite what it reads elsewhere; `plan-arena` places
// the same steps so that none does.
// RUN: llmmem-opt --allow-unregistered-dialect --verify-plan --verify-diagnostics --split-input-file %s
// RUN: llmmem-opt --allow-unregistered-dialect --plan-arena --allow-unregistered-dialect --verify-plan --split-input-file %s -o /dev/null

func.func @linear_weight_grad(%arg0: tensor<64x64xf32>, %arg1: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {llm.arena = 16384 : i64, llm.peak = 65536 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<64x64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 16384 meets a value that is still held}}
  %1 = llm.linear_weight_grad %0, %arg1 into(%0) layout(in_out) {llm.offsets = array<i64: 0>} : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

func.func @by_view(%arg0: tensor<64x64xf32>, %arg1: tensor<4x16x64xf32>) -> tensor<64x64xf32> attributes {llm.arena = 16384 : i64, llm.peak = 65536 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<64x64xf32>
  %1 = llm.reshape %0 {llm.offsets = array<i64: 0>} : tensor<64x64xf32> -> tensor<4x16x64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 16384 meets a value that is still held}}
  %2 = llm.linear_weight_grad %1, %arg1 into(%0) layout(in_out) {llm.offsets = array<i64: 0>} : (tensor<4x16x64xf32>, tensor<4x16x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}

// -----

func.func @positions_grad(%arg0: tensor<4x64xf32>) -> tensor<4x64xf32> attributes {llm.arena = 1024 : i64, llm.peak = 3072 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<4x64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 1024 meets a value that is still held}}
  %1 = llm.positions_grad %0 into(%0) {llm.offsets = array<i64: 0>} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}

// -----

func.func @embedding_grad(%arg0: tensor<4xi32>, %arg1: tensor<4x64xf32>) -> tensor<4x64xf32> attributes {llm.arena = 1024 : i64, llm.peak = 3088 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg1 {llm.offsets = array<i64: 0>} : tensor<4x64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 1024 meets a value that is still held}}
  %1 = llm.embedding_grad %arg0, %0 into(%0) {llm.offsets = array<i64: 0>} : (tensor<4xi32>, tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}

// -----

func.func @norm_weight_grad(%arg0: tensor<1x64xf32>, %arg1: tensor<1xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 772 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<1x64xf32>
  %1 = llm.reshape %0 {llm.offsets = array<i64: 0>} : tensor<1x64xf32> -> tensor<64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 256 meets a value that is still held}}
  %2 = llm.norm_weight_grad %0, %arg0, %arg1 into(%1) {llm.offsets = array<i64: 0>} : (tensor<1x64xf32>, tensor<1x64xf32>, tensor<1xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// -----

func.func @sum_rows(%arg0: tensor<1x64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 768 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<1x64xf32>
  %1 = llm.reshape %0 {llm.offsets = array<i64: 0>} : tensor<1x64xf32> -> tensor<64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 256 meets a value that is still held}}
  %2 = llm.sum_rows %0 into(%1) {llm.offsets = array<i64: 0>} : (tensor<1x64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// -----

func.func @append_cache(%arg0: tensor<2x8x16xf32>, %arg1: tensor<2x1x16xf32>, %arg2: tensor<2x1x16xf32>, %arg3: tensor<2x1xi32>) -> (tensor<2x8x16xf32>, tensor<2x8x16xf32>) attributes {llm.arena = 2048 : i64, llm.peak = 4360 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<2x8x16xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 1024 meets a value that is still held}}
  %new_keys, %new_values = llm.append_cache %0, %0, %arg1, %arg2 at(%arg3) {llm.offsets = array<i64: 0, 1024>} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x1x16xf32>, tensor<2x1x16xf32>, tensor<2x1xi32>) -> (tensor<2x8x16xf32>, tensor<2x8x16xf32>)
  return %new_keys, %new_values : tensor<2x8x16xf32>, tensor<2x8x16xf32>
}

// -----

func.func @append_rows(%arg0: tensor<2x1x64xf32>, %arg1: tensor<2x1xi32>) -> tensor<2x1x64xf32> attributes {llm.arena = 512 : i64, llm.peak = 1544 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<2x1x64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 512 meets a value that is still held}}
  %1 = llm.append_rows %0, %0 at(%arg1) {llm.offsets = array<i64: 0>} : (tensor<2x1x64xf32>, tensor<2x1x64xf32>, tensor<2x1xi32>) -> tensor<2x1x64xf32>
  return %1 : tensor<2x1x64xf32>
}

// -----

func.func @grouped_weight_grad(%arg0: tensor<2x64x64xf32>, %arg1: tensor<2x64x64xf32>) -> tensor<2x64x64xf32> attributes {llm.arena = 32768 : i64, llm.peak = 131072 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<2x64x64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 32768 meets a value that is still held}}
  %1 = llm.grouped_weight_grad %0, %arg1 into(%0) layout(in_out) {llm.offsets = array<i64: 0>} : (tensor<2x64x64xf32>, tensor<2x64x64xf32>, tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  return %1 : tensor<2x64x64xf32>
}

// -----

func.func @sum_group_rows(%arg0: tensor<2x1x64xf32>) -> tensor<2x64xf32> attributes {llm.arena = 512 : i64, llm.peak = 1536 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<2x1x64xf32>
  %1 = llm.reshape %0 {llm.offsets = array<i64: 0>} : tensor<2x1x64xf32> -> tensor<2x64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 512 meets a value that is still held}}
  %2 = llm.sum_group_rows %0 into(%1) {llm.offsets = array<i64: 0>} : (tensor<2x1x64xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
  return %2 : tensor<2x64xf32>
}

// -----

func.func @add_group_bias(%arg0: tensor<2x1x64xf32>) -> tensor<2x1x64xf32> attributes {llm.arena = 512 : i64, llm.peak = 1536 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<2x1x64xf32>
  %1 = llm.reshape %0 {llm.offsets = array<i64: 0>} : tensor<2x1x64xf32> -> tensor<2x64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 512 meets a value that is still held}}
  %2 = llm.add_group_bias %0, %1 {llm.offsets = array<i64: 0>} : (tensor<2x1x64xf32>, tensor<2x64xf32>) -> tensor<2x1x64xf32>
  return %2 : tensor<2x1x64xf32>
}

// -----

func.func @gate_rows(%arg0: tensor<4x1xf32>) -> tensor<4x1xf32> attributes {llm.arena = 16 : i64, llm.peak = 48 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<4x1xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 16 meets a value that is still held}}
  %1 = llm.gate_rows %0, %0 {llm.offsets = array<i64: 0>} : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  return %1 : tensor<4x1xf32>
}

// -----

func.func @add_positions(%arg0: tensor<4x64xf32>) -> tensor<4x64xf32> attributes {llm.arena = 1024 : i64, llm.peak = 3072 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<4x64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 1024 meets a value that is still held}}
  %1 = llm.add_positions %0, %0 {llm.offsets = array<i64: 0>} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}

// -----

func.func @add_bias(%arg0: tensor<1x64xf32>) -> tensor<1x64xf32> attributes {llm.arena = 256 : i64, llm.peak = 768 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<1x64xf32>
  %1 = llm.reshape %0 {llm.offsets = array<i64: 0>} : tensor<1x64xf32> -> tensor<64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 256 meets a value that is still held}}
  %2 = llm.add_bias %0, %1 {llm.offsets = array<i64: 0>} : (tensor<1x64xf32>, tensor<64xf32>) -> tensor<1x64xf32>
  return %2 : tensor<1x64xf32>
}

// -----

func.func @all_reduce_bucket(%arg0: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 1536 : i64, llm.mesh = #llm.mesh<dp = 2>, llm.peak = 2048 : i64} {
  // expected-note @below {{which stands at byte 1024 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 1024>} : tensor<64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 1024 to 1280 meets a value that is still held}}
  %1:2 = llm.all_reduce_bucket %0, %0 over ["dp"] {llm.offsets = array<i64: 1024, 1280>, llm.workspace = array<i64: 0, 1024>} : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  return %1#0, %1#1 : tensor<64xf32>, tensor<64xf32>
}

// -----

func.func @all_gather(%arg0: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.mesh = #llm.mesh<dp = 1>, llm.peak = 768 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 256 meets a value that is still held}}
  %1 = llm.all_gather %0 over ["dp"] destination(%0) {dimension = 0 : i64, llm.offsets = array<i64: 0>} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

func.func @adamw(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>, %arg2: tensor<f32>, %arg3: tensor<i32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 768 : i64, llm.peak = 1544 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 256 meets a value that is still held}}
  %new_param, %new_first_moment, %new_second_moment = llm.adamw %0, %arg1, %0, %0, %arg2, %arg3 {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, eps = 1.000000e-08 : f64, llm.offsets = array<i64: 0, 512, 256>, weight_decay = 1.000000e-01 : f64} : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<i32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
  return %new_param, %new_first_moment, %new_second_moment : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----

func.func @all_gather_bucket(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 512 : i64, llm.mesh = #llm.mesh<dp = 1>, llm.peak = 1280 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 256 meets a value that is still held}}
  %1:2 = llm.all_gather_bucket %arg1, %arg1 over ["dp"] destinations(%0, %0) {dimensions = array<i64: 0, 0>, llm.offsets = array<i64: 0, 256>} : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  return %1#0, %1#1 : tensor<64xf32>, tensor<64xf32>
}

// -----

func.func @add_relative_bias(%arg0: tensor<1x1x1x1xf32>) -> tensor<1x1x1x1xf32> attributes {llm.arena = 4 : i64, llm.peak = 12 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<1x1x1x1xf32>
  %1 = llm.reshape %0 {llm.offsets = array<i64: 0>} : tensor<1x1x1x1xf32> -> tensor<1x1xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 4 meets a value that is still held}}
  %2 = llm.add_relative_bias %0, %1 {llm.offsets = array<i64: 0>} : tensor<1x1x1x1xf32>, tensor<1x1xf32>
  return %2 : tensor<1x1x1x1xf32>
}

// -----

func.func @loss_head(%arg0: tensor<64x64xf32>, %arg1: tensor<64x64xf32>, %arg2: tensor<64xi32>) -> (tensor<f32>, tensor<64x64xf32>, tensor<64x64xf32>) attributes {llm.arena = 49412 : i64, llm.peak = 98820 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<64x64xf32>
  // expected-error @below {{[overlap] result 1 at bytes 0 to 16384 meets a value that is still held}}
  %loss, %dx, %dw = llm.loss_head %0, %arg1, %arg2 into(%0) layout(out_in) {chunk = 64 : i64, llm.offsets = array<i64: 49408, 0, 33024>, llm.workspace = array<i64: 16384, 16640>} : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64xi32>, tensor<64x64xf32>) -> (tensor<f32>, tensor<64x64xf32>, tensor<64x64xf32>)
  return %loss, %dx, %dw : tensor<f32>, tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

func.func @attention_sink_grad(%arg0: tensor<4xf32>, %arg1: tensor<1x1x4xf32>, %arg2: tensor<1x1x4xf32>) -> tensor<4xf32> attributes {llm.arena = 16 : i64, llm.peak = 80 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<4xf32>
  %1 = llm.reshape %0 {llm.offsets = array<i64: 0>} : tensor<4xf32> -> tensor<1x4x1xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 16 meets a value that is still held}}
  %2 = llm.attention_sink_grad %0, %arg1, %1, %arg2 into(%0) {llm.offsets = array<i64: 0>} : (tensor<4xf32>, tensor<1x1x4xf32>, tensor<1x4x1xf32>, tensor<1x1x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

func.func @relative_bias_grad(%arg0: tensor<1x4xf32>) -> tensor<4x1xf32> attributes {llm.arena = 16 : i64, llm.peak = 48 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<1x4xf32>
  %1 = llm.reshape %0 {llm.offsets = array<i64: 0>} : tensor<1x4xf32> -> tensor<4x1xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 16 meets a value that is still held}}
  %2 = llm.relative_bias_grad %0 into(%1) {bidirectional, keys = 3 : i64, llm.offsets = array<i64: 0>, max_distance = 128 : i64, queries = 2 : i64} : (tensor<1x4xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  return %2 : tensor<4x1xf32>
}

// -----

func.func @kernel(%arg0: tensor<1x64xf32>, %arg1: tensor<1x64xf32>) -> (tensor<64x64xf32>, tensor<64xf32>) attributes {llm.arena = 16640 : i64, llm.peak = 17408 : i64} {
  // expected-note @below {{which stands at byte 16384 and is read later}}
  %0 = llm.gelu %arg1 {llm.offsets = array<i64: 16384>} : tensor<1x64xf32>
  %1 = llm.reshape %0 {llm.offsets = array<i64: 16384>} : tensor<1x64xf32> -> tensor<64xf32>
  // expected-error @below {{[overlap] result 1 at bytes 16384 to 16640 meets a value that is still held}}
  %2:2 = llm.kernel(%in = %arg0, %in_0 = %0, %in_1 = %1) : (tensor<1x64xf32>, tensor<1x64xf32>, tensor<64xf32>) -> (tensor<64x64xf32>, tensor<64xf32>) {
    %3 = llm.linear_weight_grad %in, %in_0 layout(in_out) : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<64x64xf32>
    %4 = llm.sum_rows %in_0 into(%in_1) : (tensor<1x64xf32>, tensor<64xf32>) -> tensor<64xf32>
    llm.yield %3, %4 : tensor<64x64xf32>, tensor<64xf32>
  } attributes {llm.offsets = array<i64: 0, 16384>}
  return %2#0, %2#1 : tensor<64x64xf32>, tensor<64xf32>
}

// -----

func.func @sgd(%arg0: tensor<64x64xf32>, %arg1: tensor<64x64xf32>, %arg2: tensor<f32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) attributes {llm.arena = 32768 : i64, llm.peak = 81924 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<64x64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 16384 meets a value that is still held}}
  %new_param, %new_state = llm.sgd %0, %arg1, %arg2 state(%0) {llm.offsets = array<i64: 0, 16384>, momentum = 9.000000e-01 : f64, weight_decay = 0.000000e+00 : f64} : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<f32>, tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>)
  return %new_param, %new_state : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

func.func @lion(%arg0: tensor<64x64xf32>, %arg1: tensor<64x64xf32>, %arg2: tensor<f32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) attributes {llm.arena = 32768 : i64, llm.peak = 81924 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<64x64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 16384 meets a value that is still held}}
  %new_param, %new_state = llm.lion %0, %arg1, %arg2 state(%0) {beta1 = 9.000000e-01 : f64, beta2 = 0.98999999999999999 : f64, llm.offsets = array<i64: 0, 16384>, weight_decay = 1.000000e-01 : f64} : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<f32>, tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>)
  return %new_param, %new_state : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

func.func @muon(%arg0: tensor<64x64xf32>, %arg1: tensor<64x64xf32>, %arg2: tensor<f32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) attributes {llm.arena = 98816 : i64, llm.peak = 147720 : i64} {
  // expected-note @below {{which stands at byte 66048 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 66048>} : tensor<64x64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 66048 to 82432 meets a value that is still held}}
  %new_param, %new_state = llm.muon %0, %arg1, %arg2 state(%0) {llm.offsets = array<i64: 66048, 82432>, llm.workspace = array<i64: 0, 65796>, momentum = 9.000000e-01 : f64, weight_decay = 1.000000e-01 : f64} : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<f32>, tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>)
  return %new_param, %new_state : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

func.func @stated(%arg0: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 768 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 256 meets a value that is still held}}
  %1 = "test.op"(%0, %0) {llm.cost = #llm.cost<flops = 0, bytes = 0, ns = 1, workspace = 0>, llm.in_place = [array<i64: 0>], llm.offsets = array<i64: 0>, llm.pure} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

func.func @adafactor(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>, %arg2: tensor<f32>, %arg3: tensor<i32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 532 : i64, llm.peak = 1308 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 256 meets a value that is still held}}
  %new_param, %new_state = llm.adafactor %0, %arg1, %arg2 step(%arg3) state(%0) {beta2_decay = -8.000000e-01 : f64, eps = 9.9999999999999995E-8 : f64, llm.offsets = array<i64: 0, 256>, llm.workspace = array<i64: 512, 20>, weight_decay = 0.000000e+00 : f64} : (tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<i32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  return %new_param, %new_state : tensor<64xf32>, tensor<64xf32>
}

// -----

func.func @cached_scan(%arg0: tensor<1x1x1x4xf32>, %arg1: tensor<1x1x1x1xf32>, %arg2: tensor<1x1x1xf32>, %arg3: tensor<1x1xi32>) -> (tensor<1x1x1x4xf32>, tensor<1x1x1x4xf32>) attributes {llm.arena = 272 : i64, llm.peak = 76 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<1x1x1x4xf32>
  // expected-error @below {{[overlap] result 1 at bytes 0 to 16 meets a value that is still held}}
  %y, %new_state = llm.cached_scan %arg1, %arg1, %0 decay(%arg2) strength(%arg2) state(%0) at(%arg3) {llm.offsets = array<i64: 256, 0>} : (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x4xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1x4xf32>, tensor<1x1xi32>) -> (tensor<1x1x1x4xf32>, tensor<1x1x1x4xf32>)
  return %y, %new_state : tensor<1x1x1x4xf32>, tensor<1x1x1x4xf32>
}

// -----

func.func @scale_columns(%arg0: tensor<1x64xf32>) -> tensor<1x64xf32> attributes {llm.arena = 256 : i64, llm.peak = 768 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %arg0 {llm.offsets = array<i64: 0>} : tensor<1x64xf32>
  %1 = llm.reshape %0 {llm.offsets = array<i64: 0>} : tensor<1x64xf32> -> tensor<64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 256 meets a value that is still held}}
  %2 = llm.scale_columns %0, %1 {llm.offsets = array<i64: 0>} : tensor<1x64xf32>, tensor<64xf32>
  return %2 : tensor<1x64xf32>
}
