// Stages send and receive while they compute. What only sends has no result: its wait stands before the first op that overwrites
// what is sent, and the n-th of them is for the n-th such start. What is received comes as early as its bytes are free.
// RUN: llmmem-opt --start-collectives --verify-plan %s | FileCheck %s
// RUN: llmmem-opt --start-collectives --canonicalize --cse --verify-plan %s | FileCheck %s

// CHECK-LABEL: func.func @stage0(
func.func @stage0(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 1024 : i64, llm.mesh = #llm.mesh<pp = 2>, llm.peak = 1024 : i64, llm.stage = 0 : i64} {
  // CHECK-NEXT: %[[A:.*]] = llm.gelu
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // CHECK-NEXT: llm.exchange(%[[A]]) {{.*}}llm.started
  llm.exchange(%a) over ["pp"] {from = array<i64>, to = array<i64: 1>, llm.offsets = array<i64>} : (tensor<64xf32>) -> ()
  // CHECK-NEXT: %[[B:.*]] = llm.silu
  %b = llm.silu %x {llm.offsets = array<i64: 256>} : tensor<64xf32>
  // CHECK-NEXT: llm.exchange(%[[B]]) {{.*}}llm.started
  llm.exchange(%b) over ["pp"] {from = array<i64>, to = array<i64: 1>, llm.offsets = array<i64>} : (tensor<64xf32>) -> ()
  // CHECK-NEXT: %[[C:.*]] = llm.exchange() {{.*}}llm.started
  // CHECK-NEXT: llm.wait {llm.offsets = array<i64>}
  // CHECK-NEXT: llm.gelu {{.*}}array<i64: 0>
  %d = llm.gelu %b {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %c = llm.exchange() over ["pp"] {from = array<i64: 1>, to = array<i64>, llm.offsets = array<i64: 512>} : () -> tensor<64xf32>
  // CHECK-NEXT: llm.wait {llm.offsets = array<i64>}
  // CHECK-NEXT: %[[THERE:.*]] = llm.wait %[[C]]
  // CHECK-NEXT: llm.add %{{.*}}, %[[THERE]]
  %e = llm.add %d, %c {llm.offsets = array<i64: 768>} : tensor<64xf32>
  return %e : tensor<64xf32>
}
