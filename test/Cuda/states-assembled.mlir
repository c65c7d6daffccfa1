// The kernels of carried states do not spill, with the sizes of Qwen3-Next: keys and values of 128 numbers, chunks of 64 tokens.
// REQUIRES: ptxas
// RUN: llmmem-opt --plan-arena --verify-plan %s | llmmem-opt --target=cuda --chip=sm_90 | %ptx table --ptxas ptxas_path | FileCheck %s
// CHECK: kernel_{{[0-9]+}}_state_scan_kernel
// CHECK: kernel_{{[0-9]+}}_state_scan_grad_kernel
// CHECK: kernel_{{[0-9]+}}_cached_scan_kernel
// CHECK: kernels for sm_90
func.func @step(%q: tensor<1x256x2x128xbf16>, %k: tensor<1x256x2x128xbf16>, %v: tensor<1x256x4x128xbf16>, %g: tensor<1x256x4xf32>, %b: tensor<1x256x4xf32>,
                %dy: tensor<1x256x4x128xbf16>, %held: tensor<1x4x128x128xf32> {llm.donated = 2 : i64}, %positions: tensor<1x256xi32>)
    -> (tensor<1x256x4x128xbf16>, tensor<1x256x4x128xbf16>, tensor<1x4x128x128xf32>, tensor<1x256x4x128xbf16>) {
  %y, %states = llm.state_scan %q, %k, %v decay(%g) strength(%b) {delta}
     : (tensor<1x256x2x128xbf16>, tensor<1x256x2x128xbf16>, tensor<1x256x4x128xbf16>, tensor<1x256x4xf32>, tensor<1x256x4xf32>)
       -> (tensor<1x256x4x128xbf16>, tensor<1x4x4x128x128xf32>)
  %dq, %dk, %dv, %dg, %db = llm.state_scan_grad %q, %k, %v decay(%g) strength(%b) states(%states) %dy {delta}
     : (tensor<1x256x2x128xbf16>, tensor<1x256x2x128xbf16>, tensor<1x256x4x128xbf16>, tensor<1x256x4xf32>, tensor<1x256x4xf32>,
        tensor<1x4x4x128x128xf32>, tensor<1x256x4x128xbf16>)
       -> (tensor<1x256x4x128xbf16>, tensor<1x256x4x128xbf16>, tensor<1x256x4x128xbf16>, tensor<1x256x4xf32>, tensor<1x256x4xf32>)
  %z, %state = llm.cached_scan %q, %k, %v decay(%g) strength(%b) state(%held) at(%positions) {delta}
     : (tensor<1x256x2x128xbf16>, tensor<1x256x2x128xbf16>, tensor<1x256x4x128xbf16>, tensor<1x256x4xf32>, tensor<1x256x4xf32>,
        tensor<1x4x128x128xf32>, tensor<1x256xi32>) -> (tensor<1x256x4x128xbf16>, tensor<1x4x128x128xf32>)
  return %z, %dq, %state, %dv : tensor<1x256x4x128xbf16>, tensor<1x256x4x128xbf16>, tensor<1x4x128x128xf32>, tensor<1x256x4x128xbf16>
}
