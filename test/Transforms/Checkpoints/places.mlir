// Each result of each run lies where the plan names its place, whatever the order of the entries; so does the workspace of the norm. A view lies
// where what it looks at lies, and the update in its argument.
// RUN: llmmem-opt --apply-checkpoints --verify-plan %s | FileCheck %s

// CHECK: llm.arena = 8196 : i64, llm.peak = 10244 : i64
// CHECK-NOT: llm.places
// CHECK: llm.gelu {{.*}}llm.id = 0 : i64, llm.offsets = array<i64: 0>
// CHECK-NEXT: llm.reshape {{.*}}llm.offsets = array<i64: 0>
// CHECK-NEXT: llm.silu {{.*}}llm.offsets = array<i64: 2048>
// CHECK-NEXT: llm.gelu {{.*}}llm.instance = 1 : i64, llm.offsets = array<i64: 4096>
// CHECK-NEXT: llm.reshape {{.*}}llm.offsets = array<i64: 2048>
// CHECK-NEXT: llm.mul {{.*}}llm.offsets = array<i64: 6144>
// CHECK-NEXT: llm.global_norm {{.*}}llm.offsets = array<i64: 8192>, llm.workspace = array<i64: 0, 4>
// CHECK-NEXT: llm.sgd {{.*}}llm.offsets = array<i64: -1>
func.func @step(%x: tensor<8x64xf32>, %p: tensor<8x64xf32> {llm.donated = 1 : i64}, %lr: tensor<f32>) -> (tensor<f32>, tensor<8x64xf32>) attributes {
    llm.places = [#llm.place<op = 3, instance = 0, result = 0, bytes = 4, offset = 8192>,
                  #llm.place<op = 3, instance = 0, bytes = 4, offset = 0>,
                  #llm.place<op = 0, instance = 1, result = 0, bytes = 2048, offset = 4096>,
                  #llm.place<op = 0, instance = 0, result = 0, bytes = 2048, offset = 0>,
                  #llm.place<op = 1, instance = 0, result = 0, bytes = 2048, offset = 2048>,
                  #llm.place<op = 2, instance = 0, result = 0, bytes = 2048, offset = 6144>],
    llm.schedule = array<i64: 0, 1, 0, 2, 3, 4>} {
  %a = llm.gelu %x {llm.id = 0 : i64} : tensor<8x64xf32>
  %v = llm.reshape %a : tensor<8x64xf32> -> tensor<512xf32>
  %b = llm.silu %v {llm.id = 1 : i64} : tensor<512xf32>
  %w = llm.reshape %b : tensor<512xf32> -> tensor<8x64xf32>
  %c = llm.mul %w, %a {llm.id = 2 : i64} : tensor<8x64xf32>
  %n = llm.global_norm %c {llm.id = 3 : i64} : (tensor<8x64xf32>) -> tensor<f32>
  %p1 = llm.sgd %p, %c, %lr {llm.id = 4 : i64, weight_decay = 0.0 : f64} : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  return %n, %p1 : tensor<f32>, tensor<8x64xf32>
}
