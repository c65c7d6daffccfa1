// As one-after-another.mlir, where the bytes that a start takes over are an argument's: the first one's wait, after it, reads none of them.
// RUN: llmmem-opt --start-collectives --verify-plan %s | FileCheck %s

func.func @step(%g: tensor<64xf32> {llm.donated = 0 : i64}) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.mesh = #llm.mesh<dp = 2, tp = 2>, llm.peak = 512 : i64} {
  // CHECK: %[[A:.*]] = llm.all_reduce %{{.*}} over ["tp"] {{.*}}llm.started
  %a = llm.all_reduce %g over ["tp"] {llm.offsets = array<i64: -1>, llm.workspace = array<i64: 0, 256>} : tensor<64xf32>
  // CHECK-NEXT: %[[B:.*]] = llm.all_reduce %[[A]] over ["dp"] {{.*}}llm.started
  %b = llm.all_reduce %a over ["dp"] {llm.offsets = array<i64: -1>, llm.workspace = array<i64: 0, 256>} : tensor<64xf32>
  // CHECK-NEXT: llm.wait %[[A]]
  // CHECK-NEXT: %[[DONE:.*]] = llm.wait %[[B]]
  // CHECK-NEXT: return %[[DONE]]
  return %b : tensor<64xf32>
}
