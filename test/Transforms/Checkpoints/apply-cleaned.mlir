// An op keeps its number wherever it stands, so a plan holds for a step that was cleaned up, whose equal ops were not merged, and for one whose
// ops were moved.
// RUN: llmmem-opt --plan-checkpoints=policy=none %s -o %t.planned
// RUN: llmmem-opt --apply-checkpoints --verify-plan %t.planned -o %t.step
// RUN: llmmem-opt --cse --canonicalize --apply-checkpoints %t.planned -o %t.cleaned
// RUN: diff %t.step %t.cleaned
// RUN: sed -n '/llm.id = 2 : i64/p' %t.planned > %t.third
// RUN: sed -e '/llm.id = 2 : i64/d' -e '/func.func/r %t.third' %t.planned > %t.moved
// RUN: not diff %t.planned %t.moved
// RUN: llmmem-opt --apply-checkpoints %t.moved -o %t.again
// RUN: diff %t.step %t.again

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = llm.gelu %x : tensor<64xf32>
  %1 = llm.silu %0 : tensor<64xf32>
  %2 = llm.gelu %x : tensor<64xf32>
  %3 = llm.mul %1, %2 : tensor<64xf32>
  return %3 : tensor<64xf32>
}
