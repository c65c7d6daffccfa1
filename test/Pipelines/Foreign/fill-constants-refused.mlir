// Constants stay that a region reads through a view, whose type has no fill, and that an op of another dialect may have to know.
//
// RUN: llmmem-opt --entry=main --checkpoint-budget=min %s 2>/dev/null | FileCheck %s
//
// CHECK-DAG: dense<2.0{{.*}}> : tensor<64xf32>
// CHECK-DAG: dense<3> : tensor<64xui8>
// CHECK-NOT: linalg.fill
func.func @main(%x: tensor<64xf32>, %u: tensor<64xui8>) -> (tensor<64xf32>, tensor<64xui8>) {
  %two = arith.constant dense<2.0> : tensor<64xf32>
  %v = tensor.expand_shape %two [[0, 1]] output_shape [8, 8] : tensor<64xf32> into tensor<8x8xf32>
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<64xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(d0)->(d0)>, affine_map<(d0)->(d0)>], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%p: f32, %r: f32):
    %q = tensor.extract %v[%c0, %c0] : tensor<8x8xf32>
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %three = arith.constant dense<3> : tensor<64xui8>
  %f = tensor.empty() : tensor<64xui8>
  %b = linalg.generic {indexing_maps = [affine_map<(d0)->(d0)>, affine_map<(d0)->(d0)>], iterator_types = ["parallel"]} ins(%three : tensor<64xui8>) outs(%f : tensor<64xui8>) {
  ^bb0(%p: ui8, %r: ui8):
    linalg.yield %p : ui8
  } -> tensor<64xui8>
  return %a, %b : tensor<64xf32>, tensor<64xui8>
}
