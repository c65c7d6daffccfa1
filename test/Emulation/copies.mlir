// Asynchronous copies to shared memory, twice to the same bytes. What a copy writes may be read by its own thread after it
// has waited for the copy's group, by others after a barrier too; and nobody may still read what it writes to.
//
// RUN: llmmem-emulate %s --print 64 | FileCheck %s
//
// Each lane reads the eight elements that its neighbour copied.
// CHECK: argument 1: 8 9 10 11 12 13 14 15 16 17
//
// Of which a copy may read some, and make the rest zeros:
// RUN: sed "s/constant 8 : index .. count/constant 6 : index/" %s | llmmem-emulate --print 64 | FileCheck %s --check-prefix=REST
// REST: argument 1: 8 9 10 11 12 13 0 0 16 17
//
// Read before the wait, by the copying thread itself and by its neighbour:
// RUN: sed "/wait.group 0/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=WAIT
// WAIT: error: kernel 'copy', block (0, 0, 0), thread ({{.*}}): reads byte {{[0-9]+}} of shared memory, to which thread ({{.*}}) copies: it has not waited for the copy's group
// WAIT: note: in %{{.*}} = vector.load
// WAIT: note: the copy: %{{.*}} = nvgpu.device_async_copy
//
// A wait for all but the newest group, which is the one that is read:
// RUN: sed "s/wait.group 0/wait.group 1/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=WAIT
//
// Never committed:
// RUN: sed "/commit.group/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=WAIT
//
// A neighbour's copy, which nothing orders:
// RUN: sed "/gpu.barrier .. copied/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: kernel 'copy', block (0, 0, 0), thread ({{.*}}): reads byte {{[0-9]+}} of shared memory, which this block has not written
//
// A copy into the stage that is still read:
// RUN: sed "/gpu.barrier .. read/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=STAGE
// STAGE: error: kernel 'copy', block (0, 0, 0), thread ({{.*}}): writes byte {{[0-9]+}} of shared memory, which thread ({{.*}}) has read with no barrier between
//
// Beyond the buffer:
// RUN: sed "s/a.%own./a[%%past]/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=BEYOND
// BEYOND: error: kernel 'copy', block (0, 0, 0), thread (31, 0, 0): reads 16 bytes at byte 512 of argument 0, which has 512
//
// More elements than the copy writes:
// RUN: sed "s/constant 8 : index .. count/constant 9 : index/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: kernel 'copy', block (0, 0, 0), thread (0, 0, 0): reads 18 bytes in a copy of 16

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @copy(%a: memref<256xbf16>, %b: memref<256xbf16>)
        workgroup(%tile: memref<256xbf16, #gpu.address_space<workgroup>>) kernel {
      %lane = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c8 = arith.constant 8 : index
      %c32 = arith.constant 32 : index
      %count = arith.constant 8 : index // count
      %own = arith.muli %lane, %c8 : index
      %past = arith.addi %own, %c8 : index
      %next = arith.addi %lane, %c1 : index
      %ring = arith.remui %next, %c32 : index
      %other = arith.muli %ring, %c8 : index
      scf.for %i = %c0 to %c2 step %c1 {
        %0 = nvgpu.device_async_copy %a[%own], %tile[%own], 8, %count
          : memref<256xbf16> to memref<256xbf16, #gpu.address_space<workgroup>>
        nvvm.cp.async.commit.group
        nvvm.cp.async.wait.group 0
        gpu.barrier // copied
        %v = vector.load %tile[%other] : memref<256xbf16, #gpu.address_space<workgroup>>, vector<8xbf16>
        vector.store %v, %b[%own] : memref<256xbf16>, vector<8xbf16>
        gpu.barrier // read
      }
      gpu.return
    }
  }
  func.func @step(%a: memref<256xbf16>, %b: memref<256xbf16>) {
    %c1 = arith.constant 1 : index
    %threads = arith.constant 32 : index
    gpu.launch_func @kernels::@copy blocks in (%c1, %c1, %c1) threads in (%threads, %c1, %c1)
        args(%a : memref<256xbf16>, %b : memref<256xbf16>)
    return
  }
}
