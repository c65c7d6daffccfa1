// Ops that are an identity fold where that changes no bit; others of the same ops stay.
// RUN: llmmem-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func @cast_to_the_same
// CHECK-NEXT: return %arg0
func.func @cast_to_the_same(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = llm.cast %x : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @cast_there_and_back
// CHECK-NEXT: return %arg0
func.func @cast_there_and_back(%x: tensor<8xbf16>) -> tensor<8xbf16> {
  %0 = llm.cast %x : tensor<8xbf16> -> tensor<8xf32>
  %1 = llm.cast %0 : tensor<8xf32> -> tensor<8xbf16>
  return %1 : tensor<8xbf16>
}

// The first of the two rounds.
// CHECK-LABEL: func @cast_that_rounds
// CHECK-NEXT: %[[BF16:.*]] = llm.cast %arg0
// CHECK-NEXT: %[[F32:.*]] = llm.cast %[[BF16]]
// CHECK-NEXT: return %[[F32]]
func.func @cast_that_rounds(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = llm.cast %x : tensor<8xf32> -> tensor<8xbf16>
  %1 = llm.cast %0 : tensor<8xbf16> -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-LABEL: func @reshapes
// CHECK-NEXT: %[[Y:.*]] = llm.reshape %arg0 : tensor<2x12xf32> -> tensor<24xf32>
// CHECK-NEXT: return %[[Y]], %arg0
func.func @reshapes(%x: tensor<2x12xf32>) -> (tensor<24xf32>, tensor<2x12xf32>) {
  %0 = llm.reshape %x : tensor<2x12xf32> -> tensor<4x6xf32>
  %1 = llm.reshape %0 : tensor<4x6xf32> -> tensor<24xf32>
  %2 = llm.reshape %1 : tensor<24xf32> -> tensor<2x12xf32>
  return %1, %2 : tensor<24xf32>, tensor<2x12xf32>
}

// CHECK-LABEL: func @add_negative_zero
// CHECK-NEXT: return %arg0, %arg0
func.func @add_negative_zero(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = llm.fill {value = -0.0 : f64} : tensor<8xf32>
  %0 = llm.add %x, %zero : tensor<8xf32>
  %1 = llm.add %zero, %x : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -0 + 0 is 0.
// CHECK-LABEL: func @add_zero
// CHECK: llm.add
func.func @add_zero(%x: tensor<8xf32>) -> tensor<8xf32> {
  %zero = llm.fill {value = 0.0 : f64} : tensor<8xf32>
  %0 = llm.add %x, %zero : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @multiply_by_one
// CHECK-NEXT: return %arg0, %arg0
func.func @multiply_by_one(%x: tensor<8xbf16>) -> (tensor<8xbf16>, tensor<8xbf16>) {
  %one = llm.fill {value = 1.0 : f64} : tensor<8xbf16>
  %0 = llm.mul %x, %one : tensor<8xbf16>
  %1 = llm.mul %one, %x : tensor<8xbf16>
  return %0, %1 : tensor<8xbf16>, tensor<8xbf16>
}

// CHECK-LABEL: func @multiply_by_two
// CHECK: llm.mul
func.func @multiply_by_two(%x: tensor<8xbf16>) -> tensor<8xbf16> {
  %two = llm.fill {value = 2.0 : f64} : tensor<8xbf16>
  %0 = llm.mul %x, %two : tensor<8xbf16>
  return %0 : tensor<8xbf16>
}

// CHECK-LABEL: func @dropout_of_none
// CHECK-NEXT: return %arg0
func.func @dropout_of_none(%x: tensor<8xf32>, %seed: tensor<2xi32>) -> tensor<8xf32> {
  %0 = llm.dropout %x, %seed {p = 0.0 : f64, key = 7 : i64} : tensor<8xf32>, tensor<2xi32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @dropout_of_some
// CHECK: llm.dropout
func.func @dropout_of_some(%x: tensor<8xf32>, %seed: tensor<2xi32>) -> tensor<8xf32> {
  %0 = llm.dropout %x, %seed {p = 0.1 : f64, key = 7 : i64} : tensor<8xf32>, tensor<2xi32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @one_part
// CHECK-NEXT: return %arg0, %arg0
func.func @one_part(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = llm.split %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = llm.concat %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func @split_of_concat
// CHECK-NEXT: return %arg0, %arg1
func.func @split_of_concat(%a: tensor<4x2xf32>, %b: tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x6xf32>) {
  %0 = llm.concat %a, %b : (tensor<4x2xf32>, tensor<4x6xf32>) -> tensor<4x8xf32>
  %1, %2 = llm.split %0 : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x6xf32>)
  return %1, %2 : tensor<4x2xf32>, tensor<4x6xf32>
}

// CHECK-LABEL: func @split_elsewhere
// CHECK: llm.concat
// CHECK: llm.split
func.func @split_elsewhere(%a: tensor<4x2xf32>, %b: tensor<4x6xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = llm.concat %a, %b : (tensor<4x2xf32>, tensor<4x6xf32>) -> tensor<4x8xf32>
  %1, %2 = llm.split %0 : (tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>
}

// CHECK-LABEL: func @concat_of_split
// CHECK-NEXT: return %arg0
func.func @concat_of_split(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0, %1 = llm.split %x : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x6xf32>)
  %2 = llm.concat %0, %1 : (tensor<4x2xf32>, tensor<4x6xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// CHECK-LABEL: func @concat_in_another_order
// CHECK: llm.concat
func.func @concat_in_another_order(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0, %1 = llm.split %x : (tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  %2 = llm.concat %1, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
