// A product that a library is to multiply takes what the library computes in the same call, and its workspace goes along.
//
// RUN: llmmem-opt --fuse-epilogues %s | FileCheck %s

// CHECK-LABEL: func @step
//       CHECK: %[[K:.*]]:2 = llm.kernel(
//  CHECK-NEXT:   llm.linear
//  CHECK-NEXT:   llm.gelu
//  CHECK-NEXT:   llm.yield %{{.*}}, %{{.*}} :
//  CHECK-NEXT: attributes {{.*}}llm.library_workspace = 1024 : i64
//       CHECK: llm.kernel(
//  CHECK-NEXT:   llm.linear
//  CHECK-NEXT:   llm.add
//  CHECK-NEXT:   llm.yield %{{[^,]*}} :
//  CHECK-NEXT: attributes {llm.library_workspace = 512 : i64}
//       CHECK: llm.kernel(%{{.*}}, %{{.*}}, %{{.*}} = %[[K]]#0)
//  CHECK-NEXT:   llm.linear
//  CHECK-NEXT:   llm.gelu_grad
//  CHECK-NEXT:   llm.yield
//  CHECK-NEXT: attributes {llm.library_workspace = 768 : i64}
func.func @step(%x: tensor<64x16xbf16>, %w: tensor<16x32xbf16>, %b: tensor<32xbf16>, %v: tensor<32x16xbf16>, %c: tensor<16xbf16>, %dy: tensor<64x16xbf16>)
    -> (tensor<64x16xbf16>, tensor<64x32xbf16>) {
  %h = llm.linear %x, %w bias(%b) layout(in_out) {llm.library_workspace = 1024 : i64}
     : (tensor<64x16xbf16>, tensor<16x32xbf16>, tensor<32xbf16>) -> tensor<64x32xbf16>
  %a = llm.gelu %h : tensor<64x32xbf16>
  %y = llm.linear %a, %v bias(%c) layout(in_out) {llm.library_workspace = 512 : i64}
     : (tensor<64x32xbf16>, tensor<32x16xbf16>, tensor<16xbf16>) -> tensor<64x16xbf16>
  %r = llm.add %x, %y : tensor<64x16xbf16>
  %da = llm.linear %dy, %v layout(out_in) {llm.library_workspace = 768 : i64} : (tensor<64x16xbf16>, tensor<32x16xbf16>) -> tensor<64x32xbf16>
  %dh = llm.gelu_grad %h, %da : tensor<64x32xbf16>
  return %r, %dh : tensor<64x16xbf16>, tensor<64x32xbf16>
}
