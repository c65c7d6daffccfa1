//===- Passes.td - From GPU kernels to the emulator ------------*- tablegen -*-===//

#ifndef LLMMEM_EMULATION_LOWERING_PASSES
#define LLMMEM_EMULATION_LOWERING_PASSES

include "mlir/Pass/PassBase.td"

def LaunchLibraryProducts : Pass<"launch-library-products", "::mlir::ModuleOp"> {
  let summary = "Turns a library's products into launches that compute what the library is documented to";
  let description = [{
    For the emulator, which has no library: each `llm.library_product` of a host function becomes a `gpu.launch`, in
    which a thread makes an element of C, and all of the workspace is written to. Not fast, and no library's bits.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
  let statistics = [Statistic<"numProducts", "products", "Products that became launches">];
}

def EmulateGpuKernels : Pass<"emulate-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "Turns GPU kernels and their launches into functions that fibers run on the CPU";
  let description = [{
    *Requires*: the form of docs/Design/Gpu.md: `gpu.module`s of kernels, and host functions with
    `gpu.launch_func`. *Ensures*: a kernel is `func @kernel(%thread: !llvm.ptr, %arguments: !llvm.ptr)`, in which
    each read and write of memory follows a call of `llmmem_emulate_access`, and barriers, shuffles and products of
    warps are calls (include/llmmem/Emulation/Hooks.h); host functions that launch, and those that call them, take the emulator
    as their last argument, and launch through it. The module says in `llm.emulation` what it has
    (include/llmmem/Emulation/Lowering/EmulationNotes.h).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect"];
}

#endif // LLMMEM_EMULATION_LOWERING_PASSES
