// The gradients of a weight and a bias in one kernel for a library are one call: it sums the rows of B (in_out) or A (out_in).
// Where the bias's gradient goes on from a sum so far, the call's sum goes to the workspace, before the library's own, and one
// launch adds it; else the call writes it in its place. Without a library they are the launches of the ops apart.
//
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu products=library" %s | FileCheck %s
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu" %s | FileCheck %s --check-prefix=GENERATED --implicit-check-not=llm.library_product
// RUN: llmmem-opt --target=cuda --products=library %s | FileCheck %s --check-prefix=HOST

!x = tensor<64x16xbf16>
!y = tensor<64x200xbf16>
!b = tensor<200xbf16>
!w = tensor<16x200xbf16>
!v = tensor<200x16xbf16>
func.func @step(%x: !x, %dy: !y, %gw: !w, %gb: !b) -> (!w, !b, !v, !b) attributes {llm.arena = 65536 : i64} {
  %dw, %db = llm.kernel(%i = %x, %d = %dy, %s = %gw, %t = %gb) : (!x, !y, !w, !b) -> (!w, !b) {
    %p = llm.linear_weight_grad %i, %d into(%s) layout(in_out) : (!x, !y, !w) -> !w
    %r = llm.sum_rows %d into(%t) : (!y, !b) -> !b
    llm.yield %p, %r : !w, !b
  } attributes {llm.offsets = array<i64: 0, 8192>, llm.library_workspace = 1024 : i64, llm.workspace = array<i64: 16384, 1536>}
  %dv, %dc = llm.kernel(%i = %x, %d = %dy) : (!x, !y) -> (!v, !b) {
    %p = llm.linear_weight_grad %i, %d layout(out_in) : (!x, !y) -> !v
    %r = llm.sum_rows %d : (!y) -> !b
    llm.yield %p, %r : !v, !b
  } attributes {llm.offsets = array<i64: 20480, 28672>, llm.library_workspace = 1024 : i64, llm.workspace = array<i64: 16384, 1024>}
  return %dw, %db, %dv, %dc : !w, !b, !v, !b
}

// CHECK-LABEL: func.func private @kernel_0_linear_weight_grad_sum_rows(
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<1024xbf16>, %[[DY:[a-z0-9]*]]: memref<12800xbf16>, %[[GW:[a-z0-9]*]]: memref<3200xbf16>, %[[GB:[a-z0-9]*]]: memref<200xbf16>, %[[DW:[a-z0-9]*]]: memref<3200xbf16>, %[[DB:[a-z0-9]*]]: memref<200xbf16>, %[[BYTES:[a-z0-9]*]]: memref<1536xi8>)
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C512:.*]] = arith.constant 512 : index
// CHECK-DAG: %[[SUM:.*]] = memref.view %[[BYTES]][%[[C0]]][] : memref<1536xi8> to memref<200xbf16>
// CHECK-DAG: %[[OWN:.*]] = memref.view %[[BYTES]][%[[C512]]][] : memref<1536xi8> to memref<1024xi8>
// CHECK: llm.library_product %[[X]][%{{.*}}], %[[DY]][%{{.*}}], %[[DW]][%{{.*}}] initial(%[[GW]][%{{.*}}] : memref<3200xbf16>) bias(%[[SUM]] : memref<200xbf16>) workspace(%[[OWN]] : memref<1024xi8>)
// CHECK-SAME: a = #llm.matrix<pitch = 16, transposed = true>, b = #llm.matrix<pitch = 200>
// CHECK-SAME: epilogue = 6 : i64
// CHECK: gpu.launch
// CHECK: vector.load %[[GB]]
// CHECK: vector.load %[[SUM]]
// CHECK: vector.store %{{.*}}, %[[DB]]
// CHECK-NOT: gpu.launch

// CHECK-LABEL: func.func private @kernel_1_linear_weight_grad_sum_rows(
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<1024xbf16>, %[[DY:[a-z0-9]*]]: memref<12800xbf16>, %[[DW:[a-z0-9]*]]: memref<3200xbf16>, %[[DB:[a-z0-9]*]]: memref<200xbf16>, %{{[a-z0-9]*}}: memref<1024xi8>)
// CHECK: llm.library_product %[[DY]][%{{.*}}], %[[X]][%{{.*}}], %[[DW]][%{{.*}}] bias(%[[DB]] : memref<200xbf16>) workspace(
// CHECK-SAME: a = #llm.matrix<pitch = 200, transposed = true>, b = #llm.matrix<pitch = 16>
// CHECK-SAME: epilogue = 7 : i64
// CHECK-NOT: gpu.launch
// CHECK: func.func private @kernel_2_copy(

// GENERATED-LABEL: func.func private @kernel_0_linear_weight_grad_sum_rows(
// GENERATED-COUNT-2: gpu.launch
// GENERATED-NOT: gpu.launch
// GENERATED: func.func private @kernel_1_linear_weight_grad_sum_rows(
// GENERATED-COUNT-2: gpu.launch

// HOST-COUNT-2: call @llmmem_cuda_multiply(
