// A table that has timed a product but not the product with its epilogue prices both alike; one that has timed both does not.
//
// RUN: split-file %s %t
// RUN: llmmem-opt "--annotate-memory=device=%t/product.json" %t/step.mlir | FileCheck %s --check-prefix=PRODUCT
// RUN: llmmem-opt "--annotate-memory=device=%t/both.json" %t/step.mlir | FileCheck %s --check-prefix=BOTH
// RUN: not llmmem-opt "--annotate-memory=device=%t/wrong.json" %t/step.mlir 2>&1 | FileCheck %s --check-prefix=WRONG

// 2 * 16 * 16 * 16 + 8 * 256 FLOPs are 10,240.
// PRODUCT: ns = 30720,
// BOTH: ns = 40960,
// WRONG: wrong.json: {{.*}}expected auto or separate

//--- product.json
{"name": "d", "flops_per_ns": {"bf16": 1, "f32": 1, "f64": 1}, "bytes_per_ns": 1000, "kernels": {"linear": 3}}
//--- both.json
{"name": "d", "flops_per_ns": {"bf16": 1, "f32": 1, "f64": 1}, "bytes_per_ns": 1000, "kernels": {"linear": 3, "linear+gelu": 4}}
//--- wrong.json
{"name": "d", "flops_per_ns": {"bf16": 1, "f32": 1, "f64": 1}, "bytes_per_ns": 1000, "epilogues": "fused"}
//--- step.mlir
func.func @step(%x: tensor<1x16x16xf32>, %w: tensor<16x16xf32>) -> tensor<1x16x16xf32> {
  %y = llm.kernel(%i = %x, %m = %w) : (tensor<1x16x16xf32>, tensor<16x16xf32>) -> tensor<1x16x16xf32> {
    %p = llm.linear %i, %m layout(in_out) : (tensor<1x16x16xf32>, tensor<16x16xf32>) -> tensor<1x16x16xf32>
    %g = llm.gelu %p : tensor<1x16x16xf32>
    llm.yield %g : tensor<1x16x16xf32>
  }
  return %y : tensor<1x16x16xf32>
}
