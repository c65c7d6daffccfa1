// Kernels that a plan has for a library are one call of it: the pre-activation of an activation is aux, handed out or read;
// a residual is what the product is added to. A run whose aux nobody reads makes the same call, so that it has the same bits.
//
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu products=library" %s | FileCheck %s
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu" %s | FileCheck %s --check-prefix=GENERATED --implicit-check-not=llm.library_product
// RUN: llmmem-opt --target=cuda --products=library %s | FileCheck %s --check-prefix=HOST

!x = tensor<64x16xbf16>
!w = tensor<16x32xbf16>
!v = tensor<32x16xbf16>
!h = tensor<64x32xbf16>
func.func @step(%x: !x, %w: !w, %b: tensor<32xbf16>, %v: !v, %c: tensor<16xbf16>, %dy: !x) -> (!x, !h)
    attributes {llm.arena = 65536 : i64} {
  %h, %a = llm.kernel(%i = %x, %m = %w, %n = %b) : (!x, !w, tensor<32xbf16>) -> (!h, !h) {
    %p = llm.linear %i, %m bias(%n) layout(in_out) : (!x, !w, tensor<32xbf16>) -> !h
    %g = llm.gelu %p : !h
    llm.yield %p, %g : !h, !h
  } attributes {llm.offsets = array<i64: 0, 4096>, llm.library_workspace = 1024 : i64, llm.workspace = array<i64: 8192, 1024>}
  %h2, %a2 = llm.kernel(%i = %x, %m = %w, %n = %b) : (!x, !w, tensor<32xbf16>) -> (!h, !h) {
    %p = llm.linear %i, %m bias(%n) layout(in_out) : (!x, !w, tensor<32xbf16>) -> !h
    %g = llm.gelu %p : !h
    llm.yield %p, %g : !h, !h
  } attributes {llm.offsets = array<i64: 12288, 16384>, llm.library_workspace = 1024 : i64, llm.workspace = array<i64: 8192, 1024>}
  %s = llm.kernel(%i = %a2, %m = %v, %n = %c, %r = %x) : (!h, !v, tensor<16xbf16>, !x) -> !x {
    %p = llm.linear %i, %m bias(%n) layout(in_out) : (!h, !v, tensor<16xbf16>) -> !x
    %g = llm.add %r, %p : !x
    llm.yield %g : !x
  } attributes {llm.offsets = array<i64: 20480>, llm.library_workspace = 1024 : i64, llm.workspace = array<i64: 8192, 1024>}
  %dh = llm.kernel(%i = %dy, %m = %v, %k = %h) : (!x, !v, !h) -> !h {
    %p = llm.linear %i, %m layout(out_in) : (!x, !v) -> !h
    %g = llm.gelu_grad %k, %p : !h
    llm.yield %g : !h
  } attributes {llm.offsets = array<i64: 24576>, llm.library_workspace = 1024 : i64, llm.workspace = array<i64: 8192, 1024>}
  return %s, %dh : !x, !h
}

// CHECK-LABEL: func.func private @kernel_0_linear_gelu(
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<1024xbf16>, %[[W:[a-z0-9]*]]: memref<512xbf16>, %[[B:[a-z0-9]*]]: memref<32xbf16>, %[[H:[a-z0-9]*]]: memref<2048xbf16>, %[[A:[a-z0-9]*]]: memref<2048xbf16>, %{{.*}}: memref<1024xi8>)
// CHECK: llm.library_product %[[X]][%{{.*}}], %[[W]][%{{.*}}], %[[A]][%{{.*}}] bias(%[[B]] : memref<32xbf16>) aux(%[[H]] : memref<2048xbf16>) workspace(
// CHECK-SAME: a = #llm.matrix<pitch = 16>, b = #llm.matrix<pitch = 32>, c = #llm.matrix<pitch = 32>, columns = 32 : i64, epilogue = 3 : i64
// CHECK-NOT: gpu.launch

// CHECK-LABEL: func.func private @kernel_1_linear_gelu(
// CHECK: aux(
// CHECK-SAME: epilogue = 3 : i64
// CHECK-NOT: gpu.launch

// CHECK-LABEL: func.func private @kernel_2_linear_add(
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<2048xbf16>, %[[W:[a-z0-9]*]]: memref<512xbf16>, %[[B:[a-z0-9]*]]: memref<16xbf16>, %[[R:[a-z0-9]*]]: memref<1024xbf16>, %[[S:[a-z0-9]*]]: memref<1024xbf16>, %{{.*}}: memref<1024xi8>)
// CHECK: llm.library_product %[[X]][%{{.*}}], %[[W]][%{{.*}}], %[[S]][%{{.*}}] initial(%[[R]][%{{.*}}] : memref<1024xbf16>) bias(%[[B]] : memref<16xbf16>)
// CHECK-SAME: epilogue = 1 : i64, initial = #llm.matrix<pitch = 16>
// CHECK-NOT: gpu.launch

// CHECK-LABEL: func.func private @kernel_3_linear_gelu_grad(
// CHECK-SAME: %[[DY:[a-z0-9]*]]: memref<1024xbf16>, %[[W:[a-z0-9]*]]: memref<512xbf16>, %[[H:[a-z0-9]*]]: memref<2048xbf16>, %[[DH:[a-z0-9]*]]: memref<2048xbf16>, %{{.*}}: memref<1024xi8>)
// CHECK: llm.library_product %[[DY]][%{{.*}}], %[[W]][%{{.*}}], %[[DH]][%{{.*}}] aux(%[[H]] : memref<2048xbf16>)
// CHECK-SAME: b = #llm.matrix<pitch = 16, transposed = true>
// CHECK-SAME: epilogue = 4 : i64
// CHECK-NOT: gpu.launch
// CHECK: func.func private @kernel_4_copy(

// GENERATED-COUNT-4: gpu.launch
// HOST-COUNT-4: call @llmmem_cuda_multiply(
