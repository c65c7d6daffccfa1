//===- Passes.td - From planned steps to kernels ---------------*- tablegen -*-===//

#ifndef LLMMEM_CONVERSION_PASSES
#define LLMMEM_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def ConvertStepToKernels : Pass<"convert-step-to-kernels", "::mlir::ModuleOp"> {
  let summary = "Turns a planned step into calls of kernels on views of one arena";
  let description = [{
    *Requires*: a straight-line function with `llm.arena`, whose ops carry `llm.offsets` (and `llm.workspace`) and have
    kernels (`KernelOpInterface`). *Ensures*: the function takes the arena, then a flat buffer for each argument, then
    one for each result that is not donated. Its body consists of calls on `memref.view`s of the arena, with one kernel
    for all equal ops, and nothing allocates.

    With `profile` the function takes one more buffer, for nanoseconds before and after each call, and each call says
    what it runs: `{llm.profile = {kind = "linear", key = "linear(...) -> ...", name = "h.0.attn.qkv", phase =
    "forward", block = 0 : i64, recomputed = false, flops = 792576 : i64, bytes = 82688 : i64}}`. For `target=gpu` there
    is no buffer. Instead `call @llmmem_cuda_mark(%number)` precedes each call and follows the last, and the runtime
    makes events of these marks.

    With `target=gpu` each kernel is a host function that launches (`gpu.launch`) and does nothing else. Each call says
    which value each of its buffers holds and which it writes: `{llm.values = array<i64: 4, 7>, llm.writes = array<i64:
    1>}` (docs/Design/Gpu.md). With `products=library` as well, matmuls that cuBLASLt can compute are
    `llm.library_product`s instead of launches.

    ```mlir
    func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64} {
      %y = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
      return %y : tensor<64xf32>
    }
    // becomes
    func.func @step(%arena: memref<256xi8>, %x: memref<64xf32>, %result: memref<64xf32>) {
      %offset = arith.constant 0 : index
      %y = memref.view %arena[%offset][] : memref<256xi8> to memref<64xf32>
      call @kernel_0_gelu(%x, %y) : (memref<64xf32>, memref<64xf32>) -> ()
      memref.copy %y, %result : memref<64xf32> to memref<64xf32>
      return
    }
    func.func private @kernel_0_gelu(%from: memref<64xf32>, %to: memref<64xf32>) ... {
      ... scf.for %i = %begin to %end step %lanes {
        %v = vector.load %from[%i] : memref<64xf32>, vector<16xf32>
        ...
        vector.store %g, %to[%i] : memref<64xf32>, vector<16xf32>
    ```
  }];
  let options = [
    Option<"function", "function", "std::string", "\"step\"", "The function to convert">,
    Option<"poison", "poison", "bool", "false",
           "Fill each range of the arena with the pattern 0xFF when its value dies (to catch reads of dead bytes)">,
    Option<"profile", "profile", "bool", "false", "Write the time before and after each call into a last argument">,
    Option<"products", "products", "::llmmem::MatmulSource", "::llmmem::MatmulSource::Generated", "What computes matmuls", [{
      ::llvm::cl::values(clEnumValN(::llmmem::MatmulSource::Generated, "generated", "generated kernels"),
                         clEnumValN(::llmmem::MatmulSource::Library, "library",
                                    "the runtime's library where it can: oneDNN for f32 on a CPU, cuBLASLt on a GPU"))
    }]>,
    Option<"bf16ByLibrary", "bf16-by-library", "bool", "false",
           "With products=library on a CPU, bf16 too: for a processor that has units for it">,
    Option<"target", "target", "::llmmem::KernelTarget", "::llmmem::KernelTarget::Cpu", "What runs the kernels", [{
      ::llvm::cl::values(clEnumValN(::llmmem::KernelTarget::Cpu, "cpu", "threads of a CPU"),
                         clEnumValN(::llmmem::KernelTarget::Gpu, "gpu", "launches of blocks of threads on a GPU"))
    }]>,
    Option<"tensorCores", "tensor-cores", "::llmmem::TensorCores", "::llmmem::TensorCores::Warp",
           "How generated kernels of a GPU multiply matrices of bf16 and f16", [{
      ::llvm::cl::values(clEnumValN(::llmmem::TensorCores::Warp, "warp", "mma.sync, of sm_80 and later"),
                         clEnumValN(::llmmem::TensorCores::Warpgroup, "warpgroup", "wgmma where tiles fit, of sm_90a alone"),
                         clEnumValN(::llmmem::TensorCores::WarpgroupTma, "warpgroup-tma",
                                    "the same with tiles that the tensor memory accelerator copies where it can"))
    }]>,
    Option<"tileSharing", "tile-sharing", "::llmmem::llm::TileSharing", "::llmmem::llm::TileSharing::Modelled",
           "With tensor-cores=warpgroup-tma: which products' tiles two blocks share; to measure and to test", [{
      ::llvm::cl::values(clEnumValN(::llmmem::llm::TileSharing::Never, "never", "none"),
                         clEnumValN(::llmmem::llm::TileSharing::Modelled, "modelled", "where that saves time by the model"),
                         clEnumValN(::llmmem::llm::TileSharing::Always, "always", "wherever there are pairs of blocks"))
    }]>,
    Option<"tile", "tile", "std::string", "\"\"",
           "With wgmma: the tiles of products that can have them, as 128x192, in the place of the fastest by the model; to measure and to test">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::nvgpu::NVGPUDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"numKernels", "kernels", "Number of distinct kernels">,
    Statistic<"numCalls", "calls", "Number of calls of kernels">,
  ];
}

