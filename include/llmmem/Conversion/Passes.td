//===- Passes.td - From planned steps to kernels ---------------*- tablegen -*-===//

#ifndef LLMMEM_CONVERSION_PASSES
#define LLMMEM_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def ConvertStepToKernels : Pass<"convert-step-to-kernels", "::mlir::ModuleOp"> {
  let summary = "Turns a planned step into calls of kernels on views of one arena";
  let description = [{
    *Requires*: a straight-line function with `llm.arena`, whose ops carry `llm.offsets` (and `llm.workspace`) and
    have kernels (`KernelOpInterface`). *Ensures*: the function takes the arena, then a flat buffer for each argument,
    then one for each result that is not donated; its body is calls on `memref.view`s of the arena, one kernel for
    all equal ops, and nothing allocates.

    With `profile` the function takes one buffer more, for nanoseconds before and after each call, and each call says
    what it runs: `{profile = {kind = "linear", key = "linear(...) -> ...", name = "h.0.attn.qkv", phase = "forward", block = 0 : i64,
    recomputed = false, flops = 792576 : i64, bytes = 82688 : i64}}`. For `target=gpu` there is no buffer: before each
    call and behind the last stands `call @llmmem_cuda_mark(%number)`, of which the runtime makes events.

    With `target=gpu` each kernel is a host function that launches (`gpu.launch`) and does nothing else, and each call
    says which value each of its buffers holds and which it writes: `{values = array<i64: 4, 7>, writes = array<i64: 1>}`
    (docs/Design/Gpu.md). With `products=library` beside it, products that cuBLASLt can compute are
    `llm.library_product`s in the place of launches.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"step\"", "The function to convert">,
    Option<"poison", "poison", "bool", "false",
           "Fill each range of the arena with 0xFF when its value dies (to catch reads of dead bytes)">,
    Option<"profile", "profile", "bool", "false", "Write the time before and after each call into a last argument">,
    Option<"products", "products", "::llmmem::ProductSource", "::llmmem::ProductSource::Generated", "Who multiplies matrices", [{
      ::llvm::cl::values(clEnumValN(::llmmem::ProductSource::Generated, "generated", "kernels of llmmem"),
                         clEnumValN(::llmmem::ProductSource::Library, "library",
                                    "the runtime's library where it can: oneDNN for f32 on a CPU, cuBLASLt on a GPU"))
    }]>,
    Option<"target", "target", "::llmmem::KernelTarget", "::llmmem::KernelTarget::Cpu", "Who runs the kernels", [{
      ::llvm::cl::values(clEnumValN(::llmmem::KernelTarget::Cpu, "cpu", "threads of a CPU"),
                         clEnumValN(::llmmem::KernelTarget::Gpu, "gpu", "launches of blocks of threads on a GPU"))
    }]>,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"numKernels", "kernels", "Distinct kernels">,
    Statistic<"numCalls", "calls", "Calls of kernels">,
  ];
}

