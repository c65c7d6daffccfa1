// A kernel is a function of one thread; each access is announced with its place, and the module says what it has.
//
// RUN: llmmem-opt --emulate-gpu-kernels %s | FileCheck %s
//
// CHECK: calls = [{location = {{.*}}, values = array<i64: 0, 1>, writes = array<i64: 1>}]
// CHECK-SAME: kernels = [{buffer_bytes = array<i64: 1024, 32>, name = "sum_kernel", shared_bytes = 256 : i64, synchronizes}]
// CHECK-SAME: launches = [{kernel = 0 : i64, location = {{.*}}, parameters = array<i64: 0, 1>}]
// CHECK-SAME: {alignment = 16 : i64, buffer = 0 : i64, bytes = 16 : i64, extent = 1024 : i64, kind = "read", location = {{.*}}, text = "%{{.*}} = vector.load %arg0
// CHECK-SAME: {kind = "shuffle", location = {{.*}}, mode = "xor", text = "{{.*}} = gpu.shuffle
// CHECK-SAME: {kind = "barrier"
// CHECK-NOT: gpu.{{func|module|launch}}
//
// CHECK: func.func private @sum(%[[X:.*]]: memref<256xf32>, %[[Y:.*]]: memref<8xf32>, %[[E:.*]]: !llvm.ptr)
// CHECK: call @llmmem_emulate_launch(%[[E]],
// CHECK: func.func @step(%[[X:.*]]: memref<256xf32>, %[[Y:.*]]: memref<8xf32>, %[[E:.*]]: !llvm.ptr)
// CHECK: call @llmmem_emulate_call(%[[E]], %{{.*}}) : (!llvm.ptr, i64) -> ()
// CHECK-NEXT: call @sum(%[[X]], %[[Y]], %[[E]])
// CHECK: func.func private @sum_kernel(%[[T:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr)
// CHECK: call @llmmem_emulate_access(%[[T]], %c0_i64{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, i64, i64, i64) -> ()
// CHECK-NEXT: vector.load
// CHECK: call @llmmem_emulate_shuffle(%[[T]],
// CHECK: call @llmmem_emulate_barrier(%[[T]],

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @sum_kernel(%x: memref<256xf32>, %y: memref<8xf32>)
        workgroup(%slots: memref<2xf32, #gpu.address_space<workgroup>>) kernel {
      %thread = gpu.thread_id x
      %one = arith.constant 1 : i32
      %all = arith.constant 32 : i32
      %v = vector.load %x[%thread] : memref<256xf32>, vector<4xf32>
      %s = vector.reduction <add>, %v : vector<4xf32> into f32
      %t, %valid = gpu.shuffle xor %s, %one, %all : f32
      memref.store %t, %slots[%thread] : memref<2xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %u = memref.load %slots[%thread] : memref<2xf32, #gpu.address_space<workgroup>>
      memref.store %u, %y[%thread] : memref<8xf32>
      gpu.return
    }
  }
  func.func private @sum(%x: memref<256xf32>, %y: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@sum_kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%x : memref<256xf32>, %y : memref<8xf32>)
    return
  }
  func.func @step(%x: memref<256xf32>, %y: memref<8xf32>) {
    call @sum(%x, %y) {llm.values = array<i64: 0, 1>, llm.writes = array<i64: 1>} : (memref<256xf32>, memref<8xf32>) -> ()
    return
  }
}
