// An op keeps its number wherever it stands, so a plan holds for a step whose equal ops were to be merged, and whose ops stand in another order.
// RUN: llmmem-opt --plan-checkpoints=policy=none %s -o %t.planned
// RUN: llmmem-opt --cse --canonicalize --apply-checkpoints --verify-plan %t.planned -o %t.cleaned
// RUN: llmmem-opt --apply-checkpoints %t.planned -o %t.step
// RUN: diff %t.step %t.cleaned
// RUN: sed -n 's/%2 = \(llm.gelu %arg0.*\)/%2 = \1/p' %t.planned | grep -q 'llm.id = 2'
// RUN: sed -e '/%2 = llm.gelu/{h;d}' -e '/%0 = llm.gelu/{x;G}' %t.planned > %t.moved
// RUN: llmmem-opt --apply-checkpoints --verify-plan %t.planned -o %t.again
// RUN: diff %t.step %t.again

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = llm.gelu %x : tensor<64xf32>
  %1 = llm.silu %0 : tensor<64xf32>
  %2 = llm.gelu %x : tensor<64xf32>
  %3 = llm.mul %1, %2 : tensor<64xf32>
  return %3 : tensor<64xf32>
}
