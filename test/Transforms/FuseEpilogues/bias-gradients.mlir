// The gradients of a linear's weight and bias, of one dy, become one kernel where a library is to multiply, which sums the
// rows of what it multiplies in the same call. It stands where the product stood, with its workspace, whatever the layout and
// whether they go on from sums so far or not.
//
// RUN: llmmem-opt --fuse-epilogues %s | FileCheck %s
// RUN: llmmem-opt --fuse-epilogues=which=unshared %s | FileCheck %s
// RUN: llmmem-opt --fuse-epilogues=which=generated %s | FileCheck %s
// RUN: llmmem-opt --fuse-epilogues=which=separate %s | FileCheck %s --check-prefix=APART
// RUN: sed 's/llm.library_workspace = [0-9]* : i64, //' %s | llmmem-opt --fuse-epilogues | FileCheck %s --check-prefix=APART
//
// APART-NOT: llm.kernel

// CHECK-LABEL: func @step
//       CHECK: %[[K:.*]]:2 = llm.kernel(%[[X:.*]] = %arg0, %[[DY:.*]] = %arg1, %[[W:.*]] = %arg3, %[[B:.*]] = %arg4)
//  CHECK-NEXT:   %[[DW:.*]] = llm.linear_weight_grad %[[X]], %[[DY]] into(%[[W]]) layout(in_out) :
//  CHECK-NEXT:   %[[DB:.*]] = llm.sum_rows %[[DY]] into(%[[B]]) :
//  CHECK-NEXT:   llm.yield %[[DW]], %[[DB]]
//  CHECK-NEXT: attributes {llm.block = 3 : i64, llm.library_workspace = 1024 : i64, llm.name = "w.gradient", llm.phase = "backward", llm.result_names = ["w.gradient", "b.gradient"]}
//       CHECK: llm.linear %arg1
//       CHECK: llm.kernel(%[[Y:.*]] = %arg0, %[[DZ:.*]] = %arg2)
//  CHECK-NEXT:   llm.linear_weight_grad %[[Y]], %[[DZ]] layout(out_in) :
//  CHECK-NEXT:   llm.sum_rows %[[DZ]] :
//  CHECK-NEXT:   llm.yield
//  CHECK-NEXT: attributes {llm.library_workspace = 512 : i64, llm.phase = "backward"}
//       CHECK: return %[[K]]#0, %[[K]]#1,
func.func @step(%x: tensor<64x16xbf16>, %dy: tensor<64x32xbf16>, %dz: tensor<64x32xbf16>, %gw: tensor<16x32xbf16>, %gb: tensor<32xbf16>, %w: tensor<16x32xbf16>)
    -> (tensor<16x32xbf16>, tensor<32xbf16>, tensor<32x16xbf16>, tensor<32xbf16>, tensor<64x16xbf16>) {
  %dw = llm.linear_weight_grad %x, %dy into(%gw) layout(in_out) {llm.block = 3 : i64, llm.library_workspace = 1024 : i64, llm.name = "w.gradient", llm.phase = "backward"}
     : (tensor<64x16xbf16>, tensor<64x32xbf16>, tensor<16x32xbf16>) -> tensor<16x32xbf16>
  %dx = llm.linear %dy, %w layout(out_in) {llm.block = 3 : i64, llm.phase = "backward"} : (tensor<64x32xbf16>, tensor<16x32xbf16>) -> tensor<64x16xbf16>
  %db = llm.sum_rows %dy into(%gb) {llm.block = 3 : i64, llm.name = "b.gradient", llm.phase = "backward"} : (tensor<64x32xbf16>, tensor<32xbf16>) -> tensor<32xbf16>
  %dv = llm.linear_weight_grad %x, %dz layout(out_in) {llm.library_workspace = 512 : i64, llm.phase = "backward"}
     : (tensor<64x16xbf16>, tensor<64x32xbf16>) -> tensor<32x16xbf16>
  %dc = llm.sum_rows %dz {llm.phase = "backward"} : (tensor<64x32xbf16>) -> tensor<32xbf16>
  return %dw, %db, %dv, %dc, %dx : tensor<16x32xbf16>, tensor<32xbf16>, tensor<32x16xbf16>, tensor<32xbf16>, tensor<64x16xbf16>
}
