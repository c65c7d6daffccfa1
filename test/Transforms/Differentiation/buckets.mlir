// Gradients that the backward ends one after another share a collective, as long as a bucket has room: of 32, 64 and 16 bytes, the
// first two fill 96. The order is that of the backward, whatever the order of the arguments.
//
// RUN: split-file %s %t
// RUN: llmmem-opt "--parallelize=mesh=dp=2 bucket-bytes=96B" --differentiate %t/loss.mlir | FileCheck %t/loss.mlir --check-prefix=SUM
// RUN: llmmem-opt "--parallelize=mesh=dp=2 zero=1 bucket-bytes=96B" --differentiate %t/loss.mlir | FileCheck %t/loss.mlir --check-prefix=PART
// RUN: llmmem-opt "--parallelize=mesh=dp=2 bucket-bytes=63B" --differentiate %t/loss.mlir | FileCheck %t/loss.mlir --check-prefix=SMALL
// RUN: llmmem-opt "--parallelize=mesh=dp=2 bucket-bytes=0" --differentiate %t/loss.mlir | FileCheck %t/loss.mlir --check-prefix=NONE
// RUN: llmmem-opt "--parallelize=mesh=dp=2 zero=3 bucket-bytes=96B" --differentiate %t/loss.mlir | FileCheck %t/loss.mlir --check-prefix=GATHER

//--- loss.mlir
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%x: tensor<4x4xf32> {llm.role = "input"}, %t: tensor<4xi32> {llm.role = "input"},
                  %s: tensor<4xf32> {llm.role = "param", llm.name = "s"}, %u: tensor<4x4xf32> {llm.role = "param", llm.name = "u"},
                  %v: tensor<2x4xf32> {llm.role = "param", llm.name = "v"}) -> tensor<f32> {
    %n, %r = llm.rms_norm %x, %s {eps = 1.0e-5 : f64, llm.block = 0 : i64} : (tensor<4x4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
    %h = llm.linear %n, %u layout(out_in) {llm.block = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = llm.linear %h, %v layout(out_in) : (tensor<4x4xf32>, tensor<2x4xf32>) -> tensor<4x2xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<4x2xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
    return %loss : tensor<f32>
  }
}

// SUM: %[[V:.*]] = llm.linear_weight_grad {{.*}} -> tensor<2x4xf32>
// SUM-NOT: all_reduce
// SUM: %[[U:.*]] = llm.linear_weight_grad {{.*}} -> tensor<4x4xf32>
// SUM-NEXT: %[[SUMS:.*]]:2 = llm.all_reduce_bucket %[[V]], %[[U]] over ["dp"] {llm.block = 0 : i64, llm.name = "u.gradient.bucket", llm.phase = "backward", llm.result_names = ["v.gradient.sum", "u.gradient.sum"]}
// SUM-DAG: llm.sgd %{{[^,]*}}, %[[SUMS]]#0
// SUM-DAG: llm.sgd %{{[^,]*}}, %[[SUMS]]#1
// SUM-DAG: llm.all_reduce {{.*}} : tensor<4xf32>

// PART: %[[PARTS:.*]]:2 = llm.reduce_scatter_bucket {{.*}} -> (tensor<1x4xf32>, tensor<2x4xf32>)
// PART: %[[NEWV:.*]] = llm.sgd %{{[^,]*}}, %[[PARTS]]#0
// PART: %[[NEWU:.*]] = llm.sgd %{{[^,]*}}, %[[PARTS]]#1
// PART: llm.all_gather_bucket %[[NEWV]], %[[NEWU]] over ["dp"] destinations(%arg4, %arg3)

// One of more bytes than a bucket has is alone, and the bucket stays open.
// SMALL: llm.all_reduce %{{[0-9]+}} over {{.*}} : tensor<4x4xf32>
// SMALL: llm.all_reduce_bucket {{.*}}["v.gradient.sum", "s.gradient.sum"]

// NONE-NOT: bucket %

// Those of a block are gathered together; what belongs to none is gathered alone.
// GATHER: %[[W:.*]]:2 = llm.all_gather_bucket %arg2, %arg3 over ["dp"] {llm.block = 0 : i64, {{.*}}llm.result_names = ["s.gathered", "u.gathered"]}
// GATHER: llm.rms_norm %{{[^,]*}}, %[[W]]#0
// GATHER: llm.all_gather %arg4
// GATHER: llm.reduce_scatter %
// GATHER: llm.reduce_scatter_bucket {{.*}} -> (tensor<2xf32>, tensor<2x4xf32>)
