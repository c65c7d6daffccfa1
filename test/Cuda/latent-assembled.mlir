// Tensor cores multiply latent rows of DeepSeek's sizes in 16 and in 8 bits, and the sums of 64 heads stay in registers.
// REQUIRES: ptxas
// RUN: llmmem-opt --checkpoint-policy=none %s -o %t.mlir 2> %t.err
// RUN: llmmem-opt --target=cuda --chip=sm_80 %t.mlir | %ptx table --ptxas ptxas_path --mma latent_attention_kernel$ --vector latent_attention_kernel$ | FileCheck %s
// RUN: llmmem-opt --target=cuda --chip=sm_90a %t.mlir | %ptx table --ptxas ptxas_path --mma latent_attention_kernel$ --vector latent_attention_kernel$ | FileCheck %s
// CHECK: kernel_0_latent_attention_kernel
// CHECK: kernel_1_latent_attention_kernel
// CHECK: kernel_2_latent_attention_kernel
// CHECK: kernel_3_latent_attention_kernel
// CHECK: kernels for sm_
func.func @step(%few: tensor<2x1x9216xbf16>, %half: tensor<2x1x36864xbf16>, %many: tensor<2x1x73728xbf16>, %row: tensor<2x1x576xbf16>, %rows: tensor<512x16x576xbf16>,
                %positions: tensor<2x1xi32>, %pages: tensor<2x256xi32>, %byte: tensor<2x1x576xi8>, %bytes: tensor<2x4096x576xi8>,
                %s: tensor<2x1x1xbf16>, %t: tensor<2x4096x1xbf16>) -> (tensor<2x1x8192xbf16>, tensor<2x1x65536xbf16>, tensor<2x1x65536xbf16>, tensor<2x1x32768xbf16>) {
  %x = llm.latent_attention %few, %row cache(%rows) at(%positions) pages(%pages) {heads = 16 : i64, rank = 512 : i64, scale = 0.1 : f64}
    : (tensor<2x1x9216xbf16>, tensor<2x1x576xbf16>, tensor<512x16x576xbf16>, tensor<2x1xi32>, tensor<2x256xi32>) -> tensor<2x1x8192xbf16>
  %y = llm.latent_attention %many, %row cache(%rows) at(%positions) pages(%pages) {heads = 128 : i64, rank = 512 : i64, scale = 0.1 : f64}
    : (tensor<2x1x73728xbf16>, tensor<2x1x576xbf16>, tensor<512x16x576xbf16>, tensor<2x1xi32>, tensor<2x256xi32>) -> tensor<2x1x65536xbf16>
  %z = llm.latent_attention %many, %byte cache(%bytes) at(%positions) scales(%s, %t) {heads = 128 : i64, rank = 512 : i64, scale = 0.1 : f64}
    : (tensor<2x1x73728xbf16>, tensor<2x1x576xi8>, tensor<2x4096x576xi8>, tensor<2x1xi32>, tensor<2x1x1xbf16>, tensor<2x4096x1xbf16>) -> tensor<2x1x65536xbf16>
  %w = llm.latent_attention %half, %byte cache(%bytes) at(%positions) scales(%s, %t) {heads = 64 : i64, rank = 512 : i64, scale = 0.1 : f64}
    : (tensor<2x1x36864xbf16>, tensor<2x1x576xi8>, tensor<2x4096x576xi8>, tensor<2x1xi32>, tensor<2x1x1xbf16>, tensor<2x4096x1xbf16>) -> tensor<2x1x32768xbf16>
  return %x, %y, %z, %w : tensor<2x1x8192xbf16>, tensor<2x1x65536xbf16>, tensor<2x1x65536xbf16>, tensor<2x1x32768xbf16>
}