def OutlineParallelLoops : Pass<"outline-parallel-loops", "::mlir::ModuleOp"> {
  let summary = "Outlines each scf.forall into a function of iterations that the runtime distributes over threads";
  let description = [{
    *Requires*: each `scf.forall` has one dimension, from 0 to a constant, has no results, and contains no other.
    *Ensures*: `func @kernel_iterations_0(%context, %begin, %end)` runs the iterations one after another, and the kernel
    calls `llmmem_parallel_for(count, @kernel_iterations_0, %context)` (include/llmmem/Runtime/Parallel.h). Scratch of
    an iteration lies on the stack of the thread that runs it.

    ```mlir
    func.func private @kernel(%x: memref<64xf32>) {
      %one = arith.constant 1.0 : f32
      scf.forall (%i) in (64) {
        memref.store %one, %x[%i] : memref<64xf32>
      }
      return
    }
    // becomes
    func.func private @kernel(%x: memref<64xf32>) {
      ...
      %count = llvm.mlir.constant(64 : i64) : i64
      %iterations = constant @kernel_iterations_0 : (!llvm.ptr, i64, i64) -> ()
      %pointer = builtin.unrealized_conversion_cast %iterations : (!llvm.ptr, i64, i64) -> () to !llvm.ptr
      call @llmmem_parallel_for(%count, %pointer, %context) : (i64, !llvm.ptr, !llvm.ptr) -> ()
      return
    }
    func.func private @kernel_iterations_0(%context: !llvm.ptr, %begin: i64, %end: i64) {
      ...
      scf.for %i = %from to %to step %c1 {
        %one = arith.constant 1.0 : f32
        memref.store %one, %x[%i] : memref<64xf32>
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::scf::SCFDialect"];
}

def ExpandKernelNumbers : Pass<"expand-kernel-numbers"> {
  let summary = "Turns transcendental functions of f32 into polynomials, and roundings to bf16 into integer arithmetic";
  let description = [{
    *Ensures*: the remaining ops give the same bits on any machine and in any number of lanes. Sine and cosine of f64
    become polynomials, and powers of f64 with an integer exponent become repeated multiplication. Other functions of
    f64 stay libm's.

    With `device` roundings to bf16 stay, because an NVIDIA GPU has an instruction for them with the same bits (a NaN is
    another NaN).

    ```mlir
    func.func @kernel(%x: f32) -> bf16 {
      %y = arith.truncf %x : f32 to bf16
      return %y : bf16
    }
    // becomes
    func.func @kernel(%x: f32) -> bf16 {
      ...
      %unordered = arith.cmpf une, %x, %x : f32
      %bits = arith.bitcast %x : f32 to i32
      %shifted = arith.shrui %bits, %c16 : i32
      %odd = arith.andi %shifted, %c1 : i32
      %bias = arith.addi %odd, %c32767 : i32
      %sum = arith.addi %bits, %bias : i32
      %upper = arith.shrui %sum, %c16 : i32
      %rounded = arith.trunci %upper : i32 to i16
      %chosen = arith.select %unordered, %nan, %rounded : i16
      %y = arith.bitcast %chosen : i16 to bf16
      return %y : bf16
    }
    ```
  }];
  let options = [
    Option<"device", "device", "bool", "false", "Expand for a GPU instead of a CPU">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

def CarryBF16AsBits : Pass<"carry-bf16-as-bits", "::mlir::ModuleOp"> {
  let summary = "Turns bf16 that is only moved into an integer of 16 bits";
  let description = [{
    *Requires*: the LLVM dialect, in which nothing computes in bf16 (`expand-kernel-numbers`): it is loaded, selected,
    bitcast and stored. *Ensures*: no type is bf16, and no moved byte has changed. Where a processor has no such type,
    LLVM would move selected elements as f32 and back, by a function (`__truncsfbf2`) that our runtime does not provide.

    ```mlir
    llvm.func @kernel(%c: i1, %x: bf16) -> bf16 {
      %one = llvm.mlir.constant(1.0 : bf16) : bf16
      %y = llvm.select %c, %x, %one : i1, bf16
      llvm.return %y : bf16
    }
    // becomes
    llvm.func @kernel(%c: i1, %x: i16) -> i16 {
      %one = llvm.mlir.constant(16256 : i16) : i16
      %y = llvm.select %c, %x, %one : i1, i16
      llvm.return %y : i16
    }
    ```
  }];
}

def ConvertKernelsToNVVM : Pass<"convert-kernels-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lowers the kernels of a gpu.module to the NVVM and LLVM dialects";
  let description = [{
    *Requires*: what docs/Design/Gpu.md lets a kernel hold, after `expand-kernel-numbers{device}` and without `scf`.
    *Ensures*: buffers are bare pointers, an index has 64 bits, vectors move in one access, and no function of libdevice
    is called. Upstream's `convert-gpu-to-nvvm` turns each function of `math` into a call of libdevice. This pass keeps
    those that are instructions as intrinsics and refuses the others.

    ```mlir
    gpu.module @kernels {
      gpu.func @double(%x: memref<64xf32>) kernel {
        %i = gpu.thread_id x
        %v = memref.load %x[%i] : memref<64xf32>
        %w = arith.addf %v, %v : f32
        memref.store %w, %x[%i] : memref<64xf32>
        gpu.return
      }
    }
    // becomes
    gpu.module @kernels {
      llvm.func @double(%x: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
        ...
        %thread = nvvm.read.ptx.sreg.tid.x : i32
        %i = llvm.sext %thread : i32 to i64
        ...
        %from = llvm.getelementptr inbounds|nuw %begin[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %v = llvm.load %from : !llvm.ptr -> f32
        %w = llvm.fadd %v, %v : f32
        ...
        llvm.store %w, %to : f32, !llvm.ptr
        llvm.return
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def TranslateKernelsToPTX : Pass<"translate-kernels-to-ptx", "::mlir::ModuleOp"> {
  let summary = "Turns each gpu.module of NVVM into a gpu.binary of PTX";
  let description = [{
    LLVM's NVPTX backend alone does it, so neither the CUDA toolkit nor libdevice is needed.

    ```mlir --translate-kernels-to-ptx=chip=sm_80
    gpu.module @kernels {
      llvm.func @double(%x: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
        %v = llvm.load %x : !llvm.ptr -> f32
        %w = llvm.fadd %v, %v : f32
        llvm.store %w, %x : f32, !llvm.ptr
        llvm.return
      }
    }
    // becomes
    gpu.binary @kernels [#gpu.object<#nvvm.target<O = 3, chip = "sm_80", features = "+ptx80">, assembly = ...>]
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_90a\"", "Chip that the kernels run on: sm_80, sm_90a, ...">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
  let statistics = [
    Statistic<"numKernels", "kernels", "Number of distinct kernels">,
  ];
}

def ConvertLaunchesToRuntime : Pass<"convert-launches-to-runtime", "::mlir::ModuleOp"> {
  let summary = "Turns gpu.launch_func into calls of the CUDA runtime";
  let description = [{
    *Ensures*: each function that launches takes the run (`llmmem_cuda *`, include/llmmem/Runtime/Cuda.h) as its first argument,
    and calls `llmmem_cuda_launch` with the kernel's number in the module's attribute `llm.kernels`:

    Buffers are addresses of the device, which the host passes on and never reads. An `llm.library_product` becomes a
    call of `llmmem_cuda_multiply` with the words of its `llmmem_product` on the stack. Its number is that of its
    location in the module's attribute `llm.library_calls`.

    ```mlir
    module attributes {gpu.container_module} {
      gpu.binary @kernels [#gpu.object<#nvvm.target, assembly = "">]
      func.func private @kernel_0(%x: memref<64xf32>) {
        %c1 = arith.constant 1 : index
        gpu.launch_func @kernels::@double blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<64xf32>)
        return
      }
    }
    // becomes
    module attributes {gpu.container_module, llm.kernels = [@kernels::@double]} {
      ...
      func.func private @kernel_0(%run: !llvm.ptr, %x: memref<64xf32>) {
        ...
        %address = memref.extract_aligned_pointer_as_index %x : memref<64xf32> -> index
        %word = arith.index_cast %address : index to i64
        %slot = llvm.getelementptr %values[0] : (!llvm.ptr) -> !llvm.ptr, i64
        llvm.store %word, %slot : i64, !llvm.ptr
        ...
        call @llmmem_cuda_launch(%run, %number, %gx, %gy, %gz, %bx, %by, %bz, %shared, %values, %count) ...
        return
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numKernels", "kernels", "Number of distinct kernels">,
    Statistic<"numLaunches", "launches", "Number of launches in the text of host functions">,
  ];
}

def ReportKernelCounts : Pass<"report-kernel-counts", "::mlir::ModuleOp"> {
  let summary = "Prints what makes GPU kernels slow: bank conflicts, sectors, barriers, instructions";
  let description = [{
    *Requires*: outlined kernels (docs/Design/Gpu.md), preferably after `expand-kernel-numbers`, which turns functions
    into arithmetic. Changes nothing. *Fails* where an op conflicts more than `most-conflicts` allows.

    The counts follow statically from the index arithmetic of all warps of four blocks that represent all
    (include/llmmem/KernelAnalysis/KernelCounts.h), for all launches of a kernel in one call of its host function:

    - `mma` counts mma.sync ops of warps, and wgmma in the same units (the JSON separates them); `barriers` those of blocks; `instructions` those of warps, without index arithmetic;
    - `passes` counts cycles of shared memory (128 bytes each), and the fewest that the same accesses could take;
    - `conflict` is the most passes that one op needs for lanes that could share a pass; 1 means no conflict;
    - `sectors` counts 32-byte units of global memory that warps ask for, and the fewest that could hold the bytes.

    In the example a lane reads a word of shared memory two words after its neighbour's, so 32 lanes share 16 banks.

    ```mlir
    module attributes {gpu.container_module} {
      gpu.module @kernels {
        gpu.func @strided(%x: memref<32xf32>) workgroup(%tile: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
          %c2 = arith.constant 2 : index
          %i = gpu.thread_id x
          %place = arith.muli %i, %c2 : index
          %v = memref.load %x[%i] : memref<32xf32>
          memref.store %v, %tile[%place] : memref<64xf32, #gpu.address_space<workgroup>>
          gpu.return
        }
      }
      func.func private @kernel_0(%x: memref<32xf32>) {
        %c1 = arith.constant 1 : index
        %c32 = arith.constant 32 : index
        gpu.launch_func @kernels::@strided blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1) args(%x : memref<32xf32>)
        return
      }
      func.func @step(%x: memref<32xf32>) {
        call @kernel_0(%x) {llm.values = array<i64: 0>, llm.writes = array<i64: 0>} : (memref<32xf32>) -> ()
        return
      }
    }

    // prints
    // kernel ... launches ... blocks ... mma ... barriers ... instructions ... passes ... fewest ... conflict ... sectors ... fewest
    // strided ... 1 ... 1 ... 0 ... 0 ... 2 ... 2 ... 1 ... 2 ... 4 ... 4
    ```
  }];
  let options = [
    Option<"json", "json", "std::string", "\"\"", "Write the same, and each op's accesses, as JSON to this file">,
    Option<"mostConflicts", "most-conflicts", "int64_t", "32", "Fail where an op conflicts more than this">,
  ];
}

def ReportKernelTraffic : Pass<"report-kernel-traffic", "::mlir::ModuleOp"> {
  let summary = "Prints the bytes that each GPU kernel moves, compared with the least possible";
  let description = [{
    *Requires*: outlined kernels (docs/Design/Gpu.md). Changes nothing.

    The counts are static: the accesses of a kernel's buffers, with the loops and the threads around them, for some
    blocks that represent all. What threads of a warp read at one address at one time counts once. What all blocks read
    alike counts once a launch, because it stays in the cache (`asked`). What a block reads repeatedly counts once where
    everything that it touches fits a cache (`moved`). The least counts every operand and result that is touched, once.
    A workspace counts only as moved, because what an op must read and write does not depend on how it is computed. The
    least of one of several launches includes what passes between them.

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

    // prints
    // kernel ... calls launches ... bytes asked ... bytes moved ... least ... ratio
    // kernel_0 ... 1 ... 1 ... 512 ... 512 ... 512 ... 1.000
    ```
  }];
  let options = [
    Option<"json", "json", "std::string", "\"\"", "Write the same as JSON to this file">,
  ];
}

def ReportLaunches : Pass<"report-launches", "::mlir::ModuleOp"> {
  let summary = "Prints all calls that the host code of a step makes to a GPU, in order";
  let description = [{
    *Requires*: outlined kernels, or their PTX, and a step that calls host functions (docs/Design/Gpu.md). Changes
    nothing. *Fails* where something depends on what is not known before the step runs.

    Loops of the host are unrolled. `1+256` is byte 256 of the step's argument 1, counted from 0. A number without `+`
    is passed unchanged (include/llmmem/Conversion/LaunchList.h). `llmmem-bundle` writes the same as JSON.

    ```mlir
    module attributes {gpu.container_module} {
      gpu.module @kernels {
        gpu.func @double(%x: memref<64xf32>) kernel { gpu.return }
      }
      func.func private @kernel_0(%x: memref<64xf32>) {
        %c1 = arith.constant 1 : index
        %c64 = arith.constant 64 : index
        gpu.launch_func @kernels::@double blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1) args(%x : memref<64xf32>)
        return
      }
      func.func @step(%arena: memref<512xi8>) {
        %c256 = arith.constant 256 : index
        %v = memref.view %arena[%c256][] : memref<512xi8> to memref<64xf32>
        call @kernel_0(%v) : (memref<64xf32>) -> ()
        return
      }
    }

    // prints
    // launch double grid 1 1 1 block 64 1 1 shared 0 (0+256)
    ```
  }];
  let options = [
    Option<"function", "function", "std::string", "\"step\"", "The function whose launches to print">,
  ];
}

#endif // LLMMEM_CONVERSION_PASSES
