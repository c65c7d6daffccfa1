// Bytes that attention to latent rows asks for on a GPU, of 16 full caches of 8192 rows of 576 in bf16. A block takes the 16 heads of
// DeepSeek-V2-Lite at once, so each row is read once: 1.08 of the least, of which the sums of 8 parts, written and read, are a
// twentieth. 128 heads are two groups of 64, whose sums fill half of a multiprocessor's registers each, so each row is asked for
// twice: 2.27 of the least. Rows of int8 are half of that.
//
// Least: rows 16 * 8192 * 576 * 2 = 150994944; queries and results 16 * heads * (576 + 512) * 2; new rows and
// positions 18496. Together 151570496 with 16 heads, 155469888 with 128.
//
// RUN: llmmem-opt --checkpoint-policy=none %s -o %t.mlir 2> %t.err
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse --report-kernel-traffic %t.mlir -o /dev/null 2>&1 | FileCheck %s
//
// CHECK: kernel_0_latent_attention {{ *}}1 {{ *}}2 {{ *}}163353600 {{ *}}163353600 {{ *}}151570496 {{ *}}1.078 (data decides)
// CHECK: kernel_1_latent_attention {{ *}}1 {{ *}}2 {{ *}}352436224 {{ *}}352436224 {{ *}}155469888 {{ *}}2.267 (data decides)
// CHECK: kernel_2_latent_attention {{ *}}1 {{ *}}2 {{ *}}201947200 {{ *}}201947200 {{ *}}80225376 {{ *}}2.517 (data decides)
func.func @step(%few: tensor<16x1x9216xbf16>, %many: tensor<16x1x73728xbf16>, %row: tensor<16x1x576xbf16>, %rows: tensor<16x8192x576xbf16>,
                %positions: tensor<16x1xi32>, %byte: tensor<16x1x576xi8>, %bytes: tensor<16x8192x576xi8>, %s: tensor<16x1x1xbf16>,
                %t: tensor<16x8192x1xbf16>) -> (tensor<16x1x8192xbf16>, tensor<16x1x65536xbf16>, tensor<16x1x65536xbf16>) {
  %x = llm.latent_attention %few, %row cache(%rows) at(%positions) {heads = 16 : i64, rank = 512 : i64, scale = 0.1 : f64}
    : (tensor<16x1x9216xbf16>, tensor<16x1x576xbf16>, tensor<16x8192x576xbf16>, tensor<16x1xi32>) -> tensor<16x1x8192xbf16>
  %y = llm.latent_attention %many, %row cache(%rows) at(%positions) {heads = 128 : i64, rank = 512 : i64, scale = 0.1 : f64}
    : (tensor<16x1x73728xbf16>, tensor<16x1x576xbf16>, tensor<16x8192x576xbf16>, tensor<16x1xi32>) -> tensor<16x1x65536xbf16>
  %z = llm.latent_attention %many, %byte cache(%bytes) at(%positions) scales(%s, %t) {heads = 128 : i64, rank = 512 : i64, scale = 0.1 : f64}
    : (tensor<16x1x73728xbf16>, tensor<16x1x576xi8>, tensor<16x8192x576xi8>, tensor<16x1xi32>, tensor<16x1x1xbf16>, tensor<16x8192x1xbf16>) -> tensor<16x1x65536xbf16>
  return %x, %y, %z : tensor<16x1x8192xbf16>, tensor<16x1x65536xbf16>, tensor<16x1x65536xbf16>
}
