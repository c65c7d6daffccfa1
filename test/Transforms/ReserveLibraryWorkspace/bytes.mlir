// A product has the workspace of the device table, but no more than a quarter of its operands and results: 128 x 64 by
// 64 x 96 in bf16 holds 53,248 bytes and gets 13,312. A table without the entry gives nothing.
// RUN: llmmem-opt --reserve-library-workspace %s | FileCheck %s
// RUN: llmmem-opt --reserve-library-workspace=device=h200 %s | FileCheck %s
// RUN: llmmem-opt --reserve-library-workspace=device=a100 %s | FileCheck %s --check-prefix=A100
// RUN: llmmem-opt --reserve-library-workspace=device=cpu %s | FileCheck %s --check-prefix=CPU

// CPU-NOT: llm.library_workspace
func.func @step(%x: tensor<128x64xbf16>, %w: tensor<64x96xbf16>, %d: tensor<128x96xbf16>,
                %h: tensor<8192x4096xbf16>, %v: tensor<4096x4096xbf16>, %p: tensor<64x64xf64>) {
  // CHECK: llm.linear {{.*}} {llm.library_workspace = 13312 : i64}
  // A100: llm.linear {{.*}} {llm.library_workspace = 13312 : i64}
  %y = llm.linear %x, %w layout(in_out) : (tensor<128x64xbf16>, tensor<64x96xbf16>) -> tensor<128x96xbf16>
  // CHECK: llm.linear_weight_grad {{.*}} {llm.library_workspace = 13312 : i64}
  %g = llm.linear_weight_grad %x, %d layout(in_out) : (tensor<128x64xbf16>, tensor<128x96xbf16>) -> tensor<64x96xbf16>
  // CHECK: llm.linear {{.*}} {llm.library_workspace = 33554432 : i64}
  // A100: llm.linear {{.*}} {llm.library_workspace = 4194304 : i64}
  %z = llm.linear %h, %v layout(in_out) : (tensor<8192x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<8192x4096xbf16>
  // No library multiplies f64, and no element needs one.
  // CHECK: llm.linear
  // CHECK-NOT: llm.library_workspace
  %q = llm.linear %p, %p layout(in_out) : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  %a = llm.gelu %h : tensor<8192x4096xbf16>
  return
}
