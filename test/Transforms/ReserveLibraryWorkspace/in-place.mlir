// The gradient of an activation holds the product before the activation's input is read, and a library may still read it as
// aux. So plans have bytes for both, for a library and for none, and one that has not is refused.
//
// RUN: llmmem-opt --checkpoint-policy=none --epilogues=fused %s 2> /dev/null | FileCheck %s --check-prefix=GENERATED
// RUN: llmmem-opt --checkpoint-policy=none --epilogues=fused --products=library %s -o %t.step 2> /dev/null
// RUN: FileCheck %s < %t.step
// RUN: sed 's/llm.offsets = array<i64: 4096>/llm.offsets = array<i64: 0>/' %t.step | not llmmem-opt --verify-plan 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: llmmem-opt --checkpoint-policy=none --epilogues=fused %s 2> /dev/null | sed 's/llm.offsets = array<i64: 4096>/llm.offsets = array<i64: 0>/' | not llmmem-opt --verify-plan 2>&1 | FileCheck %s --check-prefix=REFUSED
//
// Nor does C lie on what the library adds, by which its bits would depend on whether that is read again: in a plan that keeps
// activations it is.
// RUN: llmmem-opt --checkpoint-policy=none --epilogues=fused --products=library %S/Inputs/residual.mlir 2> /dev/null | FileCheck %s --check-prefix=RESIDUAL
//
// GENERATED: llm.arena = 8192 : i64
// GENERATED: llm.silu {{.*}}llm.offsets = array<i64: 0>
// GENERATED: llm.gelu_grad
// GENERATED: llm.offsets = array<i64: 4096>
// CHECK: llm.arena = 9984 : i64
// CHECK: llm.silu {{.*}}llm.offsets = array<i64: 0>
// CHECK: llm.gelu_grad
// CHECK: llm.offsets = array<i64: 4096>, {{.*}}llm.workspace = array<i64: 8192, 1792>
// REFUSED: error: [overlap] result 0 at bytes 0 to 4096 meets a value that is still held
// RESIDUAL: llm.arena = 9984 : i64
// RESIDUAL: llm.silu {{.*}}llm.offsets = array<i64: 0>
// RESIDUAL: llm.add
// RESIDUAL: llm.offsets = array<i64: 4096>, {{.*}}llm.workspace = array<i64: 8192, 1792>
func.func @step(%dy: tensor<64x16xbf16>, %v: tensor<32x16xbf16>, %x: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
  %h = llm.silu %x : tensor<64x32xbf16>
  %p = llm.linear %dy, %v layout(out_in) : (tensor<64x16xbf16>, tensor<32x16xbf16>) -> tensor<64x32xbf16>
  %g = llm.gelu_grad %h, %p : tensor<64x32xbf16>
  return %g : tensor<64x32xbf16>
}
