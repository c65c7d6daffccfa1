// What aligning resident buffers adds counts: x of 260 bytes takes 512, and the result 260 of the arena. 772 bytes do,
// 771 do not. The peak is what is live: 260 + 260.
// RUN: llmmem-opt %s --checkpoint-budget=772 --emit-problem=%t.problem --emit-plan=%t.plan --memory-report-json=%t.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=PROBLEM < %t.problem
// RUN: llmmem-plan --check %t.problem --budget=772 %t.plan
// RUN: FileCheck %s --check-prefix=REPORT < %t.json
// RUN: not llmmem-opt %s --checkpoint-budget=771 --explain --memory-report-json=%t.none.json 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: FileCheck %s --check-prefix=LEAST < %t.none.json

// CHECK: llm.arena = 260 : i64, llm.budget = 772 : i64, {{.*}}llm.peak = 520 : i64
// PROBLEM: {"id": {{[0-9]+}}, "bytes": 252, "name": "resident padding", "resident": true}],
// REPORT: "input": 260,
// REPORT: "resident_padding": 252,
// NONE: no plan exists under a budget of 771 B (771 bytes) with policy 'budget': least peak found 520 B (520 bytes), which needs a budget of 772 bytes; proved lower bound on the budget 772 B (772 bytes)
// NONE: resident buffers begin on multiples of 256 bytes, which adds 252 B (252 bytes)
// LEAST: "budget_lower_bound": 772,
// LEAST-NEXT: "peak_lower_bound": 268
// LEAST: "least_budget_found": 772,
// LEAST-NEXT: "least_peak_found": 520,
func.func @step(%x: tensor<65xf32>) -> tensor<65xf32> {
  %0 = llm.gelu %x : tensor<65xf32>
  return %0 : tensor<65xf32>
}
