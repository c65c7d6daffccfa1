// Equal parts of columns are copied in one launch, of which a thread has a vector of each part under way.
//
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse %s | FileCheck %s

func.func @step(%x: tensor<64x768xbf16>) -> (tensor<64x256xbf16>, tensor<64x768xbf16>) attributes {llm.arena = 196608 : i64} {
  %a, %b, %c = llm.split %x {llm.offsets = array<i64: 0, 32768, 65536>} : (tensor<64x768xbf16>) -> (tensor<64x256xbf16>, tensor<64x256xbf16>, tensor<64x256xbf16>)
  %y = llm.concat %c, %b, %a {llm.offsets = array<i64: 98304>} : (tensor<64x256xbf16>, tensor<64x256xbf16>, tensor<64x256xbf16>) -> tensor<64x768xbf16>
  return %b, %y : tensor<64x256xbf16>, tensor<64x768xbf16>
}

// CHECK: gpu.func @kernel_0_split_kernel(
// CHECK-COUNT-3: vector.load {{.*}} : memref<49152xbf16>, vector<8xbf16>
// CHECK-COUNT-3: vector.store {{.*}} : memref<16384xbf16>, vector<8xbf16>
// CHECK-NOT: kernel_0_split_kernel_0
// CHECK: gpu.func @kernel_1_concat_kernel(
// CHECK-COUNT-3: vector.load {{.*}} : memref<16384xbf16>, vector<8xbf16>
// CHECK-COUNT-3: vector.store {{.*}} : memref<49152xbf16>, vector<8xbf16>
// CHECK-NOT: kernel_1_concat_kernel_0
