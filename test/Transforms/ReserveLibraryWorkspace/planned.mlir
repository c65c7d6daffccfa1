// The workspace is part of the plan: it has a place, counts in the peak, and a plan without it is refused. Under the same
// policy nothing else changes.
// RUN: llmmem-opt --checkpoint-policy=none %s -o %t.bare
// RUN: llmmem-opt --checkpoint-policy=none --products=library %s -o %t.step
// RUN: FileCheck %s --check-prefix=BARE < %t.bare
// RUN: FileCheck %s < %t.step
// RUN: sed 's/, llm.workspace = array<i64: 24576, 13312>//' %t.step | not llmmem-opt --verify-plan 2>&1 | FileCheck %s --check-prefix=GONE
// RUN: llmmem-opt --checkpoint-policy=none --checkpoint-device=cpu %s -o %t.cpu
// RUN: llmmem-opt --checkpoint-policy=none --checkpoint-device=cpu --products=library %s | diff - %t.cpu

// BARE: llm.arena = 24576 : i64
// BARE-NOT: llm.library_workspace
// CHECK: llm.arena = 37888 : i64
// CHECK: llm.linear {{.*}}llm.library_workspace = 13312 : i64{{.*}}llm.workspace = array<i64: 24576, 13312>
// GONE: error: [workspace] needs 'llm.workspace' = [offset, 13312] inside the arena
func.func @step(%x: tensor<128x64xbf16>, %w: tensor<64x96xbf16>) -> tensor<128x96xbf16> {
  %y = llm.linear %x, %w layout(in_out) : (tensor<128x64xbf16>, tensor<64x96xbf16>) -> tensor<128x96xbf16>
  return %y : tensor<128x96xbf16>
}