def OutlineParallelLoops : Pass<"outline-parallel-loops", "::mlir::ModuleOp"> {
  let summary = "Makes each scf.forall a function of turns that the runtime shares out among threads";
  let description = [{
    *Requires*: `scf.forall` of one dimension, from 0 to a constant, without results, and none inside another.
    *Ensures*: `func @kernel_turns_0(%context, %begin, %end)` runs turns one after another, and the kernel calls
    `llmmem_parallel_for(count, @kernel_turns_0, %context)` (include/llmmem/Runtime/Parallel.h). Scratch of a turn lies on the
    stack of the thread that runs it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::scf::SCFDialect"];
}

def ExpandKernelNumbers : Pass<"expand-kernel-numbers"> {
  let summary = "Turns transcendental functions of f32 into polynomials, and roundings to bf16 into integer arithmetic";
  let description = [{
    *Ensures*: what is left gives the same bits on any machine and in any number of lanes. Sine and cosine of f64 become
    polynomials, and powers of f64 with a whole exponent products; other functions of f64 stay libm's.

    With `device` roundings to bf16 stay: an NVIDIA GPU has an instruction for them, whose bits are the same (a NaN is
    another NaN).
  }];
  let options = [
    Option<"device", "device", "bool", "false", "For a GPU instead of a CPU">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

def CarryBF16AsBits : Pass<"carry-bf16-as-bits", "::mlir::ModuleOp"> {
  let summary = "Makes bf16 that is only moved an integer of 16 bits";
  let description = [{
    *Requires*: the LLVM dialect, in which nothing computes in bf16 (`expand-kernel-numbers`): it is loaded, chosen,
    taken for its bits, stored.
    *Ensures*: no type is bf16, and no byte that is moved has changed. Where a processor has no such type, LLVM moves
    chosen elements as f32 and back, by a function (`__truncsfbf2`) that no runtime of ours brings.

    ```mlir
    %y = llvm.select %c, %x, %zero : i1, bf16     =>     %y = llvm.select %c, %x, %zero : i1, i16
    ```
  }];
}

def ConvertKernelsToNVVM : Pass<"convert-kernels-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lowers the kernels of a gpu.module to the NVVM and LLVM dialects";
  let description = [{
    *Requires*: what docs/Design/Gpu.md lets a kernel hold, after `expand-kernel-numbers{device}` and without `scf`.
    *Ensures*: buffers are bare pointers, an index has 64 bits, whole vectors move in one access, no function of
    libdevice is called. Where upstream's `convert-gpu-to-nvvm` makes each function of `math` a call of libdevice, here
    the ones that are instructions stay intrinsics, and the others are refused.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def TranslateKernelsToPTX : Pass<"translate-kernels-to-ptx", "::mlir::ModuleOp"> {
  let summary = "Turns each gpu.module of NVVM into a gpu.binary of PTX";
  let description = [{
    LLVM's NVPTX backend alone does it: neither the CUDA toolkit nor libdevice is needed.
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_90a\"", "What the kernels run on: sm_80, sm_90a, ...">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
  let statistics = [
    Statistic<"numKernels", "kernels", "Distinct kernels">,
  ];
}

def ConvertLaunchesToRuntime : Pass<"convert-launches-to-runtime", "::mlir::ModuleOp"> {
  let summary = "Turns gpu.launch_func into calls of the CUDA runtime";
  let description = [{
    *Ensures*: each function that launches takes the run (`llmmem_cuda *`, include/llmmem/Runtime/Cuda.h) as its first argument,
    and calls `llmmem_cuda_launch` with the kernel's number in the module's attribute `llmmem.kernels`:

    ```mlir
    module attributes {llmmem.kernels = [@kernel_module::@kernel_3_gelu_kernel]} {
      func.func private @kernel_3_gelu(%run: !llvm.ptr, %x: memref<8192xbf16>, %y: memref<8192xbf16>) {
        ...
        call @llmmem_cuda_launch(%run, %c0, %c4, %c1, %c1, %c256, %c1, %c1, %c0, %values, %c2) : ...
    ```

    Buffers are addresses of the device, which the host hands on and never reads. An `llm.library_product` becomes a call
    of `llmmem_cuda_multiply` with the product's words on the stack; its number is that of its location in the module's
    attribute `llmmem.products`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numKernels", "kernels", "Distinct kernels">,
    Statistic<"numLaunches", "launches", "Launches in the text of host functions">,
  ];
}

def ReportKernelTraffic : Pass<"report-kernel-traffic", "::mlir::ModuleOp"> {
  let summary = "Prints the bytes that each GPU kernel moves, against the least possible";
  let description = [{
    *Requires*: outlined kernels (docs/Design/Gpu.md). Changes nothing.

    Counted statically: the accesses of a kernel's buffers, with the loops and the threads around them, for some blocks
    that stand for all. What threads of a warp read at one address at one time counts once, and what every block reads
    alike counts once a launch, as it stays in the cache (`asked`). What a block reads again counts once where all that
    it touches fits a cache (`moved`). The least is every buffer that is touched, once.
  }];
  let options = [
    Option<"json", "json", "std::string", "\"\"", "Write the same as JSON to this file">,
  ];
}

#endif // LLMMEM_CONVERSION_PASSES
