// Where tensor cores do not multiply latent rows, the kernel of other caches does, which reads each row once for 8 heads: people hear of it, and why.
// What they multiply is said nothing of.
//
// RUN: llmmem-opt --checkpoint-policy=none %s 2>/dev/null | llmmem-opt --convert-step-to-kernels=target=gpu -o /dev/null 2> %t
// RUN: FileCheck %s --implicit-check-not=remark < %t
//
// CHECK: remark: reads each row 2 times and multiplies without tensor cores: elements are f32, and they multiply bf16 and f16
// CHECK: remark: reads each row 2 times and multiplies without tensor cores: rows have 40 elements, which are no multiple of 16
// CHECK: remark: reads each row 2 times and multiplies without tensor cores: values have 24 elements, which are no multiple of 16
// CHECK: remark: reads each row 2 times and multiplies without tensor cores: values have 528 elements, more than 512
// CHECK: remark: reads each row 2 times and multiplies without tensor cores: rows have 2048 elements, so that those of 16 heads fit no workgroup memory
func.func @step(%p: tensor<1x1xi32>, %q: tensor<1x1x512xf32>, %r: tensor<1x1x32xf32>, %c: tensor<1x8x32xf32>,
                %q40: tensor<1x1x640xbf16>, %r40: tensor<1x1x40xbf16>, %c40: tensor<1x8x40xbf16>,
                %q32: tensor<1x1x512xbf16>, %r32: tensor<1x1x32xbf16>, %c32: tensor<1x8x32xbf16>,
                %q544: tensor<1x1x8704xbf16>, %r544: tensor<1x1x544xbf16>, %c544: tensor<1x8x544xbf16>,
                %q2048: tensor<1x1x32768xbf16>, %r2048: tensor<1x1x2048xbf16>, %c2048: tensor<1x8x2048xbf16>)
    -> (tensor<1x1x256xf32>, tensor<1x1x256xbf16>, tensor<1x1x384xbf16>, tensor<1x1x8448xbf16>, tensor<1x1x256xbf16>, tensor<1x1x256xbf16>) {
  %0 = llm.latent_attention %q, %r cache(%c) at(%p) {heads = 16 : i64, rank = 16 : i64, scale = 0.5 : f64}
    : (tensor<1x1x512xf32>, tensor<1x1x32xf32>, tensor<1x8x32xf32>, tensor<1x1xi32>) -> tensor<1x1x256xf32>
  %1 = llm.latent_attention %q40, %r40 cache(%c40) at(%p) {heads = 16 : i64, rank = 16 : i64, scale = 0.5 : f64}
    : (tensor<1x1x640xbf16>, tensor<1x1x40xbf16>, tensor<1x8x40xbf16>, tensor<1x1xi32>) -> tensor<1x1x256xbf16>
  %2 = llm.latent_attention %q32, %r32 cache(%c32) at(%p) {heads = 16 : i64, rank = 24 : i64, scale = 0.5 : f64}
    : (tensor<1x1x512xbf16>, tensor<1x1x32xbf16>, tensor<1x8x32xbf16>, tensor<1x1xi32>) -> tensor<1x1x384xbf16>
  %3 = llm.latent_attention %q544, %r544 cache(%c544) at(%p) {heads = 16 : i64, rank = 528 : i64, scale = 0.5 : f64}
    : (tensor<1x1x8704xbf16>, tensor<1x1x544xbf16>, tensor<1x8x544xbf16>, tensor<1x1xi32>) -> tensor<1x1x8448xbf16>
  %4 = llm.latent_attention %q2048, %r2048 cache(%c2048) at(%p) {heads = 16 : i64, rank = 16 : i64, scale = 0.5 : f64}
    : (tensor<1x1x32768xbf16>, tensor<1x1x2048xbf16>, tensor<1x8x2048xbf16>, tensor<1x1xi32>) -> tensor<1x1x256xbf16>
  %5 = llm.latent_attention %q32, %r32 cache(%c32) at(%p) {heads = 16 : i64, rank = 16 : i64, scale = 0.5 : f64}
    : (tensor<1x1x512xbf16>, tensor<1x1x32xbf16>, tensor<1x8x32xbf16>, tensor<1x1xi32>) -> tensor<1x1x256xbf16>
  return %0, %1, %2, %3, %4, %5 : tensor<1x1x256xf32>, tensor<1x1x256xbf16>, tensor<1x1x384xbf16>, tensor<1x1x8448xbf16>, tensor<1x1x256xbf16>, tensor<1x1x256xbf16>
}
