// ptxas takes what clusters become for sm_90a: no spill, no local memory.
// REQUIRES: ptxas
// RUN: llmmem-opt %S/cluster.mlir --convert-gpu-kernels-to-nvvm="chip=sm_90a" | %ptx table --ptxas ptxas_path --vector pass | FileCheck %s
// CHECK: pass
// CHECK: kernels for sm_90a
