// Where a device is named whose table has a library, products are planned for it: 128 x 64 by 64 x 96 in bf16 gets a quarter of
// its operands and results as workspace. --products=generated is the other choice; a table without a library, and no table, have
// generated kernels.
//
// RUN: llmmem-opt --checkpoint-policy=none --checkpoint-device=h200 %s 2> %t.err | FileCheck %s --check-prefix=LIBRARY
// RUN: llmmem-opt --checkpoint-policy=none --checkpoint-device=h200 --products=generated %s 2> %t.err | FileCheck %s --check-prefix=GENERATED
// RUN: llmmem-opt --checkpoint-policy=none --checkpoint-device=cpu %s 2> %t.err | FileCheck %s --check-prefix=GENERATED
// RUN: llmmem-opt --checkpoint-policy=none %s 2> %t.err | FileCheck %s --check-prefix=GENERATED
// RUN: llmmem-opt --pass-pipeline='builtin.module(llmmem-checkpoint{policy=none device=h200})' %s 2> %t.err | FileCheck %s --check-prefix=LIBRARY
//
// LIBRARY: llm.linear {{.*}}llm.library_workspace = 13312 : i64
// GENERATED: llm.linear
// GENERATED-NOT: llm.library_workspace
func.func @step(%x: tensor<128x64xbf16>, %w: tensor<64x96xbf16>) -> tensor<128x96xbf16> {
  %y = llm.linear %x, %w layout(in_out) : (tensor<128x64xbf16>, tensor<64x96xbf16>) -> tensor<128x96xbf16>
  return %y : tensor<128x96xbf16>
}
