// Products of numbers in fewer bits have a rate of their own, of i4 one FLOP a ns here: 2 * 2 * 8 * 64 FLOPs take 2048 ns, and two a ns of
// i8 1024. The table has none of f8, which take f32's rate of 50, since kernels multiply f32s; numbers as they are have bf16's of 100.
//
// RUN: split-file %s %t
// RUN: llmmem-opt --annotate-memory=device=%t/device.json %t/step.mlir | FileCheck %s

// CHECK: llm.linear {{.*}}flops = 2048, {{.*}}ns = 2048,{{.*}}xi4>
// CHECK: llm.linear {{.*}}flops = 2048, {{.*}}ns = 1024,{{.*}}xi8>
// CHECK: llm.linear {{.*}}flops = 2048, {{.*}}ns = 41,{{.*}}xf8E4M3FN>
// CHECK: llm.linear {{.*}}flops = 2048, {{.*}}ns = 21,{{.*}}tensor<8x64xbf16>) ->

//--- device.json
{"name": "x", "flops_per_ns": {"bf16": 100, "f32": 50, "f64": 1, "i4": 1, "i8": 2}, "bytes_per_ns": 10000, "launch_ns": 0}
//--- step.mlir
func.func @step(%x: tensor<2x64xbf16>, %i4: tensor<8x64xi4>, %i8: tensor<8x64xi8>, %f8: tensor<8x64xf8E4M3FN>, %w: tensor<8x64xbf16>,
                %s: tensor<8x2xbf16>, %z: tensor<8x2xi4>) -> (tensor<2x8xbf16>, tensor<2x8xbf16>, tensor<2x8xbf16>, tensor<2x8xbf16>) {
  %0 = llm.linear %x, %i4 scales(%s) zeros(%z) layout(out_in)
    : (tensor<2x64xbf16>, tensor<8x64xi4>, tensor<8x2xbf16>, tensor<8x2xi4>) -> tensor<2x8xbf16>
  %1 = llm.linear %x, %i8 scales(%s) layout(out_in) : (tensor<2x64xbf16>, tensor<8x64xi8>, tensor<8x2xbf16>) -> tensor<2x8xbf16>
  %2 = llm.linear %x, %f8 scales(%s) layout(out_in) : (tensor<2x64xbf16>, tensor<8x64xf8E4M3FN>, tensor<8x2xbf16>) -> tensor<2x8xbf16>
  %3 = llm.linear %x, %w layout(out_in) : (tensor<2x64xbf16>, tensor<8x64xbf16>) -> tensor<2x8xbf16>
  return %0, %1, %2, %3 : tensor<2x8xbf16>, tensor<2x8xbf16>, tensor<2x8xbf16>, tensor<2x8xbf16>
}
