// What a list cannot hold is named where it stands.
// RUN: llmmem-opt %s --split-input-file --report-launches --verify-diagnostics -o /dev/null
module {
  func.func private @llmmem_all_reduce(index)
  func.func @step(%arena: memref<64xi8>) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{cannot be listed: 'llmmem_all_reduce' is of the runtime of several ranks; expected a step of one}}
    func.call @llmmem_all_reduce(%c0) : (index) -> ()
    return
  }
}

// -----

module {
  func.func @step(%arena: memref<64xi8>, %place: index) {
    // expected-error @below {{begins at a byte that is not known}}
    %v = memref.view %arena[%place][] : memref<64xi8> to memref<4xf32>
    return
  }
}

// -----

module {
  func.func @step(%arena: memref<64xi8>, %count: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{expected constant bounds and no results}}
    scf.for %i = %c0 to %count step %c1 {
    }
    return
  }
}

// -----

module {
  func.func @step(%arena: memref<4xf32>) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{cannot be listed: expected a launch, a copy, a product of a library, or arithmetic on numbers that are known}}
    %x = memref.load %arena[%c0] : memref<4xf32>
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @double(%x: memref<64xf32>) kernel { gpu.return }
  }
  func.func @step(%x: memref<64xf32>, %size: index) {
    // expected-error @below {{its grid or block is not known}}
    gpu.launch_func @kernels::@double blocks in (%size, %size, %size) threads in (%size, %size, %size) args(%x : memref<64xf32>)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @double(%x: memref<4xf32>) kernel { gpu.return }
  }
  memref.global "private" constant @table : memref<4xf32> = dense<1.0>
  func.func @step(%x: memref<64xf32>) {
    %table = memref.get_global @table : memref<4xf32>
    %c1 = arith.constant 1 : index
    // expected-error @below {{it hands over what is not known}}
    gpu.launch_func @kernels::@double blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%table : memref<4xf32>)
    return
  }
}

// -----

module {
  memref.global "private" constant @table : memref<4xf32> = dense<1.0>
  func.func private @kernel(%x: memref<4xf32>) {
    return
  }
  func.func @step(%arena: memref<64xi8>) {
    %table = memref.get_global @table : memref<4xf32>
    // expected-error @below {{it hands over what is not known}}
    func.call @kernel(%table) {llm.on_host} : (memref<4xf32>) -> ()
    return
  }
}

// -----

// expected-error @below {{has no function 'step' whose launches to list}}
module {
}
