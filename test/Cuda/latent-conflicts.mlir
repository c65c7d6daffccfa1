// Lines of latent rows of 576 elements are padded, those of scores too: lanes that access shared memory together never meet in one
// bank, with 16 heads and with 128, in pages, and with rows of 8 bits.
//
// RUN: llmmem-opt --checkpoint-policy=none %s -o %t.mlir 2> %t.err
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse --report-kernel-counts=most-conflicts=1 %t.mlir -o /dev/null 2>&1 | FileCheck %s
//
// Two tokens of 128 tiles of 32 rows each: 16 x 32 scores take 4 * 36 mma, and 16 x 512 sums 64 * 2. So 16 heads are 2 * 128 * (4 * 36 + 64
// * 2) mma and, two a tile, 512 barriers; 128 heads are eight times as many in two groups.
// CHECK: kernel_0_latent_attention_kernel {{ *}}1 {{ *}}8 {{ *}}69632 {{ *}}512 {{ *}}
// CHECK: kernel_1_latent_attention_kernel {{ *}}1 {{ *}}8 {{ *}}557056 {{ *}}1024 {{ *}}
// CHECK: kernel_2_latent_attention_kernel {{ *}}1 {{ *}}8 {{ *}}557056 {{ *}}1024 {{ *}}
func.func @step(%few: tensor<2x1x9216xbf16>, %many: tensor<2x1x73728xbf16>, %row: tensor<2x1x576xbf16>, %rows: tensor<512x16x576xbf16>,
                %positions: tensor<2x1xi32>, %pages: tensor<2x256xi32>, %byte: tensor<2x1x576xi8>, %bytes: tensor<2x4096x576xi8>,
                %s: tensor<2x1x1xbf16>, %t: tensor<2x4096x1xbf16>) -> (tensor<2x1x8192xbf16>, tensor<2x1x65536xbf16>, tensor<2x1x65536xbf16>) {
  %x = llm.latent_attention %few, %row cache(%rows) at(%positions) pages(%pages) {heads = 16 : i64, rank = 512 : i64, scale = 0.1 : f64}
    : (tensor<2x1x9216xbf16>, tensor<2x1x576xbf16>, tensor<512x16x576xbf16>, tensor<2x1xi32>, tensor<2x256xi32>) -> tensor<2x1x8192xbf16>
  %y = llm.latent_attention %many, %row cache(%rows) at(%positions) pages(%pages) {heads = 128 : i64, rank = 512 : i64, scale = 0.1 : f64}
    : (tensor<2x1x73728xbf16>, tensor<2x1x576xbf16>, tensor<512x16x576xbf16>, tensor<2x1xi32>, tensor<2x256xi32>) -> tensor<2x1x65536xbf16>
  %z = llm.latent_attention %many, %byte cache(%bytes) at(%positions) scales(%s, %t) {heads = 128 : i64, rank = 512 : i64, scale = 0.1 : f64}
    : (tensor<2x1x73728xbf16>, tensor<2x1x576xi8>, tensor<2x4096x576xi8>, tensor<2x1xi32>, tensor<2x1x1xbf16>, tensor<2x4096x1xbf16>) -> tensor<2x1x65536xbf16>
  return %x, %y, %z : tensor<2x1x8192xbf16>, tensor<2x1x65536xbf16>, tensor<2x1x65536xbf16>
}
