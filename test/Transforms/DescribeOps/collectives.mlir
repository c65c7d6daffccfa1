// A collective says what it sends by a ring over the devices of a group; one whose group is not known is refused.
// RUN: llmmem-opt --allow-unregistered-dialect --describe-ops --split-input-file --verify-diagnostics %s | FileCheck %s

func.func @main(%x: tensor<1024xf32>) -> (tensor<4096xf32>, tensor<256xf32>, tensor<1024xf32>) {
  // 3 messages, 3/4 of the 16,384 bytes that come out.
  // CHECK: "stablehlo.all_gather"{{.*}}llmmem.transfer = array<i64: 3, 12288>
  %0 = "stablehlo.all_gather"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<1024xf32>) -> tensor<4096xf32>
  // 3 messages, 3/4 of the 4,096 bytes that go in.
  // CHECK: "stablehlo.reduce_scatter"
  // CHECK: llmmem.transfer = array<i64: 3, 3072>
  %1 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<1024xf32>) -> tensor<256xf32>
  // CHECK: "stablehlo.collective_permute"{{.*}}llmmem.transfer = array<i64: 1, 4096>
  %2 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<1024xf32>) -> tensor<1024xf32>
  return %0, %1, %2 : tensor<4096xf32>, tensor<256xf32>, tensor<1024xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'stablehlo.all_to_all' has no 'replica_groups', so how many devices meet is not known}}
  %0 = "stablehlo.all_to_all"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
