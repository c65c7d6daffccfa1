// Sums that a product for a library does not take, and why.
//
// RUN: llmmem-opt --fuse-epilogues --split-input-file %s | FileCheck %s
//
// CHECK-NOT: llm.kernel

// The library sums what it multiplies, and nothing else.
func.func @another_dy(%x: tensor<64x16xbf16>, %dy: tensor<64x32xbf16>, %dz: tensor<64x32xbf16>) -> (tensor<16x32xbf16>, tensor<32xbf16>) {
  %dw = llm.linear_weight_grad %x, %dy layout(in_out) {llm.library_workspace = 256 : i64} : (tensor<64x16xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
  %db = llm.sum_rows %dz : (tensor<64x32xbf16>) -> tensor<32xbf16>
  return %dw, %db : tensor<16x32xbf16>, tensor<32xbf16>
}

// -----

// A bias's gradient is a sum of dy. The other factor's sum is nothing that a step has.
func.func @the_other_factor(%x: tensor<64x16xbf16>, %dy: tensor<64x32xbf16>) -> (tensor<16x32xbf16>, tensor<16xbf16>) {
  %dw = llm.linear_weight_grad %x, %dy layout(in_out) {llm.library_workspace = 256 : i64} : (tensor<64x16xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
  %db = llm.sum_rows %x : (tensor<64x16xbf16>) -> tensor<16xbf16>
  return %dw, %db : tensor<16x32xbf16>, tensor<16xbf16>
}

// -----

// Reports and plans count by phase and by block.
func.func @blocks(%x: tensor<64x16xbf16>, %dy: tensor<64x32xbf16>) -> (tensor<16x32xbf16>, tensor<32xbf16>) {
  %dw = llm.linear_weight_grad %x, %dy layout(in_out) {llm.block = 1 : i64, llm.library_workspace = 256 : i64} : (tensor<64x16xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
  %db = llm.sum_rows %dy {llm.block = 2 : i64} : (tensor<64x32xbf16>) -> tensor<32xbf16>
  return %dw, %db : tensor<16x32xbf16>, tensor<32xbf16>
}

// -----

// The gradient of the weight would have its bytes earlier than without the kernel.
func.func @sum_first(%x: tensor<64x16xbf16>, %dy: tensor<64x32xbf16>) -> (tensor<16x32xbf16>, tensor<32xbf16>) {
  %db = llm.sum_rows %dy : (tensor<64x32xbf16>) -> tensor<32xbf16>
  %dw = llm.linear_weight_grad %x, %dy layout(in_out) {llm.library_workspace = 256 : i64} : (tensor<64x16xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
  return %dw, %db : tensor<16x32xbf16>, tensor<32xbf16>
}

// -----

// The sum so far is not there when the product is made.
func.func @sum_so_far_is_later(%x: tensor<64x16xbf16>, %dy: tensor<64x32xbf16>, %dz: tensor<64x32xbf16>) -> (tensor<16x32xbf16>, tensor<32xbf16>) {
  %dw = llm.linear_weight_grad %x, %dy layout(in_out) {llm.library_workspace = 256 : i64} : (tensor<64x16xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
  %so_far = llm.sum_rows %dz : (tensor<64x32xbf16>) -> tensor<32xbf16>
  %db = llm.sum_rows %dy into(%so_far) : (tensor<64x32xbf16>, tensor<32xbf16>) -> tensor<32xbf16>
  return %dw, %db : tensor<16x32xbf16>, tensor<32xbf16>
}

// -----

// Somebody still reads it then, and its bytes would be the sum's.
func.func @sum_so_far_is_read(%x: tensor<64x16xbf16>, %dy: tensor<64x32xbf16>, %gb: tensor<32xbf16>) -> (tensor<16x32xbf16>, tensor<32xbf16>, tensor<32xbf16>) {
  %dw = llm.linear_weight_grad %x, %dy layout(in_out) {llm.library_workspace = 256 : i64} : (tensor<64x16xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
  %before = llm.gelu %gb : tensor<32xbf16>
  %db = llm.sum_rows %dy into(%gb) : (tensor<64x32xbf16>, tensor<32xbf16>) -> tensor<32xbf16>
  return %dw, %db, %before : tensor<16x32xbf16>, tensor<32xbf16>, tensor<32xbf16>
}
