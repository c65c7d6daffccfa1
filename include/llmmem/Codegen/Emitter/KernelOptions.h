//===- KernelOptions.h - What kernels are written for ----------------------===//

#ifndef LLMMEM_CODEGEN_EMITTER_KERNELOPTIONS_H
#define LLMMEM_CODEGEN_EMITTER_KERNELOPTIONS_H

namespace llmmem {

enum class KernelTarget { Cpu, Gpu };

/// Who multiplies matrices: kernels of ours, or a library where it can. On a CPU that is oneDNN,
/// for f32 and perhaps bf16; on a GPU cuBLASLt.
enum class ProductSource { Generated, Library };

struct KernelOptions {
  ProductSource products = ProductSource::Generated;
  /// Whether a CPU's library multiplies bf16: where the processor has units for it.
  bool bf16ByLibrary = false;
  KernelTarget target = KernelTarget::Cpu;
};

} // namespace llmmem

#endif // LLMMEM_CODEGEN_EMITTER_KERNELOPTIONS_H
