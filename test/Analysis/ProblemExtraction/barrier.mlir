// RUN: llmmem-opt --allow-unregistered-dialect --plan-checkpoints='policy=none emit-problem=%t' %s -o /dev/null
// RUN: FileCheck --input-file=%t %s

// A barrier is an op that costs nothing, runs once and reads all that goes in at its place. What comes out has no bytes but those of
// what went in, and whoever reads it, through a view or a second barrier as well, runs after it by an order token: tanh reads the
// argument (0) after the first barrier, whose token is 5; sine reads what tanh wrote (2) after the second, whose token is 6.
// CHECK: "name": "test.barrier", "cost": 0, {{.*}}"reads": [0, 1], "writes": [5], "recompute": false
// CHECK: "name": "test.tanh", {{.*}}"reads": [0, 5], "writes": [2]
// CHECK: "name": "test.negate", {{.*}}"reads": [1, 5], "writes": [3]
// CHECK: "name": "test.barrier", {{.*}}"reads": [2, 1, 5], "writes": [6]
// CHECK: "name": "test.sine", {{.*}}"reads": [2, 6], "writes": [4]
func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = "test.exponential"(%x) {llm.cost = #llm.cost<flops = 64, bytes = 512, ns = 0, workspace = 0>, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  %b:2 = "test.barrier"(%x, %0) {llm.views = array<i64: 0, 1>, llm.pure} : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  %1 = "test.tanh"(%b#0) {llm.cost = #llm.cost<flops = 64, bytes = 512, ns = 0, workspace = 0>, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  %2 = "test.negate"(%b#1) {llm.cost = #llm.cost<flops = 64, bytes = 512, ns = 0, workspace = 0>, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  %v = "test.reshape"(%b#1) {llm.views = array<i64: 0>, llm.pure} : (tensor<64xf32>) -> tensor<8x8xf32>
  %c:2 = "test.barrier"(%1, %v) {llm.views = array<i64: 0, 1>, llm.pure} : (tensor<64xf32>, tensor<8x8xf32>) -> (tensor<64xf32>, tensor<8x8xf32>)
  %3 = "test.sine"(%c#0) {llm.cost = #llm.cost<flops = 64, bytes = 512, ns = 0, workspace = 0>, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  return %2, %3 : tensor<64xf32>, tensor<64xf32>
}
