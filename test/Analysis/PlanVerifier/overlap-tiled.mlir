// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// A chunk's y would overwrite x, which the products of the same chunk and of later ones have yet to read: nothing lets a result that has
// rows have the bytes of an operand.
func.func @step(%a: tensor<16x4xf32>, %w: tensor<4x12xf32>, %v: tensor<12x4xf32>) -> tensor<16x4xf32>
    attributes {llm.arena = 448 : i64, llm.peak = 1344 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %x = llm.gelu %a {llm.offsets = array<i64: 0>} : tensor<16x4xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 256 meets a value that is still held}}
  %y = llm.tiled(%i = %x, %b = %w, %c = %v) : (tensor<16x4xf32>, tensor<4x12xf32>, tensor<12x4xf32>) -> tensor<16x4xf32> {
    %u = llm.linear %i, %b layout(in_out) : (tensor<16x4xf32>, tensor<4x12xf32>) -> tensor<16x12xf32>
    %d = llm.linear %u, %c layout(in_out) : (tensor<16x12xf32>, tensor<12x4xf32>) -> tensor<16x4xf32>
    llm.tiled_yield %d : tensor<16x4xf32>
  } attributes {chunk = 4 : i64, granule = 4 : i64, llm.offsets = array<i64: 0>, llm.workspace = array<i64: 256, 192>}
  return %y : tensor<16x4xf32>
}
