// RUN: llmmem-opt %s --convert-gpu-kernels-to-nvvm --split-input-file --verify-diagnostics

// Nothing may be left to libdevice, which is not linked.
module attributes {gpu.container_module} {
  gpu.module @kernel_module {
    gpu.func @kernel(%x: memref<4xf64>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %x[%i] : memref<4xf64>
      // expected-error@+1 {{'math.atan' op has no instruction on the device for 'f64'; expected a function that expand-kernel-numbers turns into arithmetic}}
      %w = math.atan %v : f64
      memref.store %w, %x[%i] : memref<4xf64>
      gpu.return
    }
  }
}

// -----

// A step is captured as a graph: launches follow one another.
module attributes {gpu.container_module} {
  gpu.module @kernel_module {
    gpu.func @kernel() kernel {
      gpu.return
    }
  }
  func.func @step() {
    %c1 = arith.constant 1 : index
    // expected-error@+1 {{waits for tokens or asks for clusters; expected a launch in order}}
    %token = gpu.launch_func async @kernel_module::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernel_module {
    gpu.func @kernel(%n: vector<2xf32>) kernel {
      gpu.return
    }
  }
  func.func @step(%n: vector<2xf32>) {
    %c1 = arith.constant 1 : index
    // expected-error@+1 {{hands over 'vector<2xf32>'; expected a flat static buffer or a number}}
    gpu.launch_func @kernel_module::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%n : vector<2xf32>)
    return
  }
}
