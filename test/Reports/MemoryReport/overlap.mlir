// What started collectives hide: the sum overlaps with gelu's 2,001 ns.
// RUN: llmmem-opt --start-collectives --report-memory='print=true json=%t.json' %s -o /dev/null 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON --input-file %t.json
// RUN: llmmem-opt --report-memory=print=true %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=TURN

// CHECK: {{^}}overlap        1 collectives started, 0.002 ms of their 0.006 ms hidden; the step 0.008 ms modelled
// JSON: "overlap": {
// JSON-DAG: "started": 1
// JSON-DAG: "started_ns": 6001
// JSON-DAG: "hidden_ns": 2001
// JSON-DAG: "time_ns": 8002
// TURN-NOT: {{^}}overlap
func.func @step(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<64xf32>
    attributes {llm.arena = 1024 : i64, llm.mesh = #llm.mesh<dp = 2>, llm.peak = 1280 : i64} {
  %sum = llm.all_reduce %x over ["dp"] {llm.offsets = array<i64: 0>, llm.workspace = array<i64: 256, 256>} : tensor<64xf32>
  %g = llm.gelu %y {llm.offsets = array<i64: 512>} : tensor<64xf32>
  %z = llm.mul %sum, %g {llm.offsets = array<i64: 768>} : tensor<64xf32>
  return %z : tensor<64xf32>
}
