// With products=library the host function of a product asks the library instead of launching a kernel, in the workspace that
// the plan gave it. What the library cannot do stays a launch.
//
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu products=library" %s | FileCheck %s
// RUN: llmmem-opt --target=cuda --products=library %s | FileCheck %s --check-prefix=HOST

func.func @step(%x: tensor<128x64xbf16>, %w: tensor<96x64xbf16>, %b: tensor<96xbf16>, %dw: tensor<96x64xbf16> {llm.donated = 1 : i64},
                %d: tensor<8x8xf64>) -> (tensor<128x96xbf16>, tensor<96x64xbf16>, tensor<8x8xf64>)
    attributes {llm.arena = 65536 : i64} {
  %y = llm.linear %x, %w bias(%b) layout(out_in)
      {llm.offsets = array<i64: 0>, llm.library_workspace = 4096 : i64, llm.workspace = array<i64: 32768, 4096>}
    : (tensor<128x64xbf16>, tensor<96x64xbf16>, tensor<96xbf16>) -> tensor<128x96xbf16>
  %g = llm.linear_weight_grad %x, %y into(%dw) layout(out_in) {llm.offsets = array<i64: -1>}
    : (tensor<128x64xbf16>, tensor<128x96xbf16>, tensor<96x64xbf16>) -> tensor<96x64xbf16>
  %e = llm.linear %d, %d layout(in_out) {llm.offsets = array<i64: 40960>} : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
  return %y, %g, %e : tensor<128x96xbf16>, tensor<96x64xbf16>, tensor<8x8xf64>
}

// CHECK-LABEL: func.func private @kernel_0_linear(
// CHECK-SAME: %[[X:.*]]: memref<8192xbf16>, %[[W:.*]]: memref<6144xbf16>, %[[B:.*]]: memref<96xbf16>, %[[Y:.*]]: memref<12288xbf16>, %[[S:.*]]: memref<4096xi8>)
// CHECK: %[[SCRATCH:.*]] = memref.view %[[S]]
// CHECK: llm.library_product %[[X]][%{{.*}}], %[[W]][%{{.*}}], %[[Y]][%{{.*}}] bias(%[[B]] : memref<96xbf16>) workspace(%[[SCRATCH]] : memref<4096xi8>)
// CHECK-SAME: a = #llm.matrix<pitch = 64>, b = #llm.matrix<pitch = 64, transposed = true>, c = #llm.matrix<pitch = 96>, columns = 96 : i64, epilogue = 1 : i64, inner = 64 : i64, rows = 128 : i64
// CHECK-NOT: gpu.launch
// CHECK: return

// The gradient goes on where the sum so far lies.
// CHECK-LABEL: func.func private @kernel_1_linear_weight_grad(
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<8192xbf16>, %[[DY:[a-z0-9]*]]: memref<12288xbf16>, %[[INTO:[a-z0-9]*]]: memref<6144xbf16>, %[[DW:[a-z0-9]*]]: memref<6144xbf16>)
// CHECK: llm.library_product %[[DY]][%{{.*}}], %[[X]][%{{.*}}], %[[DW]][%{{.*}}] initial(%[[INTO]][%{{.*}}] : memref<6144xbf16>)
// CHECK-SAME: a = #llm.matrix<pitch = 96, transposed = true>, b = #llm.matrix<pitch = 64>
// CHECK-SAME: initial = #llm.matrix<pitch = 64>, inner = 128 : i64, rows = 96 : i64

// CHECK-LABEL: func.func private @kernel_2_linear(
// CHECK: gpu.launch
// CHECK-NOT: llm.library_product

// HOST: llm.library_calls = [#{{.*}}, #{{.*}}]
// HOST-LABEL: func.func private @kernel_0_linear(
// HOST-SAME: %[[DEVICE:.*]]: !llvm.ptr, %{{.*}}: memref<8192xbf16>
// HOST: %[[WORDS:.*]] = llvm.alloca
// HOST: call @llmmem_cuda_multiply(%[[DEVICE]], %[[WORDS]])
