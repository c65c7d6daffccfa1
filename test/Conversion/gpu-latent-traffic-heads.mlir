// Bytes that attention to latent rows asks for on a GPU with 64 heads, which are one group, of 16 full caches of 8192 rows of 576. For a
// cache in 16 bits, which is read once, queries and sums of four parts are 0.15 of the least, for one in 8 bits 0.30.
//
// RUN: llmmem-opt --checkpoint-policy=none %s -o %t.mlir 2> %t.err
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse --report-kernel-traffic %t.mlir -o /dev/null 2>&1 | FileCheck %s
//
// CHECK: kernel_0_latent_attention {{ *}}1 {{ *}}2 {{ *}}176218112 {{ *}}176218112 {{ *}}153241664 {{ *}}1.150 (data decides)
// CHECK: kernel_1_latent_attention {{ *}}1 {{ *}}2 {{ *}}100973600 {{ *}}100973600 {{ *}}77997152 {{ *}}1.295 (data decides)
func.func @step(%q: tensor<16x1x36864xbf16>, %row: tensor<16x1x576xbf16>, %rows: tensor<16x8192x576xbf16>, %p: tensor<16x1xi32>, %byte: tensor<16x1x576xi8>, %bytes: tensor<16x8192x576xi8>, %s: tensor<16x1x1xbf16>, %t: tensor<16x8192x1xbf16>)
    -> (tensor<16x1x32768xbf16>, tensor<16x1x32768xbf16>) {
  %y = llm.latent_attention %q, %row cache(%rows) at(%p) {heads = 64 : i64, rank = 512 : i64, scale = 0.1 : f64}
    : (tensor<16x1x36864xbf16>, tensor<16x1x576xbf16>, tensor<16x8192x576xbf16>, tensor<16x1xi32>) -> tensor<16x1x32768xbf16>
  %z = llm.latent_attention %q, %byte cache(%bytes) at(%p) scales(%s, %t) {heads = 64 : i64, rank = 512 : i64, scale = 0.1 : f64}
    : (tensor<16x1x36864xbf16>, tensor<16x1x576xi8>, tensor<16x8192x576xi8>, tensor<16x1xi32>, tensor<16x1x1xbf16>, tensor<16x8192x1xbf16>) -> tensor<16x1x32768xbf16>
  return %y, %z : tensor<16x1x32768xbf16>, tensor<16x1x32768xbf16>
}
