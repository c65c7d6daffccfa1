// The step alone is annotated, alone or among other functions, and in a pipeline that nests.
// RUN: llmmem-opt --annotate-memory %s | FileCheck %s --implicit-check-not=llm.bytes
// RUN: llmmem-opt --pass-pipeline='builtin.module(func.func(annotate-memory))' %s | FileCheck %s --implicit-check-not=llm.bytes

// CHECK-LABEL: func.func private @helper
// CHECK-NEXT: llm.gelu %{{.*}} : tensor<4xf32>
func.func private @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = llm.gelu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @step
// CHECK-NEXT: llm.gelu {{.*}}llm.bytes
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = llm.gelu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Not straight-line code, and no business of the pass.
// CHECK-LABEL: func.func private @branches
func.func private @branches(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  return %x : tensor<4xf32>
}
