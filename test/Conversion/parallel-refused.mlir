// Only loops that the runtime can share out are outlined.
//
// RUN: llmmem-opt --outline-parallel-loops --split-input-file --verify-diagnostics %s

func.func @square(%x: memref<8x8xf32>) {
  %c = arith.constant 1.0 : f32
  // expected-error@+1 {{is not a loop of one dimension from 0 to a constant, outside of other parallel loops}}
  scf.forall (%i, %j) in (8, 8) {
    memref.store %c, %x[%i, %j] : memref<8x8xf32>
  }
  return
}

// -----

func.func @unknown(%x: memref<8xf32>, %n: index) {
  %c = arith.constant 1.0 : f32
  // expected-error@+1 {{is not a loop of one dimension from 0 to a constant, outside of other parallel loops}}
  scf.forall (%i) in (%n) {
    memref.store %c, %x[%i] : memref<8xf32>
  }
  return
}
