// On a GPU a collective is a call of the runtime in the host function, with addresses of the device; where its parts
// do not lie in one piece, a launch reorders them.
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu %s | FileCheck %s

// CHECK-LABEL: func.func private @kernel_0_all_reduce
// CHECK-NOT:   gpu.launch
// CHECK:       memref.extract_aligned_pointer_as_index
// CHECK:       call @llmmem_all_reduce(
// CHECK-LABEL: func.func private @kernel_1_all_gather
// CHECK-NOT:   gpu.launch
// CHECK:       call @llmmem_all_gather(
// CHECK:       gpu.launch
// CHECK:       return
func.func @step(%x: tensor<4x8xf32>) -> tensor<4x16xf32>
    attributes {llm.arena = 1280 : i64, llm.mesh = #llm.mesh<dp = 2>} {
  %y = llm.all_reduce %x over ["dp"] {llm.offsets = array<i64: 0>, llm.workspace = array<i64: 256, 128>} : tensor<4x8xf32>
  %z = llm.all_gather %y over ["dp"] {dimension = 1 : i64, llm.offsets = array<i64: 512>, llm.workspace = array<i64: 768, 256>} : (tensor<4x8xf32>) -> tensor<4x16xf32>
  return %z : tensor<4x16xf32>
}
