// Starts stand as early as they may: after what makes their operand, after what uses bytes that they write, and in the order
// that they had. The peak counts what is held longer for it.
// RUN: split-file %s %t
// RUN: llmmem-opt --start-collectives --verify-plan %t/bytes.mlir | FileCheck %s --check-prefix=BYTES
// RUN: llmmem-opt --start-collectives --verify-plan %t/order.mlir | FileCheck %s --check-prefix=ORDER
// RUN: llmmem-opt --start-collectives --verify-plan %t/argument.mlir | FileCheck %s --check-prefix=ARGUMENT

#--- bytes.mlir
// %b reads %a, whose bytes the result takes; %c has its own.
// BYTES: llm.peak = 1280 : i64
// BYTES: llm.silu
// BYTES-NEXT: %[[B:.*]] = llm.gelu
// BYTES-NEXT: llm.all_gather
// BYTES-NEXT: %[[C:.*]] = llm.silu %[[B]]
// BYTES-NEXT: llm.wait
func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<128xf32>) attributes {llm.arena = 1024 : i64, llm.mesh = #llm.mesh<dp = 2>, llm.peak = 1024 : i64} {
  %a = llm.silu %x {llm.offsets = array<i64: 256>} : tensor<64xf32>
  %b = llm.gelu %a {llm.offsets = array<i64: 512>} : tensor<64xf32>
  %c = llm.silu %b {llm.offsets = array<i64: 768>} : tensor<64xf32>
  %g = llm.all_gather %x over ["dp"] {dimension = 0 : i64, llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<128xf32>
  return %c, %g : tensor<64xf32>, tensor<128xf32>
}

#--- order.mlir
// The second could begin with the step, but the first waits for its operand.
// ORDER: %[[A:.*]] = llm.gelu
// ORDER-NEXT: llm.all_reduce %[[A]]
// ORDER-NEXT: llm.all_reduce %arg0
// ORDER-NEXT: llm.gelu
func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 1536 : i64, llm.mesh = #llm.mesh<dp = 2>, llm.peak = 1536 : i64} {
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %s = llm.all_reduce %a over ["dp"] {llm.offsets = array<i64: 0>, llm.workspace = array<i64: 256, 256>} : tensor<64xf32>
  %b = llm.gelu %x {llm.offsets = array<i64: 512>} : tensor<64xf32>
  %t = llm.all_reduce %x over ["dp"] {llm.offsets = array<i64: 1024>, llm.workspace = array<i64: 1280, 256>} : tensor<64xf32>
  return %s, %b, %t : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

#--- argument.mlir
// The gather writes the parameter, which is read before.
// ARGUMENT: llm.gelu
// ARGUMENT-NEXT: llm.all_gather
// ARGUMENT-NEXT: llm.gelu
func.func @step(%p: tensor<128xf32> {llm.donated = 0 : i64}, %x: tensor<64xf32>) -> (tensor<128xf32>, tensor<128xf32>, tensor<64xf32>) attributes {llm.arena = 1024 : i64, llm.mesh = #llm.mesh<dp = 2>, llm.peak = 1536 : i64} {
  %a = llm.gelu %p {llm.offsets = array<i64: 0>} : tensor<128xf32>
  %b = llm.gelu %x {llm.offsets = array<i64: 768>} : tensor<64xf32>
  %g = llm.all_gather %x over ["dp"] destination(%p) {dimension = 0 : i64, llm.offsets = array<i64: -1>} : (tensor<64xf32>, tensor<128xf32>) -> tensor<128xf32>
  return %g, %a, %b : tensor<128xf32>, tensor<128xf32>, tensor<64xf32>
}
