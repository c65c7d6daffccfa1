// The proof of a plan's bounds is checked before it is written, the report says what of it was checked, and so does
// whoever checks it again.
// RUN: llmmem-opt %s --checkpoint-budget=min --memory-report --memory-report-json=%t.json --emit-problem=%t.problem --emit-plan=%t.plan --emit-proof=%t.proof -o %t.mlir 2> %t.report
// RUN: FileCheck %s --check-prefix=REPORT < %t.report
// RUN: FileCheck %s --check-prefix=JSON < %t.json
// RUN: llmmem-plan --check %t.problem %t.plan %t.proof | FileCheck %s
// RUN: not llmmem-opt %s --checkpoint-budget=771 --memory-report-json=%t.none.json --emit-problem=%t.problem --emit-plan=%t.plan --emit-proof=%t.proof
// RUN: FileCheck %s --check-prefix=NONE < %t.none.json
// RUN: llmmem-plan --check %t.problem %t.plan %t.proof | FileCheck %s --check-prefix=ABSENCE
// RUN: llmmem-opt %s --checkpoint-budget=min --memory-report -o %t.mlir 2>&1 | FileCheck %s --check-prefix=WITHOUT

// REPORT: checked        cost, peak
// JSON: "checked": "cost, peak",
// CHECK: plan: checked
// CHECK: cost: checked
// CHECK: peak: checked
// NONE: "checked": "cost, peak, infeasible",
// ABSENCE: infeasible: checked: every plan needs 772 bytes or more, the budget has 771
// WITHOUT-NOT: checked
func.func @step(%x: tensor<65xf32>) -> tensor<65xf32> {
  %0 = llm.gelu %x : tensor<65xf32>
  return %0 : tensor<65xf32>
}
