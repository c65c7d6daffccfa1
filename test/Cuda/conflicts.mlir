// No access of shared memory conflicts in matmuls of bf16, whichever way their factors lie, and in attention, forward and
// backward, with heads of 64. With heads of 96, whose lines are padded, eight lanes that copy the end of one line and the
// begin of the next meet in one bank, two ways.
//
// RUN: llmmem-opt --checkpoint-policy=none %s -o %t.mlir 2> %t.err
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --report-kernel-counts=most-conflicts=2 %t.mlir -o /dev/null 2>&1 | FileCheck %s
// RUN: not llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --report-kernel-counts=most-conflicts=1 %t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=PADDED
//
// PADDED: error: 'nvgpu.device_async_copy' op needs 2 passes of shared memory for lanes that could go together, in kernel 'kernel_6_attention_kernel'
//
// 8448 x 512 in 33 x 4 tiles of 256 x 128, 3 steps of 32: 3 barriers a block. Each step reads 8 warps' 64 + 64 rows of
// 64 bytes, and copies 256 + 128: 352 passes of 128 bytes a step of 16.
// CHECK: kernel_0_linear_kernel {{ *}}1 {{ *}}132 {{ *}}202752 {{ *}}396 {{ *[0-9]+ *}}278784 {{ *}}278784 {{ *}}1{{ }}
// CHECK: kernel_1_linear_kernel {{ *}}1 {{ *}}132 {{ *}}202752 {{ *}}396 {{ *[0-9]+ *}}278784 {{ *}}278784 {{ *}}1{{ }}
// Tiles of 128 x 128, 4 of them, whose sums over 8448 rows are 8 parts.
// CHECK: kernel_2_linear_weight_grad_kernel {{ *}}1 {{ *}}32 {{ *}}270336 {{ *}}1056 {{ *[0-9]+ *}}540672 {{ *}}540672 {{ *}}1{{ }}
// CHECK: kernel_3_linear_weight_grad_kernel {{ *}}1 {{ *}}32 {{ *}}270336 {{ *}}1056 {{ *[0-9]+ *}}540672 {{ *}}540672 {{ *}}1{{ }}
// CHECK: kernel_4_attention_kernel {{ *}}1 {{ *}}4 {{ *}}6144 {{ *}}32 {{ *[0-9]+ *}}14848 {{ *}}14848 {{ *}}1{{ }}
// CHECK: kernel_5_attention_grad_kernel {{ *}}1 {{ *}}8 {{ *}}7680 {{ *}}128 {{ *[0-9]+ *}}20992 {{ *}}20992 {{ *}}1{{ }}
// CHECK: kernel_5_attention_grad_kernel_0 {{ *}}1 {{ *}}8 {{ *}}10240 {{ *}}160 {{ *[0-9]+ *}}34304 {{ *}}34304 {{ *}}1{{ }}
// CHECK: kernel_6_attention_kernel {{ *}}1 {{ *}}4 {{ *}}9216 {{ *}}32 {{ *[0-9]+ *}}23296 {{ *}}22272 {{ *}}2{{ }}

func.func @step(%x: tensor<8448x96xbf16>, %w: tensor<96x512xbf16>, %t: tensor<512x96xbf16>, %dy: tensor<8448x512xbf16>,
                %q: tensor<1x256x128xbf16>, %d: tensor<1x256x128xbf16>, %r: tensor<1x256x192xbf16>, %g: tensor<1x256x192xbf16>)
    -> (tensor<8448x512xbf16>, tensor<8448x512xbf16>, tensor<96x512xbf16>, tensor<512x96xbf16>,
        tensor<1x256x128xbf16>, tensor<1x256x128xbf16>, tensor<1x256x128xbf16>,
        tensor<1x256x192xbf16>, tensor<1x256x192xbf16>, tensor<1x256x192xbf16>) {
  %y = llm.linear %x, %w layout(in_out) : (tensor<8448x96xbf16>, tensor<96x512xbf16>) -> tensor<8448x512xbf16>
  %z = llm.linear %x, %t layout(out_in) : (tensor<8448x96xbf16>, tensor<512x96xbf16>) -> tensor<8448x512xbf16>
  %dw = llm.linear_weight_grad %x, %dy layout(in_out) : (tensor<8448x96xbf16>, tensor<8448x512xbf16>) -> tensor<96x512xbf16>
  %dt = llm.linear_weight_grad %x, %dy layout(out_in) : (tensor<8448x96xbf16>, tensor<8448x512xbf16>) -> tensor<512x96xbf16>
  %o, %l = llm.attention %q, %q, %q {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.125 : f64}
    : (tensor<1x256x128xbf16>, tensor<1x256x128xbf16>, tensor<1x256x128xbf16>) -> (tensor<1x256x128xbf16>, tensor<1x2x256xf32>)
  %dq, %dk, %dv = llm.attention_grad %q, %q, %q, %o, %l, %d {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.125 : f64}
    : (tensor<1x256x128xbf16>, tensor<1x256x128xbf16>, tensor<1x256x128xbf16>, tensor<1x256x128xbf16>, tensor<1x2x256xf32>, tensor<1x256x128xbf16>)
   -> (tensor<1x256x128xbf16>, tensor<1x256x128xbf16>, tensor<1x256x128xbf16>)
  %p, %m = llm.attention %r, %r, %r {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.125 : f64}
    : (tensor<1x256x192xbf16>, tensor<1x256x192xbf16>, tensor<1x256x192xbf16>) -> (tensor<1x256x192xbf16>, tensor<1x2x256xf32>)
  %eq, %ek, %ev = llm.attention_grad %r, %r, %r, %p, %m, %g {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.125 : f64}
    : (tensor<1x256x192xbf16>, tensor<1x256x192xbf16>, tensor<1x256x192xbf16>, tensor<1x256x192xbf16>, tensor<1x2x256xf32>, tensor<1x256x192xbf16>)
   -> (tensor<1x256x192xbf16>, tensor<1x256x192xbf16>, tensor<1x256x192xbf16>)
  return %y, %z, %dw, %dt, %dq, %dk, %dv, %eq, %ek, %ev
    : tensor<8448x512xbf16>, tensor<8448x512xbf16>, tensor<96x512xbf16>, tensor<512x96xbf16>,
      tensor<1x256x128xbf16>, tensor<1x256x128xbf16>, tensor<1x256x128xbf16>,
      tensor<1x256x192xbf16>, tensor<1x256x192xbf16>, tensor<1x256x192xbf16>
}
