// Long formulas on eight elements, and tables' gradients, in 64 registers.
// REQUIRES: ptxas
// RUN: llmmem-opt --target=cuda --chip=sm_80 %s | %ptx table --ptxas ptxas_path --registers . 64 --vector . | FileCheck %s
// RUN: llmmem-opt --target=cuda --chip=sm_90a %s | %ptx table --ptxas ptxas_path --registers . 64 --vector . | FileCheck %s
// CHECK: kernel_0_gelu_grad_kernel
// CHECK: kernel_1_embedding_grad_kernel
// CHECK: kernel_2_embedding_grad_kernel
func.func @step(%h: tensor<8192x3072xbf16>, %g: tensor<8192x3072xbf16>, %ids: tensor<8x1024xi32>, %dy: tensor<8x1024x768xbf16>,
                %acc: tensor<50257x768xbf16> {llm.donated = 0 : i64}, %wide: tensor<8x1024x4096xbf16>)
    -> (tensor<50257x768xbf16>, tensor<8192x3072xbf16>, tensor<5000x4096xbf16>) attributes {llm.arena = 91291648 : i64} {
  %d = llm.gelu_grad %h, %g {llm.offsets = array<i64: 0>} : tensor<8192x3072xbf16>
  %t = llm.embedding_grad %ids, %dy into(%acc) {llm.offsets = array<i64: -1>}
    : (tensor<8x1024xi32>, tensor<8x1024x768xbf16>, tensor<50257x768xbf16>) -> tensor<50257x768xbf16>
  %u = llm.embedding_grad %ids, %wide {llm.offsets = array<i64: 50331648>}
    : (tensor<8x1024xi32>, tensor<8x1024x4096xbf16>) -> tensor<5000x4096xbf16>
  return %t, %d, %u : tensor<50257x768xbf16>, tensor<8192x3072xbf16>, tensor<5000x4096xbf16>
}
