// RUN: llmmem-opt --plan-checkpoints=policy=none --apply-checkpoints --verify-plan --report-memory \
// RUN:   --remarks-filter-analyse='llmmem.*' --verify-diagnostics %s

// The forward leaves %0 (256 bytes) to the backward. Resident: 256 of %x, 256 of %dy.
// expected-remark @below {{arena | Category:llmmem-memory | Bytes=512}}
// expected-remark @below {{resident}}
// expected-remark @below {{saved | Category:llmmem-memory | Bytes=256}}
// expected-remark @below {{saved-block | Category:llmmem-memory | Block=0, Bytes=256}}
// expected-remark @below {{recompute | Category:llmmem-memory | Flops=0, Ops=0}}
func.func @step(%x: tensor<64xf32>, %dy: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = llm.gelu %x {llm.phase = "forward", llm.block = 0 : i64} : tensor<64xf32>
  // expected-remark @below {{peak}}
  %1 = llm.silu %0 {llm.phase = "forward", llm.block = 0 : i64} : tensor<64xf32>
  %2 = llm.silu_grad %0, %dy {llm.phase = "backward", llm.block = 0 : i64} : tensor<64xf32>
  return %1, %2 : tensor<64xf32>, tensor<64xf32>
}
