// What a library does not compute stays apart where the library is to multiply, as it would be generated code; without the
// mark of the library all of it is fused. Named as generated, it is fused, and loses the library's workspace.
//
// RUN: llmmem-opt --fuse-epilogues --split-input-file %s | FileCheck %s
// RUN: sed 's/{llm.library_workspace = 256 : i64}//' %s | llmmem-opt --fuse-epilogues=which=generated --split-input-file | FileCheck %s --check-prefix=PLAIN
// RUN: llmmem-opt --fuse-epilogues=which=generated --split-input-file %s | FileCheck %s --check-prefix=GENERATED --implicit-check-not=llm.library_workspace
//
// CHECK-NOT: llm.kernel
// PLAIN-COUNT-5: llm.kernel
// GENERATED-COUNT-5: llm.kernel

// It has no gelu that hands the product out whose rows are no multiples of 8 elements.
func.func @pitch(%x: tensor<64x16xbf16>, %w: tensor<16x12xbf16>, %b: tensor<12xbf16>) -> (tensor<64x12xbf16>, tensor<64x12xbf16>) {
  %h = llm.linear %x, %w bias(%b) layout(in_out) {llm.library_workspace = 256 : i64} : (tensor<64x16xbf16>, tensor<16x12xbf16>, tensor<12xbf16>) -> tensor<64x12xbf16>
  %a = llm.gelu %h : tensor<64x12xbf16>
  return %h, %a : tensor<64x12xbf16>, tensor<64x12xbf16>
}

// -----

// Nor a gradient of gelu at such a matrix.
func.func @pitch_of_gradient(%dy: tensor<64x16xf32>, %w: tensor<16x12xf32>, %h: tensor<64x12xf32>) -> tensor<64x12xf32> {
  %da = llm.linear %dy, %w layout(in_out) {llm.library_workspace = 256 : i64} : (tensor<64x16xf32>, tensor<16x12xf32>) -> tensor<64x12xf32>
  %dh = llm.gelu_grad %h, %da : tensor<64x12xf32>
  return %dh : tensor<64x12xf32>
}

// -----

// None that takes a gelu without a bias.
func.func @no_bias(%x: tensor<64x16xbf16>, %w: tensor<16x32xbf16>) -> tensor<64x32xbf16> {
  %h = llm.linear %x, %w layout(in_out) {llm.library_workspace = 256 : i64} : (tensor<64x16xbf16>, tensor<16x32xbf16>) -> tensor<64x32xbf16>
  %a = llm.gelu %h : tensor<64x32xbf16>
  return %a : tensor<64x32xbf16>
}

// -----

// A sum takes the place of its product: none hands both out.
func.func @both(%x: tensor<64x16xbf16>, %w: tensor<16x16xbf16>) -> (tensor<64x16xbf16>, tensor<64x16xbf16>) {
  %y = llm.linear %x, %w layout(in_out) {llm.library_workspace = 256 : i64} : (tensor<64x16xbf16>, tensor<16x16xbf16>) -> tensor<64x16xbf16>
  %r = llm.add %x, %y : tensor<64x16xbf16>
  return %y, %r : tensor<64x16xbf16>, tensor<64x16xbf16>
}

// -----

func.func @gate(%x: tensor<64x16xbf16>, %w: tensor<16x32xbf16>, %g: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
  %u = llm.linear %x, %w layout(in_out) {llm.library_workspace = 256 : i64} : (tensor<64x16xbf16>, tensor<16x32xbf16>) -> tensor<64x32xbf16>
  %y = llm.mul %g, %u : tensor<64x32xbf16>
  return %y : tensor<64x32xbf16>
}
