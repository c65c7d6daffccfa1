// The least of what data decides is what must be read, not what a kernel reads: of the weights of eight experts of which a token chooses two a
// quarter, 2 x 64 x 64 x 4 = 32768 bytes of 131072. Here all are read, as a kernel would that does not look which are chosen.
//
// RUN: llmmem-opt %s --report-kernel-traffic -o /dev/null 2>&1 | FileCheck %s
//
// CHECK: all_experts {{ *}}1 {{ *}}1 {{ *}}131072 {{ *}}131072 {{ *}}32768 {{ *}}4.000
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @all(%w: memref<32768xf32>) kernel {
      %c256 = arith.constant 256 : index
      %block = gpu.block_id x
      %thread = gpu.thread_id x
      %first = arith.muli %block, %c256 : index
      %i = arith.addi %first, %thread : index
      %x = memref.load %w[%i] : memref<32768xf32>
      gpu.return
    }
  }
  func.func private @all_experts(%w: memref<32768xf32> {llm.expected_share = 2.500000e-01 : f64}) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    gpu.launch_func @kernels::@all blocks in (%c128, %c1, %c1) threads in (%c256, %c1, %c1) args(%w : memref<32768xf32>)
    return
  }
  func.func @step(%w: memref<32768xf32>) {
    call @all_experts(%w) : (memref<32768xf32>) -> ()
    return
  }
}
