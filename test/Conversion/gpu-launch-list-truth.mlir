// A truth value takes a byte in a buffer: a copy of 64 of them is of 64 bytes.
// RUN: llmmem-opt %s --report-launches -o /dev/null 2>&1 | FileCheck %s
// CHECK: copy of 64 bytes to 1+0 from 0+0
func.func @step(%x: memref<64xi1>, %y: memref<64xi1>) {
  memref.copy %x, %y : memref<64xi1> to memref<64xi1>
  return
}
