// Starts run one after another, so one waits for none: it reads what another has not given yet, and takes over its bytes.
// A group of one rank is not started.
// RUN: llmmem-opt --start-collectives --verify-plan %s | FileCheck %s

func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 768 : i64, llm.mesh = #llm.mesh<dp = 2, tp = 2, pp = 1>, llm.peak = 768 : i64} {
  // CHECK: %[[A:.*]] = llm.all_reduce %{{.*}} over ["tp"] {{.*}}llm.started
  %a = llm.all_reduce %x over ["tp"] {llm.offsets = array<i64: 0>, llm.workspace = array<i64: 256, 256>} : tensor<64xf32>
  // CHECK-NEXT: %[[B:.*]] = llm.all_reduce %[[A]] over ["dp"] {{.*}}llm.started
  %b = llm.all_reduce %a over ["dp"] {llm.offsets = array<i64: 0>, llm.workspace = array<i64: 256, 256>} : tensor<64xf32>
  // CHECK-NEXT: llm.all_reduce %{{.*}} over ["pp"] {llm.offsets = array<i64: 512>}
  %c = llm.all_reduce %x over ["pp"] {llm.offsets = array<i64: 512>} : tensor<64xf32>
  // CHECK-NEXT: llm.wait %[[A]]
  // CHECK-NEXT: %[[DONE:.*]] = llm.wait %[[B]]
  // CHECK-NEXT: return %[[DONE]]
  return %b, %c : tensor<64xf32>, tensor<64xf32>
}
