// Philox draws four numbers at a time, and a thread's vector of bf16 takes eight: they stay in registers.
// RUN: llmmem-opt %s --target=cuda --chip=sm_80 | %ptx print | FileCheck %s
//
// CHECK-LABEL: .entry kernel_0_dropout_kernel
// CHECK-NOT: .local
// CHECK: mul.wide.u32
// CHECK-NOT: .local
// CHECK: st.global.v4.b32
// CHECK-NOT: .local
func.func @step(%h: tensor<1024xbf16>, %seed: tensor<2xi32>) -> tensor<1024xbf16> attributes {llm.arena = 2048 : i64} {
  %d = llm.dropout %h, %seed {p = 0.1 : f64, key = 7 : i64, llm.offsets = array<i64: 0>} : tensor<1024xbf16>, tensor<2xi32>
  return %d : tensor<1024xbf16>
}
