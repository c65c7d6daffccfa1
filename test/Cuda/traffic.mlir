// Bytes moved against the least possible: threads of a warp that read one address count once (%scale), a row that a block
// reads again counts once as it fits a cache, a table that is too long for one does not, and a launch in a loop counts as
// often as it runs.
// RUN: llmmem-opt %s --report-kernel-traffic=json=%t.json -o /dev/null 2> %t
// RUN: FileCheck %s --check-prefix=JSON < %t.json
// RUN: FileCheck %s < %t

// CHECK: kernel {{ *}}calls {{ *}}launches {{ *}}bytes asked {{ *}}bytes moved {{ *}}least {{ *}}ratio
// 4096 numbers in, 4096 out, one scale.
// CHECK: scaled {{ *}}2 {{ *}}1 {{ *}}32772 {{ *}}32772 {{ *}}32772 {{ *}}1.000
// Each of four rows of 1024 twice in and once out.
// CHECK: twice {{ *}}1 {{ *}}1 {{ *}}49152 {{ *}}32768 {{ *}}32768 {{ *}}1.000
// 65536 numbers twice.
// CHECK: long {{ *}}1 {{ *}}1 {{ *}}524288 {{ *}}524288 {{ *}}262144 {{ *}}2.000
// CHECK: looped {{ *}}1 {{ *}}3 {{ *}}98316 {{ *}}98316
// What the index depends on is data: each thread counts.
// CHECK: gathered {{ *}}1 {{ *}}1 {{ *}}384 {{.*}}(data decides)
// JSON: "format": "llmmem-kernel-traffic"

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @scaled(%x: memref<4096xf32>, %scale: memref<1xf32>, %y: memref<4096xf32>) kernel {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %c1024 = arith.constant 1024 : index
      %block = gpu.block_id x
      %thread = gpu.thread_id x
      %row = arith.muli %block, %c1024 : index
      %column = arith.muli %thread, %c4 : index
      %i = arith.addi %row, %column : index
      %v = vector.load %x[%i] : memref<4096xf32>, vector<4xf32>
      %s = memref.load %scale[%c0] : memref<1xf32>
      %all = vector.broadcast %s : f32 to vector<4xf32>
      %w = arith.mulf %v, %all : vector<4xf32>
      vector.store %w, %y[%i] : memref<4096xf32>, vector<4xf32>
      gpu.return
    }
    gpu.func @twice(%x: memref<4096xf32>, %y: memref<4096xf32>) kernel {
      %c4 = arith.constant 4 : index
      %c1024 = arith.constant 1024 : index
      %block = gpu.block_id x
      %thread = gpu.thread_id x
      %row = arith.muli %block, %c1024 : index
      %column = arith.muli %thread, %c4 : index
      %i = arith.addi %row, %column : index
      %v = vector.load %x[%i] : memref<4096xf32>, vector<4xf32>
      gpu.barrier
      %w = vector.load %x[%i] : memref<4096xf32>, vector<4xf32>
      %u = arith.addf %v, %w : vector<4xf32>
      vector.store %u, %y[%i] : memref<4096xf32>, vector<4xf32>
      gpu.return
    }
    gpu.func @long(%x: memref<65536xf32>) kernel {
      %c0 = arith.constant 0 : index
      %c256 = arith.constant 256 : index
      %c65536 = arith.constant 65536 : index
      %block = gpu.block_id x
      %thread = gpu.thread_id x
      %first = arith.addi %block, %thread : index
      scf.for %i = %first to %c65536 step %c256 {
        %v = memref.load %x[%i] : memref<65536xf32>
      }
      scf.for %i = %first to %c65536 step %c256 {
        %v = memref.load %x[%i] : memref<65536xf32>
      }
      gpu.return
    }
    gpu.func @gathered(%ids: memref<32xi32>, %x: memref<4096xf32>, %y: memref<32xf32>) kernel {
      %thread = gpu.thread_id x
      %id = memref.load %ids[%thread] : memref<32xi32>
      %i = arith.index_cast %id : i32 to index
      %v = memref.load %x[%i] : memref<4096xf32>
      memref.store %v, %y[%thread] : memref<32xf32>
      gpu.return
    }
  }
  func.func private @scaled(%x: memref<4096xf32>, %s: memref<1xf32>, %y: memref<4096xf32>) {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c256 = arith.constant 256 : index
    gpu.launch_func @kernels::@scaled blocks in (%c4, %c1, %c1) threads in (%c256, %c1, %c1)
      args(%x : memref<4096xf32>, %s : memref<1xf32>, %y : memref<4096xf32>)
    return
  }
  func.func private @twice(%x: memref<4096xf32>, %y: memref<4096xf32>) {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c256 = arith.constant 256 : index
    gpu.launch_func @kernels::@twice blocks in (%c4, %c1, %c1) threads in (%c256, %c1, %c1)
      args(%x : memref<4096xf32>, %y : memref<4096xf32>)
    return
  }
  func.func private @long(%x: memref<65536xf32>) {
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    gpu.launch_func @kernels::@long blocks in (%c1, %c1, %c1) threads in (%c256, %c1, %c1) args(%x : memref<65536xf32>)
    return
  }
  func.func private @looped(%x: memref<4096xf32>, %s: memref<1xf32>, %y: memref<4096xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c256 = arith.constant 256 : index
    scf.for %k = %c0 to %c3 step %c1 {
      gpu.launch_func @kernels::@scaled blocks in (%c4, %c1, %c1) threads in (%c256, %c1, %c1)
        args(%x : memref<4096xf32>, %s : memref<1xf32>, %y : memref<4096xf32>)
    }
    return
  }
  func.func private @gathered(%ids: memref<32xi32>, %x: memref<4096xf32>, %y: memref<32xf32>) {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    gpu.launch_func @kernels::@gathered blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
      args(%ids : memref<32xi32>, %x : memref<4096xf32>, %y : memref<32xf32>)
    return
  }
  func.func @step(%x: memref<4096xf32>, %s: memref<1xf32>, %y: memref<4096xf32>, %t: memref<65536xf32>, %ids: memref<32xi32>,
                  %z: memref<32xf32>) {
    call @scaled(%x, %s, %y) : (memref<4096xf32>, memref<1xf32>, memref<4096xf32>) -> ()
    call @scaled(%x, %s, %y) : (memref<4096xf32>, memref<1xf32>, memref<4096xf32>) -> ()
    call @twice(%x, %y) : (memref<4096xf32>, memref<4096xf32>) -> ()
    call @long(%t) : (memref<65536xf32>) -> ()
    call @looped(%x, %s, %y) : (memref<4096xf32>, memref<1xf32>, memref<4096xf32>) -> ()
    call @gathered(%ids, %x, %z) : (memref<32xi32>, memref<4096xf32>, memref<32xf32>) -> ()
    return
  }
}
