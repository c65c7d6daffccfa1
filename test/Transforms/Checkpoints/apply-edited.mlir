// What was done to a step between plan-checkpoints and apply-checkpoints is found, and named, at the op.
// RUN: llmmem-opt --plan-checkpoints=policy=none %s -o %t.planned
// RUN: llmmem-opt --apply-checkpoints --verify-plan %t.planned -o /dev/null
// RUN: sed 's/^\( *\)return/\1%new = llm.gelu %arg0 : tensor<64xf32>\n&/' %t.planned > %t.added
// RUN: not llmmem-opt --apply-checkpoints %t.added 2>&1 | FileCheck %s --check-prefix=ADDED
// RUN: sed 's/^\( *\)return/\1%new = llm.gelu %arg0 {llm.id = 0 : i64} : tensor<64xf32>\n&/' %t.planned > %t.doubled
// RUN: not llmmem-opt --apply-checkpoints %t.doubled 2>&1 | FileCheck %s --check-prefix=DOUBLED
// RUN: sed -e '/llm.silu/d' -e 's/llm.mul %0, %1/llm.mul %0, %0/' %t.planned > %t.removed
// RUN: not llmmem-opt --apply-checkpoints %t.removed 2>&1 | FileCheck %s --check-prefix=REMOVED
// RUN: sed -e '/llm.mul/d' -e 's/return %2/return %1/' %t.planned > %t.last
// RUN: not llmmem-opt --apply-checkpoints %t.last 2>&1 | FileCheck %s --check-prefix=LAST
// RUN: sed 's/xf32/xf64/g' %t.planned > %t.larger
// RUN: not llmmem-opt --apply-checkpoints %t.larger 2>&1 | FileCheck %s --check-prefix=LARGER

// ADDED: error: has no 'llm.id', by which a schedule names it; the step was edited after plan-checkpoints: plan it again
// DOUBLED: error: has 'llm.id' = 0, which another op has; the step was edited after plan-checkpoints: plan it again
// REMOVED: error: has 'llm.id' = 2, but no op has 1; the step was edited after plan-checkpoints: plan it again
// LAST: error: 'llm.schedule' names op 2, but the step has 2; the step was edited after plan-checkpoints: plan it again
// LARGER: error: 'llm.places' has a place of 256 bytes for result 0 of run 0 of op 0, which has 512; the step was edited after plan-checkpoints: plan it again
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = llm.gelu %x : tensor<64xf32>
  %1 = llm.silu %0 : tensor<64xf32>
  %2 = llm.mul %0, %1 : tensor<64xf32>
  return %2 : tensor<64xf32>
}
