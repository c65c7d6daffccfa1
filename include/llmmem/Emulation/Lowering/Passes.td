//===- Passes.td - From GPU kernels to the emulator ------------*- tablegen -*-===//

#ifndef LLMMEM_EMULATION_LOWERING_PASSES
#define LLMMEM_EMULATION_LOWERING_PASSES

include "mlir/Pass/PassBase.td"

def LaunchLibraryProducts : Pass<"launch-library-products", "::mlir::ModuleOp"> {
  let summary = "Turns matmuls by a library into launches that compute what the library is documented to compute";
  let description = [{
    The emulator has no library, so each `llm.library_product` of a host function becomes a `gpu.launch`, in which a
    thread computes an element of C, and all of the workspace is written. It is slow, and its bits are those of no
    library.

    ```mlir
    func.func @kernel_0(%x: memref<32xf32>, %w: memref<64xf32>, %y: memref<32xf32>) {
      %c0 = arith.constant 0 : index
      llm.library_product %x[%c0], %w[%c0], %y[%c0]
          {a = #llm.matrix<pitch = 8>, b = #llm.matrix<pitch = 8>, c = #llm.matrix<pitch = 8>, columns = 8 : i64,
           inner = 8 : i64, rows = 4 : i64} : memref<32xf32>, memref<64xf32>, memref<32xf32>
      return
    }
    // becomes
    func.func @kernel_0(%x: memref<32xf32>, %w: memref<64xf32>, %y: memref<32xf32>) {
      ... gpu.launch ... {
        ...
        %sum = scf.for %i = %begin to %end step %one iter_args(%partial = %zero) -> (f32) {
          ... %a = memref.load %x[...] : memref<32xf32>
          ... %b = memref.load %w[...] : memref<64xf32>
          %next = math.fma %a, %b, %partial : f32
          scf.yield %next : f32
        }
        ...
        memref.store %c, %y[...] : memref<32xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
  let statistics = [Statistic<"numProducts", "products", "Number of matmuls that became launches">];
}

def EmulateGpuKernels : Pass<"emulate-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "Turns GPU kernels and their launches into functions that fibers run on the CPU";
  let description = [{
    *Requires*: the form of docs/Design/Gpu.md: `gpu.module`s of kernels, and host functions with `gpu.launch_func`.
    *Ensures*: a kernel is `func @kernel(%thread: !llvm.ptr, %arguments: !llvm.ptr)`, in which a call of
    `llmmem_emulate_access` precedes each read and write of memory, and barriers, shuffles and mma ops are calls
    (include/llmmem/Emulation/Hooks.h). Host functions that launch, and those that call them, take the emulator as their
    last argument, and launch through it. The module's `llm.emulation` says what it has, from which
    lib/Execution/Emulation.cpp builds an `emulation::Program`:

    ```
    llm.emulation = {
      sites = [{kind = "read", buffer = 0, bytes = 16, alignment = 16, extent = 8192,
                text = "%3 = vector.load ...", location = loc(...)}, ... ],
      kernels = [{name = "gelu", buffer_bytes = array<i64: 8192, 8192>, shared_bytes = 0, synchronizes} ],
      launches = [{kernel = 0, parameters = array<i64: 0, 1>, location = loc(...)} ],
      calls = [{llm.values = array<i64: 4, 7>, llm.writes = array<i64: 1>, location = loc(...)} ] }
    ```

    ```mlir
    module attributes {gpu.container_module} {
      gpu.module @kernels {
        gpu.func @double(%x: memref<64xf32>) kernel
            attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
          %i = gpu.thread_id x
          %v = memref.load %x[%i] : memref<64xf32>
          %w = arith.addf %v, %v : f32
          memref.store %w, %x[%i] : memref<64xf32>
          gpu.return
        }
      }
      func.func private @kernel_0(%x: memref<64xf32>) {
        %c1 = arith.constant 1 : index
        %c64 = arith.constant 64 : index
        gpu.launch_func @kernels::@double blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1) args(%x : memref<64xf32>)
        return
      }
      func.func @step(%x: memref<64xf32>) {
        call @kernel_0(%x) {llm.values = array<i64: 0>, llm.writes = array<i64: 0>} : (memref<64xf32>) -> ()
        return
      }
    }

    // becomes
    func.func private @kernel_0(%x: memref<64xf32>, %emulator: !llvm.ptr) {
      ...
      call @llmmem_emulate_launch(%emulator, %number, %kernel, %arguments, %sizes) ...
      return
    }
    func.func @step(%x: memref<64xf32>, %emulator: !llvm.ptr) {
      %call = arith.constant 0 : i64
      call @llmmem_emulate_call(%emulator, %call) : (!llvm.ptr, i64) -> ()
      call @kernel_0(%x, %emulator) ...
      return
    }
    func.func private @double(%thread: !llvm.ptr, %arguments: !llvm.ptr) {
      ...
      call @llmmem_emulate_access(%thread, %read, %address, %byte) : (!llvm.ptr, i64, i64, i64) -> ()
      %v = memref.load %x[%i] : memref<64xf32>
      %w = arith.addf %v, %v : f32
      ...
      call @llmmem_emulate_access(%thread, %write, %there, %place) : (!llvm.ptr, i64, i64, i64) -> ()
      memref.store %w, %x[%i] : memref<64xf32>
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect"];
}

#endif // LLMMEM_EMULATION_LOWERING_PASSES
