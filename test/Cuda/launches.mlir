// Launches become calls that say the kernel's number, grid, block and arguments; each function that may launch takes the
// run first.
// RUN: llmmem-opt %s --convert-launches-to-runtime | FileCheck %s
// RUN: llmmem-opt %s --convert-launches-to-runtime --convert-kernels-to-llvm | FileCheck %s --check-prefix=LLVM

// CHECK: llm.kernels = [@kernel_module::@first, @kernel_module::@second]
module attributes {gpu.container_module} {
  gpu.binary @kernel_module [#gpu.object<#nvvm.target, assembly = "">]

  // CHECK-LABEL: func.func private @kernel_0
  // CHECK-SAME: (%[[DEVICE:.*]]: !llvm.ptr, %[[X:.*]]: memref<64xbf16>, %[[N:.*]]: i64, %[[S:.*]]: f32)
  // CHECK: %[[NUMBER:.*]] = arith.constant 0 : i64
  // CHECK: %[[SHARED:.*]] = arith.extui %{{.*}} : i32 to i64
  // CHECK: %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index %[[X]]
  // CHECK: %[[WORD:.*]] = arith.index_cast %[[ADDRESS]]
  // CHECK: %[[SLOT:.*]] = llvm.getelementptr %[[VALUES:.*]][0]
  // CHECK: llvm.store %[[WORD]], %[[SLOT]]
  // CHECK: llvm.store %[[N]],
  // CHECK: arith.bitcast %[[S]] : f32 to i32
  // CHECK: arith.extui
  // CHECK: call @llmmem_cuda_launch(%[[DEVICE]], %[[NUMBER]], %{{.*}}, %[[SHARED]], %[[VALUES]], %{{.*}})
  // CHECK: %[[SECOND:.*]] = arith.constant 1 : i64
  // CHECK: call @llmmem_cuda_launch(%[[DEVICE]], %[[SECOND]],
  // CHECK: %[[AGAIN:.*]] = arith.constant 0 : i64
  // CHECK: call @llmmem_cuda_launch(%[[DEVICE]], %[[AGAIN]],
  func.func private @kernel_0(%x: memref<64xbf16>, %n: i64, %s: f32) {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %bytes = arith.constant 1024 : i32
    gpu.launch_func @kernel_module::@first blocks in (%c4, %c1, %c1) threads in (%c1, %c1, %c1)
        dynamic_shared_memory_size %bytes args(%x : memref<64xbf16>, %n : i64, %s : f32)
    gpu.launch_func @kernel_module::@second blocks in (%c4, %c1, %c1) threads in (%c1, %c1, %c1)
    gpu.launch_func @kernel_module::@first blocks in (%c4, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%x : memref<64xbf16>, %n : i64, %s : f32)
    return
  }

  // CHECK-LABEL: func.func @step
  // CHECK-SAME: (%[[DEVICE:.*]]: !llvm.ptr, %[[ARENA:.*]]: memref<512xi8>
  // CHECK: %[[VIEW:.*]] = memref.view %[[ARENA]]
  // CHECK: call @kernel_0(%[[DEVICE]], %[[VIEW]],
  // LLVM-LABEL: llvm.func @step
  // LLVM-SAME: (%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
  // LLVM: llvm.call @kernel_0
  func.func @step(%arena: memref<512xi8>) {
    %c256 = arith.constant 256 : index
    %n = arith.constant 3 : i64
    %s = arith.constant 0.5 : f32
    %v = memref.view %arena[%c256][] : memref<512xi8> to memref<64xbf16>
    call @kernel_0(%v, %n, %s) : (memref<64xbf16>, i64, f32) -> ()
    return
  }
}
