// The library overwrites a bias's gradient, so one that goes on from a sum so far has 256 bytes of the plan more, before the
// library's own; a plan without them is refused. The sums go on in place.
//
// RUN: llmmem-opt --checkpoint-policy=none --epilogues=fused --products=library %s -o %t.step 2> /dev/null
// RUN: FileCheck %s < %t.step
// RUN: sed 's/llm.workspace = array<i64: 0, 2048>/llm.workspace = array<i64: 0, 1792>/' %t.step | not llmmem-opt --verify-plan 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: llmmem-opt --checkpoint-policy=none --epilogues=separate --products=library %s 2> /dev/null | FileCheck %s --check-prefix=SEPARATE
//
// CHECK: llm.arena = 3072 : i64
// CHECK: llm.linear_weight_grad
// CHECK-NEXT: llm.sum_rows %{{.*}} into(%{{.*}})
// CHECK: llm.library_workspace = 1792 : i64, llm.offsets = array<i64: 2048, -1>, {{.*}}llm.workspace = array<i64: 0, 2048>
// REFUSED: error: [workspace] needs 'llm.workspace' = [offset, 2048] inside the arena
// SEPARATE-NOT: llm.kernel
func.func @step(%x: tensor<64x16xbf16>, %dy: tensor<64x32xbf16>, %gb: tensor<32xbf16> {llm.donated = 1 : i64}) -> (tensor<16x32xbf16>, tensor<32xbf16>) {
  %dw = llm.linear_weight_grad %x, %dy layout(in_out) : (tensor<64x16xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
  %db = llm.sum_rows %dy into(%gb) : (tensor<64x32xbf16>, tensor<32xbf16>) -> tensor<32xbf16>
  return %dw, %db : tensor<16x32xbf16>, tensor<32xbf16>
}
