// A kernel with enough work shares its pieces out among threads: what the loop reads travels in one struct, constants
// are made inside. A small kernel stays a plain loop.
//
// RUN: llmmem-opt --convert-step-to-kernels %s | FileCheck %s --check-prefix=LOOP
// RUN: llmmem-opt --convert-step-to-kernels --outline-parallel-loops --canonicalize %s | FileCheck %s

func.func @step(%x: tensor<300x1001xf32>, %s: tensor<48xf32>) -> (tensor<300x1001xf32>, tensor<48xf32>)
    attributes {llm.arena = 1201664 : i64} {
  %y = llm.silu %x {llm.offsets = array<i64: 0>} : tensor<300x1001xf32>
  %t = llm.silu %s {llm.offsets = array<i64: 1201408>} : tensor<48xf32>
  return %y, %t : tensor<300x1001xf32>, tensor<48xf32>
}

// LOOP-LABEL: func.func private @kernel_0_silu
// LOOP: scf.forall (%[[PIECE:.*]]) in (74)
// LOOP: scf.for %{{.*}} step %c16
// The last 12 elements.
// LOOP: scf.for %{{.*}} step %c1
// LOOP-LABEL: func.func private @kernel_1_silu
// LOOP-NOT: scf.forall

// CHECK-LABEL: func.func private @kernel_0_silu(
// CHECK-SAME: %[[X:.*]]: memref<300300xf32>, %[[Y:.*]]: memref<300300xf32>)
// CHECK-DAG: %[[COUNT:.*]] = llvm.mlir.constant(74 : i64)
// CHECK-DAG: %[[CONTEXT:.*]] = llvm.alloca {{.*}} x !llvm.struct<(ptr, ptr)>
// CHECK-DAG: %[[ITERATIONS:.*]] = constant @kernel_0_silu_iterations_0
// CHECK-DAG: %[[POINTER:.*]] = builtin.unrealized_conversion_cast %[[ITERATIONS]]
// CHECK: call @llmmem_parallel_for(%[[COUNT]], %[[POINTER]], %[[CONTEXT]])

// CHECK-LABEL: func.func private @kernel_0_silu_iterations_0(
// CHECK-SAME: %[[FROM:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// CHECK-DAG: arith.constant dense<1.000000e+00> : vector<16xf32>
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %[[FROM]][0, 0]
// CHECK: llvm.load %[[FIELD]]
// CHECK: scf.for
