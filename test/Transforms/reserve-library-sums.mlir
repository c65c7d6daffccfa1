// Sums over ranks are left to a library that has memory of its own, and lose their workspace; a broadcast has none.
// RUN: llmmem-opt --pass-pipeline='builtin.module(func.func(reserve-library-workspace{matmuls=false sums=true},annotate-memory))' %s | FileCheck %s
// RUN: llmmem-opt --pass-pipeline='builtin.module(func.func(annotate-memory))' %s | FileCheck %s --check-prefix=MPI

// CHECK: llm.all_reduce {{.*}}workspace = 0>{{.*}}llm.library_workspace = 0 : i64
// CHECK: llm.reduce_scatter {{.*}}workspace = 0>{{.*}}llm.library_workspace = 0 : i64
// CHECK-NOT: library_workspace
// MPI: llm.all_reduce {{.*}}workspace = 64>
// MPI: llm.reduce_scatter {{.*}}workspace = 64>
func.func @step(%x: tensor<16xf32>) -> (tensor<8xf32>, tensor<16xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  %sum = llm.all_reduce %x over ["dp"] : tensor<16xf32>
  %part = llm.reduce_scatter %sum over ["dp"] {dimension = 0 : i64} : (tensor<16xf32>) -> tensor<8xf32>
  %y = llm.broadcast %sum over ["dp"] {root = 0 : i64} : tensor<16xf32>
  return %part, %y : tensor<8xf32>, tensor<16xf32>
}
